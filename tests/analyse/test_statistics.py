"""Bootstrap intervals: against scipy's own call, by coverage, and at the edges."""

import numpy as np
import pytest
from scipy.stats import bootstrap

from probelab.analyse.statistics import (
    CONFIDENCE,
    RESAMPLES,
    SEED,
    Interval,
    mean_intervals,
    ratio_intervals,
    summaries,
)


def _sample(seed: int, size: int = 10, mean: float = 100.0) -> np.ndarray:
    return np.random.default_rng(seed).normal(mean, 1.0, size)


def _scipy(data, statistic, paired=False):
    found = bootstrap(
        data,
        statistic,
        n_resamples=RESAMPLES,
        confidence_level=CONFIDENCE,
        paired=paired,
        rng=np.random.default_rng(SEED),
    ).confidence_interval
    # Ties are broken by the last bit, which differs with the order of summing.
    return pytest.approx((found.low, found.high), rel=1e-5)


def test_a_mean_is_scipys_bca_interval() -> None:
    sample = _sample(1)
    (interval,) = mean_intervals([sample])
    assert (interval.low, interval.high) == _scipy((sample,), np.mean)


@pytest.mark.parametrize("paired", [False, True])
def test_a_ratio_is_scipys_bca_interval(paired: bool) -> None:
    left, right = _sample(1), _sample(2, mean=90)

    def ratio(left, right, axis):
        return left.mean(axis=axis) / right.mean(axis=axis)

    (interval,) = ratio_intervals([(left, right)], paired=paired)
    assert (interval.low, interval.high) == _scipy((left, right), ratio, paired)


def test_pairing_removes_what_both_share() -> None:
    shared = _sample(3)
    pair = (shared * 1.01 + _sample(4) * 1e-4, shared)
    (paired,) = ratio_intervals([pair], paired=True)
    (independent,) = ratio_intervals([pair], paired=False)
    assert paired.high - paired.low < (independent.high - independent.low) / 10


def test_an_interval_does_not_depend_on_its_company() -> None:
    several = [_sample(seed) for seed in range(70)] + [_sample(5, size=7)]
    together = mean_intervals(several)
    for place in (0, 63, 64, 69, 70):
        assert mean_intervals([several[place]]) == [together[place]]


def test_coverage_is_near_the_nominal_one() -> None:
    samples = [_sample(1000 + seed, size=30) for seed in range(400)]
    covered = sum(
        interval.low <= 100 <= interval.high for interval in mean_intervals(samples) if interval
    )
    # 95 % nominal; the bootstrap of 30 values is a little too narrow.
    assert 0.91 <= covered / len(samples) <= 0.98


def test_identical_values_are_their_own_interval() -> None:
    assert mean_intervals([np.full(10, 7.0)]) == [Interval(7.0, 7.0)]
    (interval,) = ratio_intervals([(np.full(10, 9.0), np.full(5, 6.0))], paired=False)
    assert interval == Interval(1.5, 1.5)


def test_one_value_has_no_interval() -> None:
    one, ten = np.array([7.0]), _sample(1)
    assert mean_intervals([one, np.array([])]) == [None, None]
    assert ratio_intervals([(one, ten), (ten, one), (one, one)], paired=False) == [None] * 3


def test_a_degenerate_bca_falls_back_to_percentiles() -> None:
    # Left and right move together: the ratio is the same in every resample, and BCa undefined.
    right = _sample(1)
    (interval,) = ratio_intervals([(right * 2, right)], paired=True)
    assert interval.low == pytest.approx(2.0)
    assert interval.high == pytest.approx(2.0)


def test_a_summary_by_hand() -> None:
    found, empty, single = summaries(
        [np.array([1.0, 2.0, 3.0, 6.0]), np.array([]), np.array([4.0])]
    )
    assert (found.mean, found.median) == (3.0, 2.5)
    assert found.std == pytest.approx((14 / 3) ** 0.5)
    assert empty is None
    assert (single.mean, single.std, single.interval) == (4.0, None, None)
