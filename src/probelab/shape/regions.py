"""What each instruction of a role's path is there for.

The path is a cycle: a value that an iteration doesn't write before reading it comes from the
iteration before. Registers are followed through moves, so that neither a MOV in a chain nor a
constant that is loaded in disguise hides where a value comes from.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from probelab.sass.flow import reads_clock
from probelab.sass.kernel import BRANCHES, Instruction
from probelab.sass.operands import Immediate, Register, SpecialRegister
from probelab.sass.registers import Access, access
from probelab.shape.paths import Path

Region: TypeAlias = Literal["body", "setup", "reduction", "dispatch", "loop_control", "other"]

#: Floating-point arithmetic that a probe may be about.
ARITHMETIC = frozenset(
    """FADD FMUL FFMA FADD32I FMUL32I FFMA32I FADD2 FMUL2 FFMA2 FMNMX DADD DMUL DFMA HADD2 HMUL2
    HFMA2 HADD2_32I HMUL2_32I HFMA2_32I MUFU FSWZADD""".split()
)
#: Loads of a constant: source setup, like a MOV.
_CONSTANT_LOADS = frozenset({"LDC", "LDCU", "ULDC"})
_SELECTION = frozenset({"BSSY", "BSYNC", "BREAK", "WARPSYNC", "YIELD", "BMOV"})
_INTEGER_ADDS = frozenset({"IADD3", "IADD", "VIADD", "IMAD", "UIADD3", "LEA", "UIMAD"})


def is_move(instruction: Instruction) -> bool:
    """Whether it only copies a value or loads a constant, whatever its mnemonic says."""
    opcode, operands = instruction.opcode, instruction.operands
    if opcode in ("MOV", "UMOV", "MOV32I", "R2UR") or opcode in _CONSTANT_LOADS:
        return True
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
    """Producers and consumers of values along one path."""

    def __init__(self, path: Path) -> None:
        self.instructions: list[Instruction] = [one.instruction for one in path.steps]
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

    def sources(self, index: int) -> dict[str, Source]:
        """Producer of each register and predicate that step `index` reads; invariants left out."""
        return self._sources[index]

    def origins(self, index: int) -> set[Source]:
        """Arithmetic whose results step `index` reads, directly or through moves."""
        found: set[Source] = set()
        seen: set[Source] = set()
        stack = list(self._sources[index].values())
        while stack:
            source = stack.pop()
            if source in seen:
                continue
            seen.add(source)
            instruction = self.instructions[source.step]
            if is_arithmetic(instruction):
                found.add(source)
            elif is_move(instruction):
                stack.extend(
                    Source(one.step, one.carried or source.carried)
                    for one in self._sources[source.step].values()
                )
        return found

    def slice(self, seeds: set[int]) -> set[int]:
        """Steps that `seeds` depend on, including them; arithmetic ends the search."""
        found: set[int] = set()
        stack = list(seeds)
        while stack:
            index = stack.pop()
            if index in found or is_arithmetic(self.instructions[index]):
                continue
            found.add(index)
            stack.extend(source.step for source in self._sources[index].values())
        return found


@dataclass(frozen=True, slots=True)
class Regions:
    """The dataflow of a path and the region of each of its steps."""

    flow: Dataflow
    regions: tuple[Region, ...]

    def steps(self, *wanted: Region) -> list[int]:
        """Indices of the steps in any of `wanted`."""
        return [index for index, region in enumerate(self.regions) if region in wanted]


def _control(path: Path, flow: Dataflow) -> set[int]:
    """Back-edge, exits, clock reads and what decides them."""
    seeds = {len(path.steps) - 1}
    for index, one in enumerate(path.steps):
        instruction = one.instruction
        if reads_clock(instruction) or instruction.opcode in ("EXIT", "CALL"):
            seeds.add(index)
        if instruction.opcode in BRANCHES:
            elsewhere = instruction.address + 16 if one.taken else instruction.target
            if elsewhere not in path.loop.body:
                seeds.add(index)
    return flow.slice(seeds)


def _counters(flow: Dataflow, taken: set[int]) -> set[int]:
    """Integer additions (and moves) that depend on nothing but themselves: the loop's counters."""
    found: set[int] = set()
    for index, instruction in enumerate(flow.instructions):
        if index in taken or instruction.opcode not in _INTEGER_ADDS or is_move(instruction):
            continue
        group = flow.slice({index}) - taken
        if all(
            flow.instructions[one].opcode in _INTEGER_ADDS or is_move(flow.instructions[one])
            for one in group
        ) and all(flow.consumers[one] <= group | taken for one in group):
            found |= group
    return found


def find_regions(path: Path) -> Regions:
    """The region of each step of `path`.

    * loop_control: clock read, comparison, branch back, exits, counter;
    * dispatch: other branches, what decides them, and instructions whose guard is false;
    * reduction: arithmetic that joins two values which the loop computes;
    * body: all other arithmetic;
    * setup: moves that feed arithmetic;
    * other: what is none of these.
    """
    flow = Dataflow(path)
    control = _control(path, flow)
    control |= _counters(flow, control)
    selecting = {
        index
        for index, instruction in enumerate(flow.instructions)
        if index not in control
        and (instruction.opcode in BRANCHES or instruction.opcode in _SELECTION)
    }
    dispatch = flow.slice(selecting) - control
    dispatch |= {index for index, one in enumerate(path.steps) if one.active is False} - control
    fixed = control | dispatch
    regions: list[Region] = ["other"] * len(path.steps)
    for index, instruction in enumerate(flow.instructions):
        if index in control:
            regions[index] = "loop_control"
        elif index in dispatch:
            regions[index] = "dispatch"
        elif is_arithmetic(instruction):
            joined = {one.step for one in flow.origins(index)}
            regions[index] = "reduction" if len(joined) > 1 else "body"
    arithmetic = {index for index, region in enumerate(regions) if region in ("body", "reduction")}
    for index, instruction in enumerate(flow.instructions):
        if index not in fixed and is_move(instruction) and _feeds(flow, index, arithmetic):
            regions[index] = "setup"
    return Regions(flow, tuple(regions))


def _feeds(flow: Dataflow, index: int, arithmetic: set[int]) -> bool:
    """Whether the move at `index` reaches arithmetic, directly or through other moves."""
    seen: set[int] = set()
    stack = [index]
    while stack:
        one = stack.pop()
        if one in seen:
            continue
        seen.add(one)
        if flow.consumers[one] & arithmetic:
            return True
        stack.extend(to for to in flow.consumers[one] if is_move(flow.instructions[to]))
    return False


def has_immediate(instruction: Instruction) -> bool:
    """Whether a source is a number in the instruction."""
    return any(isinstance(one, Immediate) for one in instruction.operands)
