"""The best number of accumulators for each chain length, from the points that were run.

Ties go to fewer accumulators: a point is as good as the best if it is within 0.1 % of it, or if
their intervals overlap.
"""

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from probelab.codegen.points import (
    Observation,
    Scope,
    Shape,
    Source,
    as_good,
    by_length,
    by_scope,
    by_shape,
)

#: Of one length: accumulators → observation.
Choices: TypeAlias = Mapping[int, Observation]

#: What a simpler rule may lose at any length.
SIMPLE_LOSS = 0.01


@dataclass(frozen=True)
class Interval:
    """Chain lengths, both ends included, that get the same number of accumulators."""

    first: int
    last: int
    accumulators: int


@dataclass(frozen=True)
class Rule:
    """The rule of one scope and shape.

    Attributes:
        best: number of accumulators at each length that was run.
        intervals: the same for all lengths from the shortest to the longest that was run.
        simple: fewest intervals that lose no more than 1 % at any length that was run.
    """

    scope: Scope
    shape: Shape
    source: Source
    best: Mapping[int, int]
    intervals: Sequence[Interval]
    simple: Sequence[Interval]


def best_of(choices: Choices) -> Observation:
    """The point of fewest cycles; of equal ones that of fewest accumulators."""
    return min(choices.values(), key=lambda one: (one.cycles, one.point.accumulators))


def tied(choices: Choices) -> list[int]:
    """Numbers of accumulators that are as good as the best, ascending."""
    best = best_of(choices)
    return sorted(number for number, one in choices.items() if as_good(one, best))


def interpolate(length: int, known: Mapping[int, int]) -> int:
    """The number of accumulators for a length, from lengths around it.

    That of the nearest known length, of two as near that of the shorter one; beyond the ends that
    of the end. Never more than the length.
    """
    if length in known:
        return known[length]
    lengths = sorted(known)
    place = bisect_left(lengths, length)
    around = lengths[max(place - 1, 0) : place + 1]
    nearest = min(around, key=lambda one: (abs(one - length), one))
    return max(1, min(known[nearest], length))


def spread(known: Mapping[int, int]) -> list[Interval]:
    """Intervals that cover all lengths from the shortest to the longest known one."""
    found: list[Interval] = []
    for length in range(min(known), max(known) + 1):
        number = interpolate(length, known)
        if found and found[-1].accumulators == number:
            found[-1] = Interval(found[-1].first, length, number)
        else:
            found.append(Interval(length, length, number))
    return found


def simplify(lengths: Mapping[int, Choices], loss: float = SIMPLE_LOSS) -> dict[int, int]:
    """Numbers of accumulators that change as seldom as they can without losing more than `loss`.

    Runs are made as long as they can be, from the shortest length on, which gives the fewest; of
    the numbers that serve a whole run the smallest is taken.
    """
    chosen: dict[int, int] = {}
    run: list[int] = []
    shared: set[int] = set()
    for length, choices in lengths.items():
        limit = best_of(choices).cycles * (1 + loss)
        allowed = {number for number, one in choices.items() if one.cycles <= limit}
        if run and not shared & allowed:
            chosen |= dict.fromkeys(run, min(shared))
            run = []
        shared = shared & allowed if run else allowed
        run.append(length)
    return chosen | dict.fromkeys(run, min(shared, default=1))


def best_by_length(lengths: Mapping[int, Choices]) -> dict[int, int]:
    """The best number of accumulators at each length, ties to fewer."""
    return {length: tied(choices)[0] for length, choices in lengths.items()}


def nearest_run(wanted: int, numbers: Collection[int]) -> int:
    """The number that was run and is nearest to the wanted one, of two as near the smaller."""
    return min(numbers, key=lambda number: (abs(number - wanted), number))


def rules(found: Sequence[Observation]) -> list[Rule]:
    """A rule for each scope and shape that has a choice to offer."""
    made = []
    for scope, own in by_scope(found):
        for shape, members in by_shape(own).items():
            lengths = by_length(members)
            if all(len(choices) < 2 for choices in lengths.values()):
                continue
            best = best_by_length(lengths)
            made.append(
                Rule(
                    scope=scope,
                    shape=shape,
                    source=members[0].source,
                    best=best,
                    intervals=spread(best),
                    simple=spread(simplify(lengths)),
                )
            )
    return made
