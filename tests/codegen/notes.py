"""Chain 7 with a reduction in each iteration, hoisted, as measured on an H200 on 2026-11-30."""

from dataclasses import fields

from probelab.codegen.features import Features
from probelab.codegen.points import Observation, Scope
from probelab.config.sweeps import Point

NO_FEATURES = Features(*(0 for _ in fields(Features)))

#: Warps per sub-core → (accumulators, tail) → cycles per iteration, half the interval.
CHAIN_7 = {
    1: {
        (1, "last"): (66.0, 0.0),
        (2, "last"): (57.0, 0.0),
        (3, "last"): (58.0, 0.0),
        (4, "last"): (60.0, 0.0),
        (4, "first"): (60.0, 0.0),
        (7, "last"): (68.0, 0.0),
    },
    2: {
        (1, "last"): (72.0, 0.0),
        (2, "last"): (61.0, 0.0),
        (3, "last"): (66.0, 0.0),
        (4, "last"): (66.7, 2.8),
        (4, "first"): (71.0, 0.0),
        (7, "last"): (84.0, 0.0),
    },
}


def observation(
    cycles: float,
    *,
    half: float = 0.0,
    warps: float = 1.0,
    arch: str = "sm_90",
    source: str = "measured",
    features: Features = NO_FEATURES,
    **point: object,
) -> Observation:
    """A point with a figure."""
    made = Point(**{"op": "fma", **point})
    return Observation(
        scope=Scope("sweep", arch, warps),
        point=made,
        role=made.role,
        source=source,
        backend="model" if source == "predicted" else "pycuda",
        device="" if source == "predicted" else "NVIDIA H200",
        cycles=cycles,
        low=None if source == "predicted" else cycles - half,
        high=None if source == "predicted" else cycles + half,
        warp_spread=0.0,
        predicted=None,
        features=features,
        launch=f"{made.role}-{warps:g}-{arch}",
    )


def chain_7() -> list[Observation]:
    return [
        observation(
            cycles, half=half, warps=float(warps), length=7, accumulators=number, tail=tail,
            reduction="chain",
        )
        for warps, own in CHAIN_7.items()
        for (number, tail), (cycles, half) in own.items()
    ]  # fmt: skip
