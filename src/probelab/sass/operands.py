"""Operands of a SASS instruction, from the text that cuobjdump and nvdisasm print."""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

#: Number under which RZ and URZ (which always read 0) are kept; no real register has it.
ZERO = 255
#: Number of PT and UPT, which always read true.
TRUE = 7


@dataclass(frozen=True, slots=True)
class Register:
    """A general (`R7`) or uniform (`UR7`) 32-bit register, or the first of a tuple.

    Attributes:
        suffixes: what follows the name but `.reuse`: `64`, `H0_H0`, `F32x2`, …
        inverted: bitwise complement (`~`); in a carry chain that makes a subtraction.
    """

    number: int
    uniform: bool = False
    negated: bool = False
    absolute: bool = False
    inverted: bool = False
    reuse: bool = False
    suffixes: tuple[str, ...] = ()

    @property
    def is_zero(self) -> bool:
        """Whether it is RZ or URZ."""
        return self.number == ZERO

    @property
    def name(self) -> str:
        """`R7`, `UR7`, `RZ`, `URZ`."""
        return ("UR" if self.uniform else "R") + ("Z" if self.is_zero else str(self.number))


@dataclass(frozen=True, slots=True)
class Predicate:
    """A predicate (`P0`, `!PT`) or uniform predicate (`UP0`)."""

    number: int
    uniform: bool = False
    negated: bool = False

    @property
    def is_true(self) -> bool:
        """Whether it is PT or UPT (apart from a negation)."""
        return self.number == TRUE

    @property
    def name(self) -> str:
        """`P0`, `UP0`, `PT`, `UPT`, without the negation."""
        return ("UP" if self.uniform else "P") + ("T" if self.is_true else str(self.number))


@dataclass(frozen=True, slots=True)
class Immediate:
    """A number in the instruction: an int when printed in hex, else a float."""

    value: int | float
    text: str


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant-memory operand: `c[0x0][0x160]`, `c[0x3][R4+0x8]`, `cx[UR4][0x10]`."""

    bank: int | Register
    offset: int
    index: tuple[Register, ...] = ()
    negated: bool = False
    absolute: bool = False


@dataclass(frozen=True, slots=True)
class Memory:
    """An address: `[R2.64+0x8]`, `desc[UR6][R8.64]`, `[R4.X8+UR5]`, `a[0x10]`.

    Attributes:
        space: name before the bracket (`a`, `gdesc`, …), empty for a plain address.
        registers: registers added up in the address, in the order of the text.
        descriptor: uniform register (pair) of the memory descriptor.
    """

    registers: tuple[Register, ...]
    offset: int = 0
    descriptor: Register | None = None
    space: str = ""


@dataclass(frozen=True, slots=True)
class SpecialRegister:
    """A register outside of the register file: `SR_CLOCKLO`, `SRZ`, `SR_TID.X`, `PR`."""

    name: str


@dataclass(frozen=True, slots=True)
class Scoreboard:
    """Scoreboards named by DEPBAR: `SB0`, `{4,3}`."""

    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Barrier:
    """A convergence barrier (`B0`), as in BSSY and BSYNC."""

    number: int


@dataclass(frozen=True, slots=True)
class Label:
    """A symbolic address: `` `(.L_x_3) ``."""

    name: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """Text that is none of the other kinds."""

    text: str


Operand: TypeAlias = (
    Register
    | Predicate
    | Immediate
    | Constant
    | Memory
    | SpecialRegister
    | Scoreboard
    | Barrier
    | Label
    | Unknown
)

_REGISTER = re.compile(
    r"([-!~]*)(\|?)(?:(U?)(?:R(\d+|Z)|P([0-6]|T)))((?:\.\w+)*)(\|?)((?:\.\w+)*)", re.ASCII
)
_CONSTANT = re.compile(r"([-~!]*)(\|?)cx?\[([^\]]+)\]\[([^\]]+)\](\|?)(?:\.\w+)*", re.ASCII)
_MEMORY = re.compile(r"(?:([a-z]+)(?:\[([^\]]*)\])?)??([a-z]*)\[([^\]]*)\](?:\.\w+)*", re.ASCII)
_HEX = re.compile(r"[-+]?0x[0-9a-f]+", re.ASCII)
_NOT_FINITE = re.compile(r"([-+]?)(INF|QNAN|SNAN|NAN)", re.ASCII)
_SCOREBOARD = re.compile(r"SB([0-5])|\{\s*([0-5](?:\s*,\s*[0-5])*)\s*\}", re.ASCII)
_LABEL = re.compile(r"`?\(([^()]*(?:\([^()]*\)[^()]*)*)\)", re.ASCII)
# Commas outside of braces; `RET.REL.NODEC R16 0x0` and `BRX R2 -0x40` have a space instead.
_SPLIT = re.compile(r"\s*,\s*(?![^{]*\})|(?<=\w)\s+(?=[-`]?[0(])")
# nvdisasm appends the targets of an indirect branch.
_COMMENT = re.compile(r"\s*\(\*.*?\*\)")


def _register(text: str) -> Register | Predicate | None:
    """A register or predicate, or None if `text` is neither."""
    match = _REGISTER.fullmatch(text)
    if match is None:
        return None
    signs, bar, uniform, number, predicate, before, closing, after = match.groups()
    if bool(bar) != bool(closing):
        return None
    if predicate is not None:
        return Predicate(TRUE if predicate == "T" else int(predicate), bool(uniform), "!" in signs)
    suffixes = tuple(part for part in (before + after).split(".") if part)
    index = ZERO if number == "Z" else int(number)
    return Register(
        number=index,
        uniform=bool(uniform),
        negated="-" in signs,
        absolute=bool(bar),
        inverted="~" in signs or "!" in signs,
        reuse="reuse" in suffixes,
        suffixes=tuple(part for part in suffixes if part != "reuse"),
    )


def _sum(text: str) -> tuple[tuple[Register, ...], int] | None:
    """Registers and offset of `R2.64+UR4+-0x8`, or None if a term is neither."""
    registers: list[Register] = []
    offset = 0
    for term in filter(None, text.replace(" ", "").split("+")):
        if _HEX.fullmatch(term):
            offset += int(term, 16)
            continue
        register = _register(term)
        if not isinstance(register, Register):
            return None
        registers.append(register)
    return tuple(registers), offset


def _constant(text: str) -> Constant | None:
    """A constant-memory operand, or None."""
    match = _CONSTANT.fullmatch(text)
    if match is None:
        return None
    signs, bar, bank_text, inner, _ = match.groups()
    bank = int(bank_text, 16) if _HEX.fullmatch(bank_text) else _register(bank_text)
    terms = _sum(inner)
    if bank is None or isinstance(bank, Predicate) or terms is None:
        return None
    return Constant(bank, terms[1], terms[0], "-" in signs, bool(bar))


def _memory(text: str) -> Memory | None:
    """An address, or None."""
    match = _MEMORY.fullmatch(text)
    if match is None:
        return None
    outer, descriptor_text, space, inner = match.groups()
    terms = _sum(inner)
    if terms is None or "c" in (outer, space):
        return None
    descriptor = None if descriptor_text is None else _register(descriptor_text)
    if isinstance(descriptor, Predicate) or (descriptor is None and descriptor_text is not None):
        return None
    return Memory(terms[0], terms[1], descriptor, outer or space)


def _number(text: str) -> Immediate | None:
    """A number, or None. `1` is a float and `0x1` an int, as the disassemblers print them."""
    if _HEX.fullmatch(text):
        return Immediate(int(text, 16), text)
    special = _NOT_FINITE.fullmatch(text)
    if special is not None:
        sign, kind = special.groups()
        value = float("inf" if kind == "INF" else "nan")
        return Immediate(-value if sign == "-" else value, text)
    try:
        return Immediate(float(text), text)
    except ValueError:
        return None


def _named(text: str) -> Operand | None:
    """A special register, scoreboard, convergence barrier or label, or None."""
    if text.startswith("SR") or text == "PR":
        return SpecialRegister(text)
    scoreboard = _SCOREBOARD.fullmatch(text)
    if scoreboard is not None:
        one, several = scoreboard.groups()
        return Scoreboard(tuple(int(part) for part in (one or several).split(",")))
    if text[0] == "B" and text[1:].isdecimal():
        return Barrier(int(text[1:]))
    label = _LABEL.fullmatch(text)
    return Label(label.group(1)) if label is not None else None


@lru_cache(maxsize=16384)
def parse_operand(text: str) -> Operand:
    """The operand that `text` stands for; `Unknown` if it is of no known kind."""
    text = text.strip()
    if not text:
        return Unknown(text)
    if "[" in text:
        return _constant(text) or _memory(text) or Unknown(text)
    return _register(text) or _number(text) or _named(text) or Unknown(text)


@lru_cache(maxsize=16384)
def parse_operands(text: str) -> tuple[Operand, ...]:
    """The operands of an instruction, from the text after its mnemonic."""
    text = _COMMENT.sub("", text).strip()
    return tuple(parse_operand(part) for part in _SPLIT.split(text)) if text else ()
