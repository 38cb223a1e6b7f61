"""The first note's cost model, fitted to cycles per iteration, beside `number_of_ops` alone.

    cost = base + number_of_ops + dependency_chain_penalty − ILP_exposure_bonus
         + register_pressure_penalty + scheduling_shape_penalty + reduction

Each term is a sum of features of the SASS, each with a coefficient that can't be negative; the
bonus is subtracted. Errors are those of cycles that were predicted without any point of the same
chain length.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.optimize import nnls

from probelab.codegen.points import Observation, Scope, Source

Floats = npt.NDArray[np.float64]

BONUS = "ILP_exposure_bonus"
#: The terms in the note's order, each with its features.
TERMS: Mapping[str, tuple[str, ...]] = {
    "base": ("loop_control_cycles",),
    "number_of_ops": ("operations",),
    "dependency_chain_penalty": ("chain_latency_cycles",),
    BONUS: ("ilp_filled_cycles",),
    "register_pressure_penalty": ("live_registers", "register_port_cycles"),
    "scheduling_shape_penalty": (
        "stall_excess_cycles",
        "setup_instructions",
        "alternations",
        "tail_imbalance",
        "burst_instructions",
        "issue_contention_cycles",
        "loop_head_cycles",
    ),
    "reduction": ("reduction_instructions", "reduction_latency_cycles"),
}
#: What the naive model knows: a constant for the loop, and its operations.
_CONSTANT = "constant"
NAIVE: tuple[str, ...] = (_CONSTANT, "operations")

#: Fewer lengths can't be left out in turn.
FEWEST_LENGTHS = 4
_RESAMPLES = 400
_SEED = 20_260_518
_CONFIDENCE = 0.95


def unit(feature: str) -> str:
    """In what a feature is counted; its coefficient is cycles per that."""
    return feature.rpartition("_")[2] if "_" in feature else feature


@dataclass(frozen=True)
class Errors:
    """Absolute errors in percent of the cycles."""

    mean: float
    median: float
    worst: float

    @classmethod
    def of(cls, estimates: Floats, cycles: Floats) -> "Errors":
        """Of these estimates."""
        percent = np.abs(estimates / cycles - 1) * 100
        return cls(float(percent.mean()), float(np.median(percent)), float(percent.max()))


@dataclass(frozen=True)
class FeatureSize:
    """A feature's part in the model."""

    term: str
    feature: str
    coefficient: float  #: cycles per unit, negative for the bonus
    low: float
    high: float
    mean_cycles: float  #: mean over the points of what it adds
    largest_cycles: float  #: of its contributions the one that is largest in size


@dataclass(frozen=True)
class Model:
    """Coefficients by feature; none is negative."""

    coefficients: Mapping[str, float]

    def contributions(self, one: Observation) -> dict[str, float]:
        """Cycles that each term adds, the bonus negative."""
        values = one.features.as_row()
        return {
            term: (-1 if term == BONUS else 1)
            * sum(self.coefficients.get(name, 0.0) * values[name] for name in names)
            for term, names in TERMS.items()
        }

    def cycles(self, one: Observation) -> float:
        """The model's cost of a point."""
        return sum(self.contributions(one).values())


@dataclass(frozen=True)
class Fit:
    """Both models of one scope."""

    scope: Scope
    source: Source
    observations: Sequence[Observation]
    model: Model
    naive: Mapping[str, float]  #: its coefficients
    estimates: Floats  #: of the cost model, each without points of its length
    naive_estimates: Floats
    sizes: Sequence[FeatureSize]
    without: Mapping[str, Errors] = field(default_factory=dict)  #: cost model less a term

    @cached_property
    def cycles(self) -> Floats:
        """What was to be estimated."""
        return _cycles(self.observations)

    @property
    def errors(self) -> Errors:
        """Of the cost model."""
        return Errors.of(self.estimates, self.cycles)

    @property
    def naive_errors(self) -> Errors:
        """Of `number_of_ops` alone."""
        return Errors.of(self.naive_estimates, self.cycles)

    def worst(self, count: int = 5) -> list[tuple[Observation, float]]:
        """The points that the cost model is furthest from, with its estimate."""
        error = np.abs(self.estimates / self.cycles - 1)
        places = np.argsort(-error, kind="stable")[:count]
        return [(self.observations[place], float(self.estimates[place])) for place in places]


def _cycles(found: Sequence[Observation]) -> Floats:
    return np.array([one.cycles for one in found])


def _names(terms: Sequence[str]) -> list[str]:
    return [name for term in terms for name in TERMS[term]]


def _matrix(found: Sequence[Observation], names: Sequence[str]) -> Floats:
    rows = [{_CONSTANT: 1, **one.features.as_row()} for one in found]
    values = np.array([[row[name] for name in names] for row in rows], dtype=np.float64)
    values[:, [name in TERMS[BONUS] for name in names]] *= -1
    return values


def _solve(matrix: Floats, cycles: Floats) -> Floats:
    """Non-negative coefficients of least relative error."""
    scale = np.abs(matrix).max(axis=0)
    used = scale > 0
    solution = np.zeros(matrix.shape[1])
    scaled = matrix[:, used] / scale[used] / cycles[:, None]
    solution[used] = nnls(scaled, np.ones(len(cycles)))[0] / scale[used]
    return solution


def _left_out(matrix: Floats, cycles: Floats, lengths: npt.NDArray[np.int64]) -> Floats:
    """An estimate of each point from those of all other lengths."""
    estimates = np.empty(len(cycles))
    for length in np.unique(lengths):
        own = lengths == length
        estimates[own] = matrix[own] @ _solve(matrix[~own], cycles[~own])
    return estimates


def _intervals(
    matrix: Floats, cycles: Floats, lengths: npt.NDArray[np.int64]
) -> tuple[Floats, Floats]:
    """Percentile bootstrap intervals of the coefficients; whole lengths are drawn."""
    random = np.random.default_rng(_SEED)
    known = np.unique(lengths)
    members = {length: np.flatnonzero(lengths == length) for length in known}
    solutions = []
    for _ in range(_RESAMPLES):
        drawn = np.concatenate([members[one] for one in random.choice(known, len(known))])
        solutions.append(_solve(matrix[drawn], cycles[drawn]))
    tail = (1 - _CONFIDENCE) / 2
    low, high = np.quantile(np.array(solutions), [tail, 1 - tail], axis=0)
    return low, high


def _sizes(
    matrix: Floats, names: Sequence[str], solution: Floats, low: Floats, high: Floats
) -> list[FeatureSize]:
    terms = {name: term for term, own in TERMS.items() for name in own}
    sizes = []
    for place, name in enumerate(names):
        if not matrix[:, place].any():
            continue
        added = matrix[:, place] * solution[place]
        bounds = [low[place], high[place]]
        sign = 1.0
        if terms[name] == BONUS:
            sign, bounds = -1.0, [-bounds[1], -bounds[0]]
        sizes.append(
            FeatureSize(
                term=terms[name],
                feature=name,
                coefficient=sign * float(solution[place]) + 0.0,
                low=float(bounds[0]) + 0.0,
                high=float(bounds[1]) + 0.0,
                mean_cycles=float(added.mean()) + 0.0,
                largest_cycles=float(added[np.argmax(np.abs(added))]) + 0.0,
            )
        )
    return sizes


def fit(scope: Scope, found: Sequence[Observation]) -> Fit | None:
    """Both models of a scope's points; None where there are too few chain lengths."""
    lengths = np.array([one.point.length for one in found], dtype=np.int64)
    if len(np.unique(lengths)) < FEWEST_LENGTHS:
        return None
    cycles = _cycles(found)

    def estimate(names: Sequence[str]) -> Floats:
        return _left_out(_matrix(found, names), cycles, lengths)

    names = _names(list(TERMS))
    matrix = _matrix(found, names)
    solution = _solve(matrix, cycles)
    naive = _solve(_matrix(found, NAIVE), cycles)
    return Fit(
        scope=scope,
        source=found[0].source,
        observations=list(found),
        model=Model(dict(zip(names, solution.tolist(), strict=True))),
        naive=dict(zip(NAIVE, naive.tolist(), strict=True)),
        estimates=estimate(names),
        naive_estimates=estimate(NAIVE),
        sizes=_sizes(matrix, names, solution, *_intervals(matrix, cycles, lengths)),
        without={
            term: Errors.of(estimate([name for name in names if name not in own]), cycles)
            for term, own in TERMS.items()
            if term != "base" and _matrix(found, own).any()
        },
    )
