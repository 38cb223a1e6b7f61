"""Integer values that can be known without running a kernel, as far as role selection needs them.

A register holds a known 32-bit integer or a `Symbol`: the unknown result of one instruction. Moves
pass a symbol on, so that two comparisons of the same loaded role are seen to be of the same value.
Instructions that aren't modelled give a new symbol, never a guess.
"""

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from probelab.sass.kernel import Instruction
from probelab.sass.operands import Immediate, Operand, Predicate, Register, SpecialRegister
from probelab.sass.registers import Access

_MASK = 0xFFFFFFFF
#: Steps from a loaded role to the compared value that are followed back.
_MOST_ANCESTORS = 8


@dataclass(frozen=True, slots=True)
class Symbol:
    """An unknown 32-bit value.

    Attributes:
        address: the instruction that made it; negative if it isn't the result of one.
        register: the register that it was first written to.
        parent: the symbol that it was computed from, if from one symbol and constants only.
    """

    address: int
    register: str
    parent: "Symbol | None" = None

    def ancestry(self) -> list["Symbol"]:
        """The symbol, its parent, and so on."""
        line = [self]
        while line[-1].parent is not None:
            line.append(line[-1].parent)
        return line


Value: TypeAlias = int | Symbol
#: A truth value, or the symbols that it depends on.
Truth: TypeAlias = bool | frozenset[Symbol]


def _merged(address: int, register: str) -> Symbol:
    """The value of a register where paths meet that disagree on it: no instruction makes it."""
    return Symbol(-1, f"{register} at {address:#x}")


def _unknown(*truths: Truth) -> frozenset[Symbol]:
    symbols: frozenset[Symbol] = frozenset()
    return symbols.union(*(one for one in truths if not isinstance(one, bool)))


def negate(truth: Truth) -> Truth:
    """Logical not."""
    return not truth if isinstance(truth, bool) else truth


def both(left: Truth, right: Truth) -> Truth:
    """Logical and; false if either is known to be."""
    if left is False or right is False:
        return False
    if isinstance(left, bool) and isinstance(right, bool):
        return left and right
    return _unknown(left, right)


def either(left: Truth, right: Truth) -> Truth:
    """Logical or; true if either is known to be."""
    return negate(both(negate(left), negate(right)))


def exclusive(left: Truth, right: Truth) -> Truth:
    """Logical exclusive or."""
    if isinstance(left, bool) and isinstance(right, bool):
        return left is not right
    return _unknown(left, right)


_COMBINE: dict[str, Callable[[Truth, Truth], Truth]] = {
    "AND": both,
    "OR": either,
    "XOR": exclusive,
}
_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "EQ": lambda a, b: a == b,
    "NE": lambda a, b: a != b,
    "LT": lambda a, b: a < b,
    "LE": lambda a, b: a <= b,
    "GT": lambda a, b: a > b,
    "GE": lambda a, b: a >= b,
    "F": lambda a, b: False,  # noqa: ARG005
    "T": lambda a, b: True,  # noqa: ARG005
}


@dataclass
class State:
    """Values of registers and predicates at one point of a path; what is missing is unknown."""

    registers: dict[str, Value] = field(default_factory=dict)
    predicates: dict[str, Truth] = field(default_factory=dict)

    def copy(self) -> "State":
        """An independent copy."""
        return State(dict(self.registers), dict(self.predicates))

    def merge(self, other: "State", address: int) -> "State":
        """What holds on both of two paths that meet at `address`."""
        registers: dict[str, Value] = {
            name: value if other.registers.get(name) == value else _merged(address, name)
            for name, value in self.registers.items()
        }
        predicates: dict[str, Truth] = {}
        for name, truth in self.predicates.items():
            there = other.predicates.get(name, frozenset())
            predicates[name] = truth if truth == there else _unknown(truth, there)
        return State(registers, predicates)

    def truth(self, predicate: Predicate) -> Truth:
        """The value of a predicate operand, negation included."""
        value = True if predicate.is_true else self.predicates.get(predicate.name, frozenset())
        return negate(value) if predicate.negated else value

    def value(self, operand: Operand) -> Value | None:
        """The value of a source operand; None if it is no register or integer."""
        match operand:
            case Immediate(value=int() as number):
                return number & _MASK
            case Register(absolute=False):
                if operand.is_zero:
                    known: Value = 0
                else:
                    known = self.registers.get(operand.name, Symbol(-1, operand.name))
                if isinstance(known, int):
                    known = -known if operand.negated else known
                    return (~known if operand.inverted else known) & _MASK
                changed = operand.negated or operand.inverted
                return Symbol(-2, operand.name, known) if changed else known
            case _:
                return None


def _signed(value: int) -> int:
    return value - (1 << 32) if value >> 31 else value


def _half(value: object) -> int:
    return int.from_bytes(struct.pack("<e", value), "little")


def _table(index_bits: list[int], table: int) -> int:
    """LOP3's truth table applied to three 32-bit words."""
    a, b, c = index_bits
    result = 0
    for row in range(8):
        if table >> row & 1:
            term = _MASK
            for word, bit in ((a, 4), (b, 2), (c, 1)):
                term &= word if row & bit else ~word & _MASK
            result |= term
    return result


def _compare(instruction: Instruction, state: State) -> tuple[Truth, Truth] | None:
    """The two results of ISETP or UISETP, or None if it isn't of a modelled form."""
    modifiers, operands = instruction.modifiers, instruction.operands
    sources = operands[2:]
    if not {"EX", "U64", "S64", "64"}.isdisjoint(modifiers) or len(sources) < 2 or not modifiers:
        return None
    comparison = _COMPARE.get(modifiers[0])
    combine = next((_COMBINE[one] for one in modifiers if one in _COMBINE), both)
    a, b = (state.value(one) for one in sources[:2])
    if comparison is None:
        return None
    result: Truth
    if isinstance(a, int) and isinstance(b, int):
        signed = "U32" not in modifiers
        result = comparison(_signed(a) if signed else a, _signed(b) if signed else b)
    else:
        result = frozenset(one for one in (a, b) if isinstance(one, Symbol))
    third = sources[2] if len(sources) > 2 else None
    extra = state.truth(third) if isinstance(third, Predicate) else True
    return combine(result, extra), combine(negate(result), extra)


def _predicate_table(instruction: Instruction, state: State) -> tuple[Truth, Truth] | None:
    """The two results of PLOP3 or UPLOP3: truth tables over three predicates."""
    sources = [one for one in instruction.operands[2:] if isinstance(one, Predicate)]
    tables = [one for one in instruction.operands[2:] if isinstance(one, Immediate)]
    if len(sources) != 3 or not tables:
        return None
    truths = [state.truth(one) for one in sources]
    results: list[Truth] = []
    for table in tables:
        rows = {
            bool(int(table.value) >> row & 1)
            for row in range(8)
            if all(
                not isinstance(truth, bool) or truth is bool(row & bit)
                for truth, bit in zip(truths, (4, 2, 1), strict=True)
            )
        }
        results.append(rows.pop() if len(rows) == 1 else _unknown(*truths))
    return results[0], results[-1] if len(results) > 1 else _unknown(*truths)


def _sources(instruction: Instruction) -> list[Operand]:
    return [one for one in instruction.operands[1:] if not isinstance(one, Predicate)]


def _known(values: list[Value | None]) -> list[int] | None:
    """The values if all are known integers."""
    known = [one for one in values if isinstance(one, int)]
    return known if len(known) == len(values) else None


def _compute(instruction: Instruction, state: State) -> Value | None:
    """The 32-bit result of an integer instruction, or None if unknown or not modelled."""
    opcode, modifiers = instruction.opcode, instruction.modifiers
    sources = _sources(instruction)
    if opcode == "HFMA2" and len(sources) == 4:
        # A constant in disguise: -RZ * RZ + (high half, low half).
        high, low = sources[2:]
        if isinstance(high, Immediate) and isinstance(low, Immediate):
            return _half(high.value) << 16 | _half(low.value)
        return None
    values = [state.value(one) for one in sources]
    if opcode in ("MOV", "UMOV", "R2UR") and len(values) == 1:
        return values[0]
    if opcode in ("IMAD", "UIMAD") and len(values) == 3 and values[0] == 0 and values[1] == 0:
        return values[2]
    if opcode in ("SEL", "USEL") and len(values) == 2:
        choice = instruction.operands[-1]
        truth = state.truth(choice) if isinstance(choice, Predicate) else frozenset()
        return values[0 if truth else 1] if isinstance(truth, bool) else None
    known = _known(values)
    if known is None or not {"X", "64", "HI", "WIDE", "EX"}.isdisjoint(modifiers):
        return None
    if opcode in ("IADD3", "IADD", "VIADD", "UIADD3"):
        return sum(known) & _MASK
    if opcode in ("IMAD", "UIMAD") and len(known) == 3:
        return (known[0] * known[1] + known[2]) & _MASK
    if opcode in ("LOP3", "ULOP3") and len(known) == 4:
        return _table(known[:3], known[3])
    return None


def _root(instruction: Instruction, state: State) -> Symbol | None:
    """The one symbol that the result depends on, if all other sources are known integers."""
    values = [state.value(one) for one in _sources(instruction)]
    symbols = {one for one in values if isinstance(one, Symbol)}
    if len(symbols) != 1 or None in values:
        return None
    symbol = symbols.pop()
    return symbol if len(symbol.ancestry()) < _MOST_ANCESTORS else None


def _results(
    instruction: Instruction, access: Access, state: State
) -> tuple[dict[str, Value], dict[str, Truth]]:
    """What the instruction writes if it executes."""
    registers: dict[str, Value] = {}
    root = _root(instruction, state) if access.writes else None
    for name in access.writes:
        registers[name] = Symbol(instruction.address, name, root)
    written = [one for one in instruction.operands[:2] if isinstance(one, Predicate)]
    depends = frozenset(
        value for name in access.reads if isinstance(value := state.registers.get(name), Symbol)
    ) or frozenset({Symbol(instruction.address, "P")})
    predicates: dict[str, Truth] = dict.fromkeys(access.writes_predicates, depends)
    pair: tuple[Truth, Truth] | None = None
    if instruction.opcode in ("ISETP", "UISETP"):
        pair = _compare(instruction, state)
    elif instruction.opcode in ("PLOP3", "UPLOP3"):
        pair = _predicate_table(instruction, state)
    if pair is not None:
        for one, truth in zip(written, pair, strict=False):
            if one.name in predicates:
                predicates[one.name] = truth
    elif len(access.writes) == 1:
        value = _compute(instruction, state)
        if value is not None:
            registers[access.writes[0]] = value
    elif instruction.opcode == "CS2R" and any(
        isinstance(one, SpecialRegister) and one.name == "SRZ" for one in instruction.operands
    ):
        registers = dict.fromkeys(access.writes, 0)
    return registers, predicates


def step(instruction: Instruction, access: Access, state: State, assume: Mapping[int, int]) -> None:
    """Update `state` by one instruction.

    Args:
        instruction: what executes.
        access: its registers.
        state: changed in place.
        assume: values by address of the instruction whose (first) result they stand for.
    """
    if not access.writes and not access.writes_predicates:
        return
    guard: Truth = True if instruction.guard is None else state.truth(instruction.guard)
    if guard is False:
        return
    registers, predicates = _results(instruction, access, state)
    if instruction.address in assume and access.writes:
        registers[access.writes[0]] = assume[instruction.address]
    if guard is not True:
        for name, value in registers.items():
            if state.registers.get(name) != value:
                registers[name] = Symbol(instruction.address, name)
        for name, truth in predicates.items():
            if state.predicates.get(name) != truth:
                predicates[name] = _unknown(truth, guard)
    state.registers.update(registers)
    state.predicates.update(predicates)
