"""What the data say of each sentence of the notes' advice: statements, cases, verdicts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from probelab.codegen.points import Observation, Scope, Shape, Source, by_length, by_scope, by_shape
from probelab.codegen.rule import Choices

Status: TypeAlias = Literal["holds", "holds only in part", "refuted", "can't be told"]
Lengths: TypeAlias = Mapping[int, Choices]


@dataclass(frozen=True)
class Case:
    """What one chain length says of a statement.

    Attributes:
        held: None where noise hides it.
        size: how far the statement is from its contrary, in percent of cycles; positive where it
            holds.
        text: the figures.
        launches: the rows that they come from.
    """

    length: int
    held: bool | None
    size: float
    text: str
    launches: tuple[str, ...] = ()


@dataclass(frozen=True)
class Verdict:
    """What one scope and shape says of a statement."""

    statement: str
    scope: Scope
    shape: Shape | None  #: None: the statement is about several shapes
    source: Source
    status: Status
    held_at: tuple[int, ...]
    refuted_at: tuple[int, ...]
    open_at: tuple[int, ...]
    figures: str  #: the cases that decide: the strongest on either side
    launches: tuple[str, ...]


@dataclass(frozen=True)
class Statement:
    """A sentence of the notes as something that can be tested.

    Attributes:
        key: short name.
        source: note and section.
        sentence: what the note says, in English.
        test: how it was made precise.
        cases: over the lengths of one shape.
        across: over all shapes of one scope, where the sentence is about several.
    """

    key: str
    source: str
    sentence: str
    test: str
    cases: Callable[[Lengths, Sequence[Observation]], list[Case]] | None = None
    across: Callable[[Mapping[Shape, Lengths]], list[Case]] | None = None


def runs(numbers: Sequence[int]) -> str:
    """`2 to 6, 8` for 2, 3, 4, 5, 6, 8."""
    parts: list[list[int]] = []
    for number in sorted(numbers):
        if parts and number == parts[-1][-1] + 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ", ".join(
        f"{part[0]}" if len(part) == 1 else f"{part[0]} to {part[-1]}" for part in parts
    )


def _figures(cases: Sequence[Case]) -> tuple[str, tuple[str, ...]]:
    """The strongest case for and the strongest against."""
    held = [case for case in cases if case.held]
    against = [case for case in cases if case.held is False]
    shown = [max(held, key=lambda case: case.size)] if held else []
    shown += [min(against, key=lambda case: case.size)] if against else []
    shown = shown or list(cases[:1])
    launches = dict.fromkeys(launch for case in shown for launch in case.launches if launch)
    return "; ".join(f"at {case.length}: {case.text}" for case in shown), tuple(launches)


def judge(cases: Sequence[Case]) -> tuple[Status, str]:
    """Status and what it rests on.

    Cases that noise hides don't decide, but a statement isn't said to hold or to be refuted
    where they outnumber those that do.
    """
    held = [case.length for case in cases if case.held]
    against = [case.length for case in cases if case.held is False]
    hidden = len(cases) - len(held) - len(against)
    if not held and not against:
        return "can't be told", "the points that it needs were not run" if not cases else "noise"
    if held and against:
        return "holds only in part", f"at {runs(held)}; not at {runs(against)}"
    if hidden > len(held) + len(against):
        return "can't be told", f"hidden by noise at {hidden} of {len(cases)} lengths"
    return ("holds", f"at {runs(held)}") if held else ("refuted", f"at {runs(against)}")


def _verdict(
    statement: Statement,
    scope: Scope,
    shape: Shape | None,
    source: Source,
    cases: Sequence[Case],
) -> Verdict:
    status, reason = judge(cases)
    figures, launches = _figures(cases)
    return Verdict(
        statement=statement.key,
        scope=scope,
        shape=shape,
        source=source,
        status=status,
        held_at=tuple(case.length for case in cases if case.held),
        refuted_at=tuple(case.length for case in cases if case.held is False),
        open_at=tuple(case.length for case in cases if case.held is None),
        figures=figures or reason,
        launches=launches,
    )


def verdicts(found: Sequence[Observation], statements: Sequence[Statement]) -> list[Verdict]:
    """A verdict on each statement for each scope and shape."""
    given = []
    for scope, own in by_scope(found):
        shapes = by_shape(own)
        lengths = {shape: by_length(members) for shape, members in shapes.items()}
        source = own[0].source
        for statement in statements:
            if statement.across is not None:
                cases = statement.across(lengths)
                given.append(_verdict(statement, scope, None, source, cases))
            elif statement.cases is not None:
                given += [
                    _verdict(
                        statement, scope, shape, source, statement.cases(lengths[shape], members)
                    )
                    for shape, members in shapes.items()
                ]
    return given
