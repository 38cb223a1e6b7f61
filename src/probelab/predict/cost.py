"""What one iteration of a path costs a warp that has its sub-core for itself.

The rule: each instruction holds back the next one by its stall field; a taken branch by the time of
the redirect instead, whatever its field says; BSYNC by the time of the reconvergence. After a
redirect the following line of instructions comes late. Register reads and pipes aren't modelled:
the compiler's stall fields cover them but for a few cycles where many operands of successive
instructions share a register bank. Neither is the one cycle more that a BSYNC in the last place of
a line takes right behind a branch.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from probelab.predict.constants import Constants
from probelab.sass.kernel import INSTRUCTION_BYTES, Instruction, Kernel
from probelab.sass.operands import Scoreboard
from probelab.schema.manifests import PathStep

#: Terms in the order in which they are reported.
TERMS = (
    "body",
    "reduction",
    "dispatch",
    "loop_control",
    "other",
    "branch_redirect",
    "loop_head",
    "instruction_cache",
)
_TERM_OF_REGION = {"setup": "body"}


class NotPredictedError(Exception):
    """Why an iteration's cost isn't known, in one line."""


@dataclass
class Cost:
    """Cycles per iteration by cause; they add up to the total."""

    terms: dict[str, float] = field(default_factory=dict)
    forward_branches: int = 0
    reconvergences: int = 0

    def add(self, term: str, cycles: float) -> None:
        """Count `cycles` under `term`."""
        self.terms[term] = self.terms.get(term, 0) + cycles

    @property
    def total(self) -> float:
        """Cycles per iteration."""
        return sum(self.terms.values())


def _instructions(kernel: Kernel, path: Sequence[PathStep]) -> list[Instruction]:
    """The instructions of a path.

    Raises:
        NotPredictedError: if the path isn't one of `kernel`.
    """
    found = [kernel.at(step.address) for step in path]
    instructions = [one for one in found if one is not None]
    if len(instructions) != len(found) or not found:
        raise NotPredictedError("the path isn't one of this kernel")
    return instructions


def _waits(instruction: Instruction) -> set[int]:
    """Scoreboards that it waits for, DEPBAR's operand included."""
    waits = set(instruction.control.waits)
    if instruction.opcode == "DEPBAR":
        for operand in instruction.operands:
            if isinstance(operand, Scoreboard):
                waits.update(operand.numbers)
    return waits


def _refuse_unknown_latency(instructions: Sequence[Instruction]) -> None:
    """Raise where the stall fields are no more than a lower bound."""
    setters: dict[int, Instruction] = {}
    for one in instructions:
        for scoreboard in (one.control.write_scoreboard, one.control.read_scoreboard):
            if scoreboard is not None:
                setters.setdefault(scoreboard, one)
    for one in instructions:
        for scoreboard in sorted(_waits(one)):
            if scoreboard in setters:
                by = setters[scoreboard]
                raise NotPredictedError(
                    f"{one.opcode} at {one.address:#06x} waits for {by.mnemonic} at "
                    f"{by.address:#06x}, whose latency isn't fixed"
                )
        if one.control.stall == 0:
            raise NotPredictedError(
                f"{one.opcode} at {one.address:#06x} has stall 0: it waits for an empty pipeline"
            )


def _hold(instruction: Instruction, constants: Constants) -> int:
    """Cycles until the next instruction may issue, if this isn't a taken branch."""
    if instruction.opcode == "BSYNC":
        return max(instruction.control.stall, constants.reconvergence_cycles)
    return instruction.control.stall


def _late_line(
    instructions: Sequence[Instruction],
    path: Sequence[PathStep],
    target: int,
    constants: Constants,
) -> int:
    """Cycles that the path waits for the line behind the one that a branch went to.

    Args:
        instructions: of the path.
        path: the path.
        target: index of the branch's target on the path.
        constants: of the architecture.
    """
    line = instructions[target].address // constants.fetch_line_bytes
    covered = 0
    index = target
    while covered < constants.next_line_cycles:
        if path[index].taken:
            return 0
        covered += _hold(instructions[index], constants)
        index = (index + 1) % len(path)
        if instructions[index].address // constants.fetch_line_bytes != line:
            return max(0, constants.next_line_cycles - covered)
    return 0


def iteration_cost(kernel: Kernel, path: Sequence[PathStep], constants: Constants) -> Cost:
    """Cycles of one iteration of `path`, by cause.

    Raises:
        NotPredictedError: if an instruction of the loop waits for another one of unknown latency,
            or the loop is longer than the instruction cache holds.
    """
    instructions = _instructions(kernel, path)
    _refuse_unknown_latency(instructions)
    cost = Cost()
    last = len(path) - 1
    for index, (step, instruction) in enumerate(zip(path, instructions, strict=True)):
        if step.taken:
            cost.add("branch_redirect", constants.taken_branch_cycles)
            late = _late_line(instructions, path, (index + 1) % len(path), constants)
            cost.add("loop_head" if index == last else "branch_redirect", late)
            cost.forward_branches += index != last
        else:
            hold = _hold(instruction, constants)
            cost.add(_TERM_OF_REGION.get(step.region, step.region), hold)
            cost.reconvergences += instruction.opcode == "BSYNC"
    lines = {one.address // constants.fetch_line_bytes for one in instructions}
    per_line = constants.fetch_line_bytes // INSTRUCTION_BYTES
    # A path that leaves lines unused still brings them into the cache.
    length = max(len(path), (len(lines) - 1) * per_line)
    if length > constants.longest_loop_instructions:
        raise NotPredictedError(
            f"the loop has {len(path)} instructions: beyond about "
            f"{constants.longest_loop_instructions}, instruction-cache misses aren't modelled"
        )
    if length > constants.first_cache_instructions:
        cost.add("instruction_cache", constants.first_cache_miss_cycles)
    cost.terms = {term: cost.terms[term] for term in TERMS if cost.terms.get(term)}
    return cost
