"""The loop's own control: the clock read, what compares it, the branches, the counter.

What it may consist of is listed here, so that no other work passes for control: any other way to
end a loop, and any integer work beside one counter, is a finding.
"""

from collections import Counter
from dataclasses import dataclass

from probelab.sass.flow import reads_clock
from probelab.sass.kernel import BRANCHES, Instruction
from probelab.sass.operands import Constant, Immediate, Register
from probelab.shape.dataflow import Dataflow, is_move
from probelab.shape.paths import Path

_ADDITIONS = frozenset({"IADD3", "IADD", "VIADD", "IMAD", "UIADD3", "LEA", "UIMAD", "ULEA"})
_COMPARISONS = frozenset({"ISETP", "UISETP", "PLOP3", "UPLOP3"})
_JUMPS = BRANCHES | {"EXIT", "CALL"}
#: The most that a decision needs: a difference of two 64-bit times is two additions; comparing it,
#: and a 64-bit counter with a bound, takes two comparisons each, and one that combines them.
_MOST = {"addition": 2, "comparison": 5, "move": 4}


@dataclass(frozen=True, slots=True)
class Control:
    """Loop control of one path.

    Attributes:
        steps: indices of all of it, the counter included.
        odd: those that have no business there.
        counter: indices of the additions that count the iterations: one, two for 64 bits in
            halves, none if nothing does.
        increment: what the counter goes up by, None if it isn't a number in the instruction.
        clocked: whether the clock that the loop reads decides its end.
    """

    steps: frozenset[int]
    odd: tuple[int, ...]
    counter: tuple[int, ...]
    increment: int | None
    clocked: bool


def _kind(instruction: Instruction) -> str:
    """What an instruction is in loop control; `other` if it has no business there."""
    if is_move(instruction):
        return "move"
    if instruction.opcode in _JUMPS:
        return "jump"
    if reads_clock(instruction):
        return "clock"
    if instruction.opcode in _COMPARISONS:
        return "comparison"
    return "addition" if _adds(instruction) else "other"


def _adds(instruction: Instruction) -> bool:
    """Whether it is an integer addition, under whatever mnemonic, and no multiplication."""
    opcode, operands = instruction.opcode, instruction.operands
    if opcode not in _ADDITIONS or opcode in ("LEA", "ULEA"):
        return False
    if opcode in ("IMAD", "UIMAD"):
        # IMAD.IADD R4, R5, 0x1, R6; IMAD.X R4, RZ, RZ, R5, P0
        factors = operands[1:3]
        return any(
            (isinstance(one, Immediate) and one.value == 1)
            or (isinstance(one, Register) and one.is_zero)
            for one in factors
        )
    return True


def _exits(path: Path) -> set[int]:
    """Jumps that end the loop or go round it."""
    found = {len(path.steps) - 1}
    for index, one in enumerate(path.steps):
        instruction = one.instruction
        if instruction.opcode in ("EXIT", "CALL"):
            found.add(index)
        if instruction.opcode in BRANCHES:
            elsewhere = instruction.address + 16 if one.taken else instruction.target
            if elsewhere not in path.loop.body:
                found.add(index)
    return found


def _is_counting(flow: Dataflow, index: int, low: int | None = None) -> bool:
    """Whether a step adds something that the loop doesn't change to what it left before.

    Args:
        low: the lower half, whose carry it may take.
    """
    instruction = flow.instructions[index]
    if instruction.opcode not in _ADDITIONS or is_move(instruction):
        return False
    made = flow.producers(index)
    allowed = {index} if low is None else {index, low}
    if not {one.step for one in made} <= allowed or index not in {
        one.step for one in made if one.carried
    }:
        return False
    if (low is not None) != any(one.step == low and not one.carried for one in made):
        return False
    own = [
        (place, one)
        for place, one in enumerate(instruction.operands)
        if place and isinstance(one, Register) and one.name in flow.sources(index)
    ]
    if len(own) != 1 or own[0][1].negated or own[0][1].inverted:
        return False
    # What is multiplied or shifted grows by no fixed step: IMAD R6, R5, 0x4, R6 adds to its last
    # source, LEA R6, R5, R6, 0x2 to its second.
    if instruction.opcode in ("IMAD", "UIMAD"):
        return own[0][0] == 3 or _adds(instruction)
    return instruction.opcode not in ("LEA", "ULEA") or own[0][0] == 2


def _increment(instruction: Instruction) -> int | None:
    if instruction.opcode in ("IADD3", "IADD", "VIADD", "UIADD3"):
        registers = [one for one in instruction.operands[1:] if isinstance(one, Register)]
        numbers = [one.value for one in instruction.operands if isinstance(one, Immediate)]
        others = any(isinstance(one, Constant) for one in instruction.operands)
        if sum(not one.is_zero for one in registers) == 1 and numbers and not others:
            total = sum(int(one) for one in numbers) & 0xFFFFFFFF
            return total - (1 << 32) if total >> 31 else total
    return None


def _counter(path: Path, flow: Dataflow, decision: set[int]) -> tuple[int, ...]:
    """The step, or two halves, that counts iterations; the one that adds 1 if there are several."""
    found: list[tuple[int, ...]] = []
    for low in range(len(flow.instructions)):
        if path.steps[low].active is not True or not _is_counting(flow, low):
            continue
        halves = [
            high
            for high in flow.users(low) - {low}
            if path.steps[high].active is True and _is_counting(flow, high, low)
        ]
        counter = (low, *halves)
        used = set().union(*(flow.users(one) for one in counter))
        if len(halves) < 2 and used <= {*counter, *decision}:
            found.append(counter)
    return min(found, key=lambda one: _increment(flow.instructions[one[0]]) != 1, default=())


def find_control(path: Path, flow: Dataflow) -> Control:
    """Loop control of `path`."""
    exits = flow.slice(_exits(path))
    clocks = {index for index, one in enumerate(flow.instructions) if reads_clock(one)}
    decision = flow.slice(exits | clocks)
    counter = _counter(path, flow, decision)
    kinds = {index: _kind(flow.instructions[index]) for index in decision}
    counts = Counter(kind for index, kind in kinds.items() if index not in counter)
    allowed = decision | set(counter)
    odd = [
        index
        for index, kind in sorted(kinds.items())
        if index not in counter
        and (
            kind == "other"
            or counts[kind] > _MOST.get(kind, counts[kind])
            or any(
                one.step not in allowed or (one.carried and one.step not in counter)
                for one in flow.producers(index)
            )
        )
    ]
    return Control(
        steps=frozenset(allowed | {move for one in counter for move in flow.moves_before(one)}),
        odd=tuple(odd),
        counter=counter,
        increment=_increment(flow.instructions[counter[0]]) if counter else None,
        clocked=bool(exits & clocks),
    )
