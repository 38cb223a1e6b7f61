"""Means, spreads and bootstrap intervals over repeats.

An interval's resamples depend on nothing but the number of repeats (one fixed seed), so it is the
same whatever else stands in the dataset.
"""

import warnings
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import bootstrap

Floats = npt.NDArray[np.float64]

CONFIDENCE = 0.95
RESAMPLES = 5_000
SEED = 20_260_518
#: Two means whose ratio differs from 1 by less are called equal, however narrow the interval.
EQUIVALENCE = 0.001
#: Samples that are resampled together; bounds memory at about 25 MB for 10 repeats.
_BATCH = 64


@dataclass(frozen=True)
class Interval:
    """A two-sided interval of confidence `CONFIDENCE`."""

    low: float
    high: float


@dataclass(frozen=True)
class Summary:
    """A figure over the accepted repeats; `std` (ddof 1) and `interval` need two of them."""

    mean: float
    median: float
    std: float | None
    interval: Interval | None


def _mean(sample: Floats, axis: int) -> Floats:
    result: Floats = sample.mean(axis=axis)
    return result


def _ratio(left: Floats, right: Floats, axis: int) -> Floats:
    result: Floats = left.mean(axis=axis) / right.mean(axis=axis)
    return result


def _bootstrap(
    data: tuple[Floats, ...], statistic: Callable[..., Floats], paired: bool
) -> list[Interval]:
    """Intervals for each row of `data`: BCa, the percentile method where BCa is undefined."""
    with warnings.catch_warnings():
        # BCa divides by zero for degenerate rows; those get the percentile interval below.
        warnings.simplefilter("ignore")
        result: Any = bootstrap(
            data,
            statistic,
            n_resamples=RESAMPLES,
            confidence_level=CONFIDENCE,
            method="BCa",
            paired=paired,
            vectorized=True,
            axis=-1,
            rng=np.random.default_rng(SEED),
        )
    tail = (1 - CONFIDENCE) / 2
    bounds = np.stack([result.confidence_interval.low, result.confidence_interval.high])
    percentiles = np.quantile(result.bootstrap_distribution, [tail, 1 - tail], axis=-1)
    bounds = np.where(np.isfinite(bounds).all(axis=0), bounds, percentiles)
    return [Interval(float(low), float(high)) for low, high in bounds.T]


def _intervals(
    samples: Sequence[tuple[Floats, ...]], statistic: Callable[..., Floats], paired: bool
) -> list[Interval | None]:
    """An interval per sample (or pair of samples); None where one of them has one repeat."""
    found: list[Interval | None] = [None] * len(samples)
    by_shape: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for place, sample in enumerate(samples):
        if all(np.ptp(part) == 0 for part in sample if len(part)):
            if all(len(part) > 1 for part in sample):
                point = float(statistic(*sample, axis=-1))
                found[place] = Interval(point, point)
        elif all(len(part) > 1 for part in sample):
            by_shape[tuple(len(part) for part in sample)].append(place)
    for places in by_shape.values():
        for start in range(0, len(places), _BATCH):
            batch = places[start : start + _BATCH]
            # A row alone is summed in another order than one among several: last bits differ.
            padded = batch * 2 if len(batch) == 1 else batch
            parts = zip(*(samples[place] for place in padded), strict=True)
            data = tuple(np.stack(part) for part in parts)
            for place, interval in zip(batch, _bootstrap(data, statistic, paired), strict=False):
                found[place] = interval
    return found


def mean_intervals(samples: Sequence[Floats]) -> list[Interval | None]:
    """The bootstrap interval of each sample's mean.

    Identical values give the point itself; one value gives none.
    """
    return _intervals([(sample,) for sample in samples], _mean, paired=False)


def ratio_intervals(
    pairs: Sequence[tuple[Floats, Floats]], *, paired: bool
) -> list[Interval | None]:
    """The bootstrap interval of mean(left) / mean(right) for each pair of samples.

    Args:
        pairs: samples of progress per repeat, right ones positive.
        paired: whether repeat i of the left and of the right is one and the same run, so that
            what disturbed the one disturbed the other; then whole runs are resampled. Otherwise
            left and right are resampled independently of each other.
    """
    return _intervals(pairs, _ratio, paired=paired)


def summaries(samples: Sequence[Floats]) -> list[Summary | None]:
    """Mean, median, spread and interval of each sample; None for an empty one."""
    intervals = mean_intervals(samples)
    return [
        Summary(
            mean=float(sample.mean()),
            median=float(np.median(sample)),
            std=float(sample.std(ddof=1)) if len(sample) > 1 else None,
            interval=interval,
        )
        if len(sample)
        else None
        for sample, interval in zip(samples, intervals, strict=True)
    ]
