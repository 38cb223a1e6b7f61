"""Points that cover the sweep kernel's settings, and what a lane of each computes, exactly."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from probelab.canonical import digest
from probelab.config.sweeps import Point, defines
from probelab.schema.plan import Chunk, Variant

OPS = ("fma", "add", "mul", "imad", "iadd")
OPERANDS = ("register", "immediate", "constant")
REDUCTIONS = ("none", "after", "chain", "tree")
#: Length, accumulators, tail, unroll; their number has no divisor in common with that of the forms.
SHAPES = (
    (1, 1, "last", 1),
    (7, 1, "last", 1),
    (7, 2, "first", 1),
    (7, 3, "last", 2),
    (7, 4, "last", 1),
    (7, 4, "first", 2),
    (29, 4, "last", 1),
    (29, 8, "first", 1),
    (64, 16, "last", 1),
    (64, 1, "last", 2),
    (29, 16, "last", 1),
)


def point(shape: tuple[int, int, str, int], **form: str) -> Point:
    length, accumulators, tail, unroll = shape
    settings = {"length": length, "accumulators": accumulators, "tail": tail, "unroll": unroll}
    return Point.model_validate(settings | form)


def _spread() -> list[Point]:
    points = [
        point(SHAPES[number % len(SHAPES)], op=op, operands=operands, reduction=reduction)
        for number, (op, operands, reduction) in enumerate(
            itertools.product(OPS, OPERANDS, REDUCTIONS)
        )
    ]
    points += [
        point(shape, op="fma", reduction=reduction)
        for shape in SHAPES
        for reduction in ("none", "chain")
    ]
    return list({one.role: one for one in points}.values())


POINTS = _spread()


def variant(point: Point, arch: str) -> Variant:
    return Variant.make(
        probe="sweep",
        kernel="chain.cu",
        roles=[point.role],
        placement="isolated",
        dispatch="none",
        arch=arch,
        flags=[],
        defines=defines(point),
    )


def chunk(variants: list[Variant]) -> Chunk:
    # Each with a folder of its own: a build forgets what isn't of its chunk.
    return Chunk(
        id=f"sweep.{variants[0].arch}.{digest([one.id for one in variants])[:8]}",
        probe="sweep",
        arch=variants[0].arch,
        variants=variants,
        launches=[],
    )


# --------------------------------------------------------------------------- an exact computation

MASK = 0xFFFFFFFF


def rounded(value: Fraction) -> Fraction:
    """To the nearest float32, ties to even."""
    if value == 0:
        return value
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    if abs(value) < Fraction(2) ** exponent:
        exponent -= 1
    quantum = Fraction(2) ** max(exponent - 23, -149)
    return round(value / quantum) * quantum


def bits(value: Fraction) -> int:
    return int(struct.unpack("<I", struct.pack("<f", float(value)))[0])


def exact(word: int) -> float:
    """The float of which the kernel makes all 32 bits of a word."""
    return float((word ^ word >> 24) & 0xFFFFFF)


@dataclass
class Lane:
    """A lane 0 that runs `point`, step by step in the order of the source."""

    point: Point
    thread: int
    seed: Fraction

    def __post_init__(self) -> None:
        constant = self.point.operands == "constant"
        own = Fraction(1) if constant else self.seed
        self.is_float = self.point.op in ("fma", "add", "mul")
        thread = self.thread
        if self.is_float:
            slope = rounded(own * Fraction(2) ** -10)
            self.values = [
                rounded(thread * slope + slot + 2) for slot in range(self.point.accumulators)
            ]
            self.multiplier = rounded((thread + 1024) * rounded(own * -(Fraction(2) ** -32)) - 1)
            addend = rounded((thread + 1) * rounded(own * Fraction(2) ** -13) + Fraction(3, 4))
            varied = self.multiplier if self.point.op == "mul" else addend
            fixed = -1 - Fraction(2) ** -22 if self.point.op == "mul" else Fraction(7, 8)
            self.operand = self.seed if constant else varied
        else:
            self.values = [
                Fraction(((16 * thread + slot) * 2654435769 + bits(own)) & MASK)
                for slot in range(self.point.accumulators)
            ]
            self.multiplier = Fraction(1664525 + 8 * thread)
            step = 2 if self.point.op == "imad" else 6
            fixed = Fraction(1013904223)
            varied = Fraction(1013904223 + step * thread)
            self.operand = Fraction(bits(self.seed)) if constant else varied
        if self.point.operands == "immediate":
            self.operand = fixed
        self.total = Fraction(0)

    def fit(self, value: Fraction) -> Fraction:
        return rounded(value) if self.is_float else Fraction(int(value) & MASK)

    def add(self, left: Fraction, right: Fraction) -> Fraction:
        return self.fit(left + right)

    def step(self, x: Fraction) -> Fraction:
        steps: dict[str, Callable[[], Fraction]] = {
            "fma": lambda: x * self.multiplier + self.operand,
            "add": lambda: x + self.operand,
            "mul": lambda: x * self.operand,
            "imad": lambda: x * self.multiplier + self.operand,
            "iadd": lambda: x + self.multiplier + self.operand,
        }
        return self.fit(steps[self.point.op]())

    def order(self) -> list[int]:
        """The accumulator of each step of a repetition."""
        accumulators = self.point.accumulators
        rounds, remainder = divmod(self.point.length, accumulators)
        last = range(remainder)
        if self.point.tail == "first":
            last = range(accumulators - remainder, accumulators)
        return [*range(accumulators)] * rounds + [*last]

    def sum(self) -> Fraction:
        values = self.values
        if self.point.reduction == "tree":
            while len(values) > 1:
                pairs = [values[i : i + 2] for i in range(0, len(values), 2)]
                values = [self.add(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
            return values[0]
        total = values[0]
        for value in values[1:]:
            total = self.add(total, value)
        return total

    def iterate(self) -> None:
        for _ in range(self.point.unroll):
            for slot in self.order():
                self.values[slot] = self.step(self.values[slot])
            if self.point.reduction in ("chain", "tree"):
                self.total = self.add(self.total, self.sum())

    def sink(self) -> float:
        if self.point.reduction == "none":
            word = 0
            for value in self.values:
                word = (word * 2654435761 + (bits(value) if self.is_float else int(value))) & MASK
            return exact(word)
        result = self.sum() if self.point.reduction == "after" else self.total
        return float(result) if self.is_float else exact(int(result))
