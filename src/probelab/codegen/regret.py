"""What each way to choose the number of accumulators loses against the best point that was run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from probelab.analyse.statistics import EQUIVALENCE
from probelab.codegen.cost_model import Fit
from probelab.codegen.heuristics import HEURISTICS
from probelab.codegen.points import Observation, Scope, Shape, Source, by_length, by_scope, by_shape
from probelab.codegen.rule import (
    Choices,
    best_by_length,
    best_of,
    interpolate,
    nearest_run,
    simplify,
)

#: From all lengths and the choices at one, a number of accumulators; None: it can't choose.
Chooser: TypeAlias = Callable[[int, Mapping[int, Choices]], int | None]

RULE = "rule"
#: The rule as it would be had the length not been run: what it is worth between lengths.
RULE_LEFT_OUT = "rule, length left out"
RULE_SIMPLE = "rule, simplified"
COST_MODEL = "cost model"
NAIVE_MODEL = "number_of_ops alone"
PREDICTION = "prediction from SASS"


@dataclass(frozen=True)
class Regret:
    """The loss of one way to choose at one chain length."""

    scope: Scope
    shape: Shape
    source: Source
    way: str
    length: int
    wanted: int  #: number of accumulators that it asks for
    accumulators: int  #: the nearest one that was run
    best: int
    cycles: float
    best_cycles: float

    @property
    def lost_cycles(self) -> float:
        """Cycles per iteration more than the best point's."""
        return self.cycles - self.best_cycles

    @property
    def lost_percent(self) -> float:
        """The same in percent of the best point's."""
        return (self.cycles / self.best_cycles - 1) * 100


@dataclass(frozen=True)
class Losses:
    """The losses of one way over the lengths of a shape, or of several."""

    lengths: int
    mean_percent: float
    worst_percent: float
    worst_length: int
    lost: int  #: lengths at which it is behind the best

    @classmethod
    def of(cls, regrets: Sequence[Regret]) -> "Losses":
        """Summed up."""
        percents = [one.lost_percent for one in regrets]
        worst = int(np.argmax(percents))
        return cls(
            lengths=len(regrets),
            mean_percent=float(np.mean(percents)),
            worst_percent=percents[worst],
            worst_length=regrets[worst].length,
            lost=sum(percent > EQUIVALENCE * 100 for percent in percents),
        )


def _left_out(length: int, lengths: Mapping[int, Choices]) -> int | None:
    others = {other: own for other, own in lengths.items() if other != length}
    return interpolate(length, best_by_length(others)) if others else None


def _cheapest(costs: Mapping[int, float]) -> int:
    """The number of least cost; within 0.1 % the fewest accumulators."""
    limit = min(costs.values()) * (1 + EQUIVALENCE)
    return min(number for number, cost in costs.items() if cost <= limit)


def _by_cost(cost: Callable[[Observation], float | None]) -> Chooser:
    def choose(length: int, lengths: Mapping[int, Choices]) -> int | None:
        costs = {number: cost(one) for number, one in lengths[length].items()}
        known = {number: value for number, value in costs.items() if value is not None}
        return _cheapest(known) if len(known) == len(costs) else None

    return choose


def _ways(fit: Fit | None) -> dict[str, Chooser]:
    """Every way to choose, by the name that tables show."""
    ways: dict[str, Chooser] = {
        RULE: lambda length, lengths: best_by_length({length: lengths[length]})[length],
        RULE_LEFT_OUT: _left_out,
        RULE_SIMPLE: lambda length, lengths: simplify(lengths)[length],
    }
    if fit is not None:
        pairs = list(zip(fit.observations, fit.estimates, fit.naive_estimates, strict=True))
        model = {id(one): float(cost) for one, cost, _ in pairs}
        naive = {id(one): float(cost) for one, _, cost in pairs}
        ways[COST_MODEL] = _by_cost(lambda one: model.get(id(one)))
        ways[NAIVE_MODEL] = _by_cost(lambda one: naive.get(id(one)))
        if fit.source == "measured":
            ways[PREDICTION] = _by_cost(lambda one: one.predicted)
    for name, heuristic in HEURISTICS.items():
        ways[name] = lambda length, _, heuristic=heuristic: heuristic(length)  # type: ignore[misc]
    return ways


def regrets(found: Sequence[Observation], fits: Sequence[Fit]) -> list[Regret]:
    """What each way loses at each length that offers a choice.

    Where the number that a way asks for wasn't run, the nearest one that was stands in.
    """
    by_fit = {fit.scope: fit for fit in fits}
    lost = []
    for scope, own in by_scope(found):
        ways = _ways(by_fit.get(scope))
        for shape, members in by_shape(own).items():
            lengths = by_length(members)
            for way, choose in ways.items():
                for length, choices in lengths.items():
                    wanted = choose(length, lengths) if len(choices) > 1 else None
                    if wanted is None:
                        continue
                    best = best_of(choices)
                    taken = choices[nearest_run(wanted, choices)]
                    lost.append(
                        Regret(
                            scope=scope,
                            shape=shape,
                            source=taken.source,
                            way=way,
                            length=length,
                            wanted=wanted,
                            accumulators=taken.point.accumulators,
                            best=best.point.accumulators,
                            cycles=taken.cycles,
                            best_cycles=best.cycles,
                        )
                    )
    return lost
