"""Which role gets further: pairs of roles set against each other, and chains of them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from probelab.analyse.samples import Sample
from probelab.analyse.statistics import EQUIVALENCE, Interval, ratio_intervals

PAIRED = "paired"
INDEPENDENT = "independent"
PREDICTED = "predicted"


@dataclass(frozen=True)
class Relation:
    """Left mean progress over right mean progress, and what that says."""

    ratio: float
    interval: Interval | None
    method: str
    sign: str


def sign(ratio: float, interval: Interval | None) -> str:
    """`>`, `<`, or `≈` if the interval contains 1 or the ratio is within `EQUIVALENCE` of 1.

    So `≈` says "not told apart", which is more than "equal". Without an interval (a prediction,
    or a single repeat) only the bound decides.
    """
    # A hair of tolerance, so that a ratio of exactly 1.001 doesn't hang on rounding.
    if abs(ratio - 1) <= EQUIVALENCE * (1 + 1e-9):
        return "≈"
    if interval is not None and interval.low <= 1 <= interval.high:
        return "≈"
    return ">" if ratio > 1 else "<"


def _method(left: Sample, right: Sample) -> str:
    """How the interval of a ratio is found.

    Two roles of one launch ran at the same time, repeat by repeat, so their repeats are paired.
    Repeats of two launches are independent samples. A prediction has no interval.
    """
    if left.source.predicted:
        return PREDICTED
    return PAIRED if left.launch.id == right.launch.id else INDEPENDENT


def relations(pairs: Sequence[tuple[Sample, Sample]]) -> list[Relation]:
    """The relation of each pair.

    Args:
        pairs: usable samples, both of a pair from one source.
    """
    methods = [_method(left, right) for left, right in pairs]
    intervals: list[Interval | None] = [None] * len(pairs)
    for method in (PAIRED, INDEPENDENT):
        places = [place for place, own in enumerate(methods) if own == method]
        progress = [(pairs[place][0].progress, pairs[place][1].progress) for place in places]
        found = ratio_intervals(progress, paired=method == PAIRED)
        for place, interval in zip(places, found, strict=True):
            intervals[place] = interval
    result = []
    for (left, right), method, interval in zip(pairs, methods, intervals, strict=True):
        ratio = float(left.progress.mean() / right.progress.mean())
        result.append(Relation(ratio, interval, method, sign(ratio, interval)))
    return result


def by_progress(samples: Iterable[Sample]) -> list[tuple[Sample, Sample]]:
    """Neighbours when the samples are sorted by mean progress, largest first, ties by name."""
    ordered = sorted(samples, key=lambda sample: (-float(sample.progress.mean()), sample.role))
    return list(pairwise(ordered))


def chain(links: Sequence[tuple[str, str, str]]) -> str:
    """`a > b ≈ c` from [("a", ">", "b"), ("b", "≈", "c")]; empty for no links."""
    if not links:
        return ""
    return links[0][0] + "".join(f" {sign} {right}" for _, sign, right in links)
