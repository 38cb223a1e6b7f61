"""What became of a launch: a status, and in one line why it has no time."""

from dataclasses import dataclass

from probelab.schema.manifests import PredictRow, WarpPrediction
from probelab.schema.plan import Launch, Variant
from probelab.schema.tidy import Evidence


@dataclass(frozen=True)
class Outcome:
    """Status as in `summary.parquet`, and why; for `ok` a remark, empty if there is none."""

    status: str
    reason: str


#: How reasons begin that already say which station gave up.
_OPENINGS = ("build ", "shape ", "not predicted", "timing failed")


def _because(prefix: str, reason: str) -> str:
    """`prefix: reason` with the reason's first line; only the reason if it says that already."""
    first = next((line.strip() for line in reason.splitlines() if line.strip()), "no reason given")
    said = prefix in first or first.startswith(_OPENINGS)
    return first if said else f"{prefix}: {first}"


def without_time(
    variant: Variant, launch: Launch, evidence: Evidence, missing: dict[str, str]
) -> Outcome:
    """Why a launch has no rows in `measurements.parquet`: the first station that gave up."""
    build = evidence.build.get(variant.id)
    if build is not None and build.status != "ok":
        return Outcome(build.status, _because(f"build {build.status}", build.reason))
    timing = evidence.timing.get(launch.id)
    if timing is None:
        return Outcome("missing", "the timing station left nothing about this launch")
    if timing.status == "not predicted":
        return Outcome("not predicted", _because("not predicted", timing.reason))
    if timing.status == "failed":
        return Outcome("failed", _because("timing failed", timing.reason))
    if timing.status == "skipped":
        return Outcome("skipped", _because("not timed", timing.reason))
    reason = missing.get(launch.id, "it holds no repeat, or was made after the aggregation")
    return Outcome("missing", _because("raw result unusable", reason))


def with_time(
    variant: Variant,
    launch: Launch,
    evidence: Evidence,
    repeats: int,
    accepted: int,
    rejections: list[str],
) -> Outcome:
    """What is to be said about a launch that was timed or predicted."""
    if not accepted:
        why = "; ".join(reason for reason in rejections if reason) or "no reason given"
        return Outcome("rejected", f"0 of {repeats} repeats accepted: {why}")
    if evidence.shape_status(variant.id) == "broken":
        return Outcome("ok", f"shape broken: {evidence.shape_reason(variant.id)}")
    timing = evidence.timing.get(launch.id)
    return Outcome("ok", timing.reason if timing else "")


@dataclass(frozen=True)
class Prediction:
    """The prediction for one role of a launch, in cycles per iteration."""

    cycles: float | None
    alone: float | None
    alone_by_cause: list[tuple[str, float]] | None  #: what `alone` is the sum of
    reason: str
    assumptions: list[str]


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None


def _by_cause(warps: list[WarpPrediction]) -> list[tuple[str, float]] | None:
    """The mean of each cause over a role's warps; None if one of them isn't broken down."""
    if not warps or not all(warp.terms for warp in warps):
        return None
    causes = dict.fromkeys(cause for warp in warps for cause in warp.terms)
    return [
        (cause, sum(warp.terms.get(cause, 0.0) for warp in warps) / len(warps)) for cause in causes
    ]


def prediction(row: PredictRow | None, slots: list[int]) -> Prediction:
    """The mean over a role's warps; none if one of them isn't predicted."""
    if row is None:
        reason = "the predict station left nothing about this launch"
        return Prediction(None, None, None, reason, [])
    warps: list[WarpPrediction] = [warp for warp in row.warps if warp.warp_slot in slots]
    cycles = _mean([warp.cycles_per_iteration for warp in warps])
    reason = ""
    if cycles is None:
        reasons = [warp.reason for warp in warps if warp.reason] + [row.reason]
        reason = _because("not predicted", next((text for text in reasons if text), ""))
    return Prediction(
        cycles=cycles,
        alone=_mean([warp.alone_cycles_per_iteration for warp in warps]),
        alone_by_cause=_by_cause(warps),
        reason=reason,
        assumptions=sorted({text for warp in warps for text in warp.assumptions}),
    )
