"""Sweeps: one kernel over a product of settings, as a probe with a role for each point."""

import ast
import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator
from simpleeval import EvalWithCompoundTypes, InvalidExpression

from probelab.config.models import (
    Cycles,
    Flag,
    Identifier,
    KernelFile,
    Number,
    Probe,
    Role,
    Section,
    Seed,
    Several,
)
from probelab.schema.intent import Intent

Op = Literal["fma", "add", "mul", "imad", "iadd"]
Tail = Literal["last", "first"]
Operands = Literal["register", "immediate", "constant"]
Reduction = Literal["none", "after", "chain", "tree"]

#: Longer bodies leave the first-level instruction cache and are another question.
LONGEST = 1024
MOST_ACCUMULATORS = 16

_RANGE = re.compile(r"(\d{1,4})\.\.(\d{1,4})(?:/(\d{1,4}))?")


def _numbers(value: Any) -> Any:
    """Ranges written out: `1..64` is every number, `8..64/8` every eighth."""
    if isinstance(value, (int, str)):
        value = [value]
    if not isinstance(value, list):
        return value
    numbers: list[Any] = []
    for item in value:
        found = _RANGE.fullmatch(item) if isinstance(item, str) else None
        if found:
            numbers += range(int(found[1]), int(found[2]) + 1, int(found[3] or 1))
        else:
            numbers.append(item)
    return numbers


Lengths = Annotated[
    Several[Annotated[int, Number, Field(ge=1, le=LONGEST)]], BeforeValidator(_numbers)
]
Accumulators = Annotated[
    Several[Annotated[int, Number, Field(ge=1, le=MOST_ACCUMULATORS)]], BeforeValidator(_numbers)
]
Counts = Annotated[Several[Annotated[int, Number, Field(ge=1, le=8)]], BeforeValidator(_numbers)]


class Point(Section):
    """One shape of a sweep.

    `length` and `accumulators` are those of one repetition of the body; `unroll` repetitions
    make an iteration. `tail` names the accumulators that a remainder leaves short.
    """

    op: Op
    length: int
    accumulators: int
    tail: Tail = "last"
    operands: Operands = "register"
    reduction: Reduction = "none"
    unroll: int = 1

    @property
    def role(self) -> str:
        """A plain identifier; what is at its default isn't named."""
        parts = [self.op, str(self.length), f"{self.accumulators}acc"]
        parts += [self.operands] if self.operands != "register" else []
        parts += [f"{self.tail}_short"] if self.tail != "last" else []
        parts += [f"sum_{self.reduction}"] if self.reduction != "none" else []
        parts += [f"x{self.unroll}"] if self.unroll != 1 else []
        return "_".join(parts)

    @property
    def chains(self) -> list[int]:
        """Steps on each accumulator in an iteration, descending."""
        even, remainder = divmod(self.length, self.accumulators)
        steps = [even + (slot < remainder) for slot in range(self.accumulators)]
        return [count * self.unroll for count in steps]

    @property
    def is_canonical(self) -> bool:
        """Whether no other point means the same: an even split has no short accumulator."""
        return self.tail == "last" or self.length % self.accumulators != 0


def condition(text: str) -> str:
    """`text`, if it is a condition on the axes, like `accumulators <= length and op != 'iadd'`.

    Raises:
        ValueError: if it isn't.
    """
    try:
        value = predicate(text)(Point(op="fma", length=8, accumulators=4))
    except (InvalidExpression, SyntaxError, TypeError, ValueError) as error:
        known = ", ".join(Point.model_fields)
        raise ValueError(f"{text!r} is no condition on {known}: {error}") from None
    if not isinstance(value, bool):
        raise ValueError(f"{text!r} is no condition; it must be true or false")
    return text


def predicate(text: str) -> Callable[[Point], Any]:
    """A condition as a function of a point.

    Raises:
        InvalidExpression, SyntaxError, TypeError: if it isn't one, now or when it is called.
    """
    evaluator = EvalWithCompoundTypes(functions={})
    # A power can be written that takes for ever.
    evaluator.operators.pop(ast.Pow, None)
    parsed = evaluator.parse(text)

    def value(point: Point) -> Any:
        evaluator.names = point.model_dump()
        return evaluator.eval(text, parsed)

    return value


Condition = Annotated[str, AfterValidator(condition)]


class Axes(Section):
    """The values whose product is taken."""

    op: Several[Op]
    length: Lengths
    accumulators: Accumulators
    tail: Several[Tail] = Field(default=["last"])
    operands: Several[Operands] = Field(default=["register"])
    reduction: Several[Reduction] = Field(default=["none"])
    unroll: Counts = Field(default=[1])

    def points(self) -> Iterator[Point]:
        """The product, without points that mean the same as another or have idle accumulators."""
        names = list(Axes.model_fields)
        for values in itertools.product(*(getattr(self, name) for name in names)):
            point = Point.model_validate(dict(zip(names, values, strict=True)))
            if point.accumulators <= point.length and point.is_canonical:
                yield point


class Sweep(Section):
    """One kernel over a product of settings."""

    name: Identifier
    title: str
    question: str
    kernel: KernelFile = "chain.cu"
    flags: list[Flag] = Field(default=[])
    axes: Axes
    warps_per_sub_core: Counts = Field(default=[1])
    clock_budget_cycles: Cycles | None = None
    seed: Seed | None = None
    constraints: list[Condition] = Field(
        default=[], description="conditions that a point must meet"
    )
    subsets: dict[Identifier, Condition] = Field(
        default={}, description="named conditions, for the lab's key `subset`"
    )

    @model_validator(mode="after")
    def _not_empty(self) -> "Sweep":
        if not any(True for _ in self.points()):
            raise ValueError("no point of the axes meets the constraints")
        return self

    def points(self, subset: str = "", only: str = "") -> Iterator[Point]:
        """The points of the sweep, in the order of its axes.

        Args:
            subset: name of one of its subsets; empty: all.
            only: a further condition; empty: none.

        Raises:
            KeyError: if it has no such subset.
        """
        conditions = [*self.constraints]
        conditions += [self.subsets[subset]] if subset else []
        conditions += [only] if only else []
        tests = [predicate(text) for text in conditions]
        for point in self.axes.points():
            if all(holds(point) for holds in tests):
                yield point


#: Macros of kernels/chain.cu and the number of each value.
_MACROS: Mapping[str, tuple[str, ...]] = {
    "op": ("fma", "add", "mul", "imad", "iadd"),
    "tail": ("last", "first"),
    "operands": ("register", "immediate", "constant"),
    "reduction": ("none", "after", "chain", "tree"),
}
_OPCODES: Mapping[Op, str] = {
    "fma": "FFMA",
    "add": "FADD",
    "mul": "FMUL",
    "imad": "IMAD",
    "iadd": "IADD3",
}


def defines(point: Point) -> dict[str, int]:
    """The -D settings that make kernels/chain.cu this point."""
    settings = point.model_dump()
    return {
        f"PROBE_{name.upper()}": _MACROS[name].index(value) if name in _MACROS else int(value)
        for name, value in settings.items()
    }


def intent(point: Point) -> Intent:
    """What the SASS of a point must show."""
    return Intent(
        opcode=_OPCODES[point.op],
        chains=point.chains,
        operands=point.operands,
        reduction="each_iteration" if point.reduction in ("chain", "tree") else "none",
        sums=point.unroll,
    )


def as_probe(sweep: Sweep, points: list[Point]) -> Probe:
    """A sweep as a probe: a role for each point, isolated, compared with its single chain."""
    names = {point.role for point in points}

    def reference(point: Point) -> str | None:
        single = point.model_copy(update={"accumulators": 1, "tail": "last"}).role
        return single if single in names and single != point.role else None

    return Probe(
        name=sweep.name,
        title=sweep.title,
        question=sweep.question,
        kernel=sweep.kernel,
        flags=sweep.flags,
        placements=["isolated"],
        clock_budget_cycles=sweep.clock_budget_cycles,
        seed=sweep.seed,
        isolated_threads_per_block=[128 * warps for warps in sweep.warps_per_sub_core],
        roles=[
            Role(
                name=point.role,
                reference=reference(point),
                intent=intent(point),
                defines=defines(point),
            )
            for point in points
        ],
    )
