"""The backend `model`: what the prediction says, in the form of a measurement."""

from probelab.schema.manifests import BuildRow, PredictRow
from probelab.schema.plan import Launch, Variant
from probelab.schema.raw import RawResult, Repeat, WarpResult
from probelab.timing import HARNESS_VERSION
from probelab.timing.results import toolchain


def why_not(launch: Launch, prediction: PredictRow | None) -> str:
    """Why a launch has no usable prediction; empty if it has one."""
    if prediction is None:
        return "not predicted"
    if prediction.status != "ok":
        return f"not predicted: {prediction.reason}" if prediction.reason else "not predicted"
    known = {warp.warp_slot: warp for warp in prediction.warps}
    for slot in range(launch.warps):
        warp = known.get(slot)
        if warp is None:
            return f"not predicted: warp {slot} is missing"
        if warp.cycles_per_iteration is None:
            return f"not predicted: {warp.reason}" if warp.reason else "not predicted"
        if not warp.cycles_per_iteration > 0:
            return f"not predicted: warp {slot} would take {warp.cycles_per_iteration} cycles"
    return ""


def predicted(
    launch: Launch, variant: Variant, build: BuildRow, prediction: PredictRow
) -> RawResult:
    """The prediction as a raw result: one repeat, one block (the others are like it), no device.

    Args:
        launch: that is predicted.
        variant: of the launch.
        build: of the variant.
        prediction: one for which `why_not` has nothing to say.
    """
    warps = []
    assumptions: set[str] = set()
    for warp in sorted(prediction.warps, key=lambda warp: warp.warp_slot)[: launch.warps]:
        assert warp.cycles_per_iteration is not None
        assumptions.update(warp.assumptions)
        warps.append(
            WarpResult(
                block=0,
                warp_slot=warp.warp_slot,
                role=variant.roles[launch.role_map[warp.warp_slot]],
                progress=launch.clock_budget_cycles / warp.cycles_per_iteration,
                cycles=launch.clock_budget_cycles,
            )
        )
    return RawResult(
        backend="model",
        launch=launch,
        variant=variant,
        kernel_digest=build.kernel_digest,
        source_digest=build.source_digest,
        toolchain=toolchain(build),
        harness_version=HARNESS_VERSION,
        model_reason="; ".join(sorted(assumptions)),
        repeats=[Repeat(index=0, order=0, warps=warps)],
    )
