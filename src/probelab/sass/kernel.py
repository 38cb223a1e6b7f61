"""A kernel as machine code: its instructions in order of address."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from probelab.sass.control import Control
from probelab.sass.operands import Immediate, Operand, Predicate

#: Bytes of one instruction from sm_70 on.
INSTRUCTION_BYTES = 16

#: Instructions whose last operand is an address that they may jump to.
BRANCHES = frozenset({"BRA", "JMP", "UBRA", "UJMP"})
#: Jumps whose target the text doesn't say.
INDIRECT = frozenset({"BRX", "JMX", "BRXU", "JMXU", "CALL", "RET", "KILL", "RTT", "BPT"})


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction.

    Attributes:
        address: byte offset in the kernel's text section.
        guard: predicate before the opcode (`@!P0`), or None.
        opcode: mnemonic without modifiers, for instance `ISETP`.
        modifiers: the rest of the mnemonic, for instance `("GE", "U32", "AND")`.
        operands: in the order of the text, destinations first.
        text: guard, mnemonic and operands as printed, without the closing semicolon.
        encoding: the 128 bits, first printed word in the low half.
        control: decoded control word.
    """

    address: int
    guard: Predicate | None
    opcode: str
    modifiers: tuple[str, ...]
    operands: tuple[Operand, ...]
    text: str
    encoding: int
    control: Control

    @property
    def mnemonic(self) -> str:
        """Opcode with modifiers, for instance `ISETP.GE.U32.AND`."""
        return ".".join((self.opcode, *self.modifiers))

    @property
    def target(self) -> int | None:
        """Address that a direct branch or call jumps to, else None."""
        if (self.opcode in BRANCHES or self.opcode == "CALL") and self.operands:
            last = self.operands[-1]
            if isinstance(last, Immediate) and isinstance(last.value, int):
                return last.value
        return None

    def __str__(self) -> str:
        return f"/*{self.address:04x}*/ {self.control.notation} {self.text} ;"


@dataclass(frozen=True, eq=False)
class Kernel:
    """One function of a listing. Kernels compare by identity.

    Attributes:
        name: symbol, mangled if the source's name is.
        arch: `sm_86`, as the listing's section header says; empty if it has none.
        instructions: in ascending order of address, 16 bytes apart.
    """

    name: str
    arch: str
    instructions: tuple[Instruction, ...]
    _index: dict[int, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        index = {one.address: place for place, one in enumerate(self.instructions)}
        object.__setattr__(self, "_index", index)

    def __iter__(self) -> Iterator[Instruction]:
        return iter(self.instructions)

    def __len__(self) -> int:
        return len(self.instructions)

    def index(self, address: int) -> int | None:
        """Place of the instruction at `address`, None if there is none."""
        return self._index.get(address)

    def at(self, address: int) -> Instruction | None:
        """The instruction at `address`, None if there is none."""
        place = self._index.get(address)
        return None if place is None else self.instructions[place]
