"""Where the values along a path come from, and where they go.

The path is a cycle: a value that an iteration doesn't write before reading it comes from the
iteration before. Registers are followed through moves, so that neither a MOV in a chain nor a
constant that is loaded in disguise hides where a value comes from.
"""

import copy
from collections.abc import Iterable
from dataclasses import dataclass

from probelab.sass.kernel import Instruction
from probelab.sass.operands import Constant, Immediate, Register, SpecialRegister
from probelab.sass.registers import Access, access
from probelab.shape.paths import Path

#: Floating-point arithmetic that a probe may be about.
ARITHMETIC = frozenset(
    """FADD FMUL FFMA FADD32I FMUL32I FFMA32I FADD2 FMUL2 FFMA2 FMNMX DADD DMUL DFMA HADD2 HMUL2
    HFMA2 HADD2_32I HMUL2_32I HFMA2_32I MUFU FSWZADD""".split()
)
#: Integer arithmetic that a probe may be about. Every loop has some of its own, so it counts as
#: arithmetic only where a role intends it, and where neither loop control nor selection needs it.
INTEGER_ARITHMETIC = frozenset("IADD3 IADD VIADD IMAD LOP3 LEA SHF SHL SHR IMNMX VIMNMX".split())
#: Loads of a constant: source setup, like a MOV.
_CONSTANT_LOADS = frozenset({"LDC", "LDCU", "ULDC"})


def is_move(instruction: Instruction) -> bool:
    """Whether it only copies a value or loads a constant, whatever its mnemonic says."""
    opcode, operands = instruction.opcode, instruction.operands
    if opcode in ("MOV", "UMOV", "MOV32I", "R2UR"):
        return True
    if opcode in _CONSTANT_LOADS:
        # From an address that a register makes, it is a load like any other.
        return not any(isinstance(one, Constant) and one.index for one in operands)
    zeros = [isinstance(one, Register) and one.is_zero for one in operands]
    if opcode in ("IMAD", "UIMAD"):
        # IMAD.MOV.U32 R4, RZ, RZ, R5
        return len(operands) == 4 and (zeros[1] or zeros[2])
    if opcode == "HFMA2":
        # HFMA2.MMA R4, -RZ, RZ, 0, 1.875: two halves of one constant
        return len(operands) == 5 and zeros[1] and zeros[2]
    if opcode == "FADD":
        # FADD R4, -RZ, R5
        return len(operands) == 3 and (zeros[1] or zeros[2])
    if opcode in ("CS2R", "CS2UR"):
        return any(isinstance(one, SpecialRegister) and one.name == "SRZ" for one in operands)
    return False


def is_arithmetic(instruction: Instruction) -> bool:
    """Whether it computes a floating-point value."""
    return instruction.opcode in ARITHMETIC and not is_move(instruction)


@dataclass(frozen=True, slots=True)
class Source:
    """Where a value that an instruction reads was made.

    Attributes:
        step: index of the producer on the path.
        carried: whether it is made in the iteration before.
    """

    step: int
    carried: bool


class Dataflow:
    """Producers and consumers of values along one path.

    Attributes:
        instructions: of the path, in order.
        accesses: their registers.
        arithmetic: indices of those that compute what a probe may be about.
        consumers: for each, the indices of those that read its result.
    """

    def __init__(self, path: Path) -> None:
        self.instructions: list[Instruction] = [one.instruction for one in path.steps]
        self.arithmetic = frozenset(
            index for index, one in enumerate(self.instructions) if is_arithmetic(one)
        )
        self.accesses: list[Access] = [access(one) for one in self.instructions]
        last: dict[str, int] = {}
        for index, made in enumerate(self.accesses):
            if path.steps[index].active is not False:
                last.update(dict.fromkeys((*made.writes, *made.writes_predicates), index))
        self._sources: list[dict[str, Source]] = []
        current: dict[str, int] = {}
        for index, made in enumerate(self.accesses):
            sources: dict[str, Source] = {}
            for name in (*made.reads, *made.reads_predicates):
                if name in current:
                    sources[name] = Source(current[name], carried=False)
                elif name in last:
                    sources[name] = Source(last[name], carried=True)
            self._sources.append(sources)
            if path.steps[index].active is not False:
                current.update(dict.fromkeys((*made.writes, *made.writes_predicates), index))
        self.consumers: list[set[int]] = [set() for _ in self.instructions]
        for index, sources in enumerate(self._sources):
            for source in sources.values():
                self.consumers[source.step].add(index)

    def with_arithmetic(self, more: Iterable[int]) -> "Dataflow":
        """The same path, where the instructions at `more` are arithmetic too."""
        other = copy.copy(self)
        other.arithmetic = self.arithmetic.union(more)
        return other

    def sources(self, index: int) -> dict[str, Source]:
        """Producer of each register and predicate that step `index` reads; invariants left out."""
        return self._sources[index]

    def origins(self, index: int) -> set[Source]:
        """Arithmetic whose results step `index` reads, directly or through moves."""
        return {one for one in self.producers(index) if one.step in self.arithmetic}

    def producers(self, index: int) -> set[Source]:
        """What makes the values that step `index` reads, seen through moves.

        Moves themselves are left out, and so are values that the loop doesn't change.
        """
        return {source for source in self._through_moves(index) if not self._is_move(source)}

    def moves_before(self, index: int) -> set[int]:
        """Moves through which step `index` gets its values."""
        return {source.step for source in self._through_moves(index) if self._is_move(source)}

    def users(self, index: int) -> set[int]:
        """Steps that use the result of step `index`, directly or through moves, without those."""
        found: set[int] = set()
        seen: set[int] = set()
        stack = [index]
        while stack:
            for consumer in self.consumers[stack.pop()] - seen:
                seen.add(consumer)
                if is_move(self.instructions[consumer]):
                    stack.append(consumer)
                else:
                    found.add(consumer)
        return found

    def _is_move(self, source: Source) -> bool:
        return is_move(self.instructions[source.step])

    def _through_moves(self, index: int) -> set[Source]:
        seen: set[Source] = set()
        stack = list(self._sources[index].values())
        while stack:
            source = stack.pop()
            if source in seen:
                continue
            seen.add(source)
            if self._is_move(source):
                stack.extend(
                    Source(one.step, one.carried or source.carried)
                    for one in self._sources[source.step].values()
                )
        return seen

    def slice(self, seeds: set[int]) -> set[int]:
        """Steps that `seeds` depend on, including them; arithmetic ends the search."""
        found: set[int] = set()
        stack = list(seeds)
        while stack:
            index = stack.pop()
            if index in found or index in self.arithmetic:
                continue
            found.add(index)
            stack.extend(source.step for source in self._sources[index].values())
        return found


def has_immediate(instruction: Instruction) -> bool:
    """Whether a source is a number in the instruction."""
    return any(isinstance(one, Immediate) for one in instruction.operands)
