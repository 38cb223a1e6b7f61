"""What each instruction of a role's path is there for."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from probelab.sass.kernel import BRANCHES
from probelab.shape.control import Control, find_control
from probelab.shape.dataflow import INTEGER_ARITHMETIC, Dataflow, is_move
from probelab.shape.paths import Path

Region: TypeAlias = Literal["body", "setup", "reduction", "dispatch", "loop_control", "other"]

_SELECTION = frozenset({"BSSY", "BSYNC", "BREAK", "YIELD", "BMOV"})
#: What a selection consists of, beside moves.
_SELECTING = (
    BRANCHES
    | _SELECTION
    | frozenset(
        """ISETP UISETP PLOP3 UPLOP3 PSETP UPSETP LOP3 ULOP3 IADD3 IADD UIADD3 VIADD IMAD UIMAD
        PRMT UPRMT SHF USHF SGXT USGXT SEL USEL LDC LDCU ULDC R2P VOTE VOTEU""".split()
    )
)


@dataclass(frozen=True, slots=True)
class Regions:
    """The dataflow of a path, its loop control and the region of each of its steps."""

    flow: Dataflow
    control: Control
    regions: tuple[Region, ...]
    inactive: frozenset[int]

    def steps(self, *wanted: Region) -> list[int]:
        """Indices of the steps in any of `wanted`."""
        return [index for index, region in enumerate(self.regions) if region in wanted]

    def odd_dispatch(self) -> list[int]:
        """Indices of what a selection by compares and branches has no use for."""
        return [
            index
            for index in self.steps("dispatch")
            if index not in self.inactive
            and self.flow.instructions[index].opcode not in _SELECTING
            and not is_move(self.flow.instructions[index])
        ]


def find_regions(path: Path, opcode: str | None = None) -> Regions:
    """The region of each step of `path`, for a role whose body consists of `opcode` (None: any).

    * loop_control: clock read, comparison, branch back, exits, counter;
    * dispatch: other branches, what decides them, and instructions whose guard is false;
    * reduction: arithmetic that joins two values which the loop computes;
    * body: all other arithmetic;
    * setup: moves that feed arithmetic;
    * other: what is none of these.

    Integer instructions are arithmetic if `opcode` is one of them.
    """
    flow = Dataflow(path)
    found = find_control(path, flow)
    control = set(found.steps)
    selecting = {
        index
        for index, instruction in enumerate(flow.instructions)
        if index not in control
        and (instruction.opcode in BRANCHES or instruction.opcode in _SELECTION)
    }
    dispatch = flow.slice(selecting) - control
    inactive = frozenset(i for i, one in enumerate(path.steps) if one.active is False) - control
    dispatch |= inactive
    fixed = control | dispatch
    if opcode in INTEGER_ARITHMETIC:
        flow = flow.with_arithmetic(
            index
            for index, instruction in enumerate(flow.instructions)
            if index not in fixed
            and instruction.opcode in INTEGER_ARITHMETIC
            and not is_move(instruction)
        )
    regions: list[Region] = ["other"] * len(path.steps)
    for index in range(len(regions)):
        if index in control:
            regions[index] = "loop_control"
        elif index in dispatch:
            regions[index] = "dispatch"
        elif index in flow.arithmetic:
            joined = {one.step for one in flow.origins(index)}
            regions[index] = "reduction" if len(joined) > 1 else "body"
    arithmetic = {index for index, region in enumerate(regions) if region in ("body", "reduction")}
    for index, instruction in enumerate(flow.instructions):
        if index not in fixed and is_move(instruction) and _feeds(flow, index, arithmetic):
            regions[index] = "setup"
    return Regions(flow, found, tuple(regions), inactive)


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
