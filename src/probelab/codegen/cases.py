"""Tests that statements are made of: each gives a case per chain length."""

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import combinations, pairwise
from typing import TypeAlias

from probelab.analyse.statistics import EQUIVALENCE
from probelab.codegen.heuristics import MIDDLE_BELOW
from probelab.codegen.points import Observation, Shape, as_good, compare
from probelab.codegen.rule import Choices, best_of, tied
from probelab.codegen.verdicts import Case, Lengths

#: Share of pairs that must agree for a tendency to be called one.
_AGREE = 0.9
#: Some of the points of a length.
Pick: TypeAlias = Callable[[int, Choices], Choices]
#: Whether a statement is about a length.
Domain: TypeAlias = Callable[[int], bool]
#: A statement's cases over the lengths of one shape, from these and from all its points.
Cases: TypeAlias = Callable[[Lengths, Sequence[Observation]], list[Case]]


def some(numbers: Collection[int]) -> Pick:
    """These numbers of accumulators."""
    return lambda _, choices: {key: one for key, one in choices.items() if key in numbers}


def at_least(least: int) -> Pick:
    """So many accumulators and more."""
    return lambda _, choices: {key: one for key, one in choices.items() if key >= least}


def each_once(length: int, choices: Choices) -> Choices:
    """An accumulator for each instruction."""
    return {key: one for key, one in choices.items() if key == length}


def most(_: int, choices: Choices) -> Choices:
    """The most accumulators that were run."""
    return {max(choices): choices[max(choices)]}


def most_of_many(length: int, choices: Choices) -> Choices:
    """The most accumulators that were run, if they are more than four."""
    return most(length, choices) if max(choices) > 4 else {}


def _name(one: Observation) -> str:
    """`4 accumulators: 47 cycles`."""
    number = one.point.accumulators
    return f"{number} accumulator{'s' if number > 1 else ''} {one.cycles:.6g} cycles"


def _case(length: int, faster: Observation, slower: Observation, held: bool | None) -> Case:
    size = (slower.cycles / faster.cycles - 1) * 100
    text = f"{_name(faster)}, {_name(slower)} ({size:+.1f} %)"
    return Case(length, held, size, text, (faster.launch, slower.launch))


def faster(left: Pick, right: Pick, domain: Domain) -> Cases:
    """The best of `left` takes fewer cycles than the best of `right`."""

    def cases(lengths: Lengths, _: Sequence[Observation]) -> list[Case]:
        found = []
        for length, choices in lengths.items():
            ours, theirs = left(length, choices), right(length, choices)
            if not domain(length) or not ours or not theirs:
                continue
            one, other = best_of(ours), best_of(theirs)
            order = compare(one, other)
            if one is not other:
                found.append(_case(length, one, other, None if order is None else order < 0))
        return found

    return cases


def behind_best(picked: Pick, domain: Domain) -> Cases:
    """The best of `picked` is behind the best of all."""

    def cases(lengths: Lengths, _: Sequence[Observation]) -> list[Case]:
        found = []
        for length, choices in lengths.items():
            own = picked(length, choices)
            if not domain(length) or not own or len(choices) < 2:
                continue
            one = best_of(own)
            others = {key: other for key, other in choices.items() if key not in own}
            other = best_of(others or own)
            order = compare(other, one)
            if one is not other:
                found.append(_case(length, other, one, None if order is None else order < 0))
        return found

    return cases


def as_good_as_best(picked: Pick, domain: Domain) -> Cases:
    """Nothing beats the best of `picked`."""

    def cases(lengths: Lengths, _: Sequence[Observation]) -> list[Case]:
        found = []
        for length, choices in lengths.items():
            own = picked(length, choices)
            others = {key: one for key, one in choices.items() if key not in own}
            if not domain(length) or not own or not others:
                continue
            one, other = best_of(own), best_of(others)
            found.append(_case(length, one, other, as_good(one, best_of(choices))))
        return found

    return cases


def enough(lengths: Lengths, _: Sequence[Observation]) -> list[Case]:
    """Up to the best number, each further accumulator gains or does no harm."""
    found = []
    for length, choices in lengths.items():
        if length < 2 or len(choices) < 2 or 1 not in choices:
            continue
        best = tied(choices)[0]
        way = [one for number, one in choices.items() if number <= best]
        steps = [compare(after, before) for before, after in pairwise(way)]
        held = best > 1 and all(step in (-1, 0, None) for step in steps)
        first, *rest = choices.values()
        split = (
            choices[best] if best > 1 else best_of({one.point.accumulators: one for one in rest})
        )
        found.append(_case(length, split, first, held))
    return found


def empty_slots(one: Observation) -> int:
    """Issue slots that one warp leaves empty in its work, per iteration, from the SASS."""
    features = one.features
    return (
        features.chain_latency_cycles
        - features.ilp_filled_cycles
        + features.stall_excess_cycles
        + features.reduction_latency_cycles
    )


def ready(lengths: Lengths, _: Sequence[Observation]) -> list[Case]:
    """Of two variants, the one that leaves fewer issue slots empty takes fewer cycles."""
    found = []
    for length, choices in lengths.items():
        agree = against = 0
        for one, other in combinations(choices.values(), 2):
            order = compare(one, other)
            slots = empty_slots(one) - empty_slots(other)
            if order and slots:
                agree += (order < 0) == (slots < 0)
                against += (order < 0) != (slots < 0)
        if agree + against:
            share = agree / (agree + against)
            text = f"{agree} of {agree + against} pairs"
            size = (share - _AGREE) * 100
            launches = tuple(one.launch for one in choices.values())
            found.append(Case(length, share >= _AGREE, size, text, launches))
    return found


def not_monotone(lengths: Lengths, _: Sequence[Observation]) -> list[Case]:
    """Somewhere a further accumulator costs."""
    found = []
    for length, choices in lengths.items():
        pairs = [
            (fewer, more)
            for fewer, more in combinations(choices.values(), 2)
            if compare(fewer, more) == -1
        ]
        if len(choices) > 1:
            worst = max(pairs, key=lambda pair: pair[1].cycles / pair[0].cycles, default=None)
            one, other = worst or (best_of(choices), list(choices.values())[-1])
            found.append(_case(length, one, other, worst is not None))
    return found


def tail_position(length: int) -> Cases:
    """Which of four accumulators is short makes a difference."""

    def cases(_: Lengths, members: Sequence[Observation]) -> list[Case]:
        own = {
            one.point.tail: one
            for one in members
            if one.point.length == length and one.point.accumulators == 4
        }
        if len(own) < 2:
            return []
        one, other = sorted(own.values(), key=lambda point: point.cycles)
        order = compare(one, other)
        found = _case(length, one, other, None if order is None else order != 0)
        text = f"{one.point.tail} short {one.cycles:.6g}, {other.point.tail} short"
        return [Case(length, found.held, found.size, f"{text} {other.cycles:.6g} cycles")]

    return cases


def no_constant(lengths: Lengths, _: Sequence[Observation]) -> list[Case]:
    """Whatever one number is taken for all chains, it is behind the best at some length."""
    long = {length: own for length, own in lengths.items() if length > 1 and len(own) > 1}
    if len(long) < 2:
        return []
    worst: dict[int, tuple[float, int]] = {}
    for number in sorted({key for own in long.values() for key in own}):
        losses = []
        for length, own in long.items():
            taken = own.get(min(number, max(own)))
            if taken is None:
                break
            losses.append((taken.cycles / best_of(own).cycles - 1, length))
        else:
            worst[number] = max(losses)
    if not worst:
        return []
    number, (loss, length) = min(worst.items(), key=lambda item: item[1])
    text = f"the best constant, {number}, loses {loss * 100:.1f} % there"
    return [Case(length, loss > EQUIVALENCE, loss * 100, text)]


def by_shape(shapes: Mapping[Shape, Lengths]) -> list[Case]:
    """No one number is best for all shapes of that length."""
    found = []
    for length in sorted({length for lengths in shapes.values() for length in lengths}):
        own = {
            shape: tied(lengths[length])
            for shape, lengths in shapes.items()
            if len(lengths.get(length, ())) > 1
        }
        if len(own) > 1:
            shared = set.intersection(*(set(numbers) for numbers in own.values()))
            text = "; ".join(f"{shape}: {numbers[0]}" for shape, numbers in own.items())
            found.append(Case(length, not shared, len(own), text))
    return found


def reduction_costs(shapes: Mapping[Shape, Lengths]) -> list[Case]:
    """Four accumulators gain less over one when they are summed in each iteration."""
    found = []
    for shape, lengths in shapes.items():
        plain = shapes.get(Shape(shape.op, "none", shape.operands, shape.unroll))
        if shape.reduction not in ("chain", "tree") or plain is None:
            continue
        for length in sorted(lengths.keys() & plain.keys()):
            pairs = [own[length] for own in (plain, lengths)]
            if length >= MIDDLE_BELOW or any(not {1, 4} <= own.keys() for own in pairs):
                continue
            without, with_it = (own[1].cycles / own[4].cycles - 1 for own in pairs)
            gains = [f"{gain * 100:+.1f} %" for gain in (with_it, without)]
            text = f"{shape}: 4 accumulators {gains[0]} over 1, without {gains[1]}"
            size = (without - with_it) * 100
            found.append(Case(length, size > EQUIVALENCE * 100, size, text))
    return found


def at(length: int) -> Domain:
    """One length."""
    return lambda own: own == length


def between(first: int, last: int) -> Domain:
    """Lengths from the first to the last."""
    return lambda own: first <= own <= last


def odd_tail(length: int) -> bool:
    """Short to middle chains that four accumulators don't split evenly."""
    return 4 < length < MIDDLE_BELOW and length % 4 != 0
