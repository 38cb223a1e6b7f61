"""Launches, and the way from a listing to a prediction."""

from __future__ import annotations

from collections.abc import Sequence

from probelab.predict import predict_launch
from probelab.sass import Kernel, parse_listing
from probelab.schema.manifests import PredictRow, WarpPrediction
from probelab.schema.plan import Launch, Variant
from probelab.shape import check


def launch(threads: int = 32, blocks: int = 1, role_map: Sequence[int] = (0,) * 32) -> Launch:
    return Launch(
        id="probe-0-1",
        variant="probe-0",
        threads_per_block=threads,
        blocks=blocks,
        clock_budget_cycles=1_000_000,
        role_map=list(role_map),
        seed=1.0,
    )


def predict(
    kernel: Kernel | str,
    run: Launch | None = None,
    roles: Sequence[str] = ("role",),
    dispatch: str = "none",
    arch: str = "sm_90",
) -> PredictRow:
    """The prediction for a kernel (or the listing of one) whose roles declare no intent."""
    if isinstance(kernel, str):
        (kernel,) = parse_listing(kernel)
    placement = "isolated" if dispatch == "none" else "coresident"
    variant = Variant(
        id="probe-0",
        probe="probe",
        kernel="probe.cu",
        roles=list(roles),
        placement=placement,
        dispatch=dispatch,
        arch=arch,
        flags=[],
    )
    shape = check(kernel, list(roles), placement, dispatch, {})
    return predict_launch(kernel, shape, variant, run or launch())


def alone(kernel: Kernel | str, arch: str = "sm_90") -> WarpPrediction:
    """The prediction for the one warp of a launch of one warp."""
    (warp,) = predict(kernel, arch=arch).warps
    return warp
