"""Control flow of a kernel: its loops, and which of them are timed."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from probelab.errors import DataError
from probelab.sass.kernel import BRANCHES, INDIRECT, Instruction, Kernel
from probelab.sass.operands import Predicate, SpecialRegister

#: Opcodes that may read a special register. Which of them reads the clock differs by architecture:
#: CS2R for clock64() up to sm_100, CS2UR on sm_120, S2UR and CS2R.32 for clock().
_CLOCK_OPCODES = frozenset({"CS2R", "CS2UR", "S2R", "S2UR"})
_CLOCKS = ("SR_CLOCKLO", "SR_CLOCKHI", "SR_CLOCK")


@dataclass(frozen=True, slots=True)
class Loop:
    """A natural loop.

    Attributes:
        head: address that its back-edges jump to.
        back_edges: addresses of the branches that do, ascending.
        body: addresses of all of its instructions.
        clock_reads: addresses of its clock reads, ascending.
    """

    head: int
    back_edges: tuple[int, ...]
    body: frozenset[int]
    clock_reads: tuple[int, ...]


def reads_clock(instruction: Instruction) -> bool:
    """Whether it reads the SM's clock (low or high word, into either register file)."""
    return instruction.opcode in _CLOCK_OPCODES and any(
        isinstance(one, SpecialRegister) and one.name in _CLOCKS for one in instruction.operands
    )


def condition(instruction: Instruction) -> tuple[Predicate, ...]:
    """Predicates that must all hold for a branch or exit to happen; PT is left out.

    From sm_100 on, a uniform predicate is an operand: `BRA.U !UP0, 0x120`.
    """
    guard = (instruction.guard,) if instruction.guard is not None else ()
    operands = (one for one in instruction.operands if isinstance(one, Predicate))
    return tuple(one for one in (*guard, *operands) if not (one.is_true and not one.negated))


def may_fall_through(instruction: Instruction) -> bool:
    """Whether the next instruction may follow it."""
    if instruction.opcode == "EXIT" or instruction.opcode in BRANCHES:
        # BRA.DIV and BRA.CONV branch only if the warp is diverged (converged).
        return bool(condition(instruction)) or not {"DIV", "CONV"}.isdisjoint(instruction.modifiers)
    if instruction.opcode == "CALL":
        return True
    return instruction.opcode not in INDIRECT or instruction.guard is not None


def successors(kernel: Kernel, place: int) -> list[int]:
    """Places of the instructions that may follow the one at `place`: fall-through, then target."""
    instruction = kernel.instructions[place]
    following: list[int] = []
    if may_fall_through(instruction) and place + 1 < len(kernel):
        following.append(place + 1)
    target = instruction.target
    if target is not None:
        index = kernel.index(target)
        if index is not None and index not in following:
            following.append(index)
    return following


@dataclass(frozen=True, slots=True)
class Blocks:
    """Basic blocks that can be reached from the entry, by the place of their first instruction."""

    last: dict[int, int]
    following: dict[int, tuple[int, ...]]
    preceding: dict[int, tuple[int, ...]]

    def places(self, block: int) -> range:
        """Places of the block's instructions."""
        return range(block, self.last[block] + 1)

    def containing(self, place: int) -> int | None:
        """The block that holds `place`, None if it can't be reached."""
        found = max((block for block in self.last if block <= place), default=None)
        return found if found is not None and place <= self.last[found] else None

    def reach(self, start: Iterable[int], backwards: bool = False) -> set[int]:
        """Blocks that can be reached from `start` (which can be reached), including it."""
        edges = self.preceding if backwards else self.following
        seen: set[int] = set()
        stack = list(start)
        while stack:
            block = stack.pop()
            if block not in seen:
                seen.add(block)
                stack.extend(edges[block])
        return seen


@lru_cache(maxsize=64)
def blocks(kernel: Kernel) -> Blocks:
    """The basic blocks of `kernel` that its entry reaches."""
    leaders = {0}
    ends: set[int] = set()
    for place, instruction in enumerate(kernel.instructions):
        following = successors(kernel, place)
        if following != [place + 1] or instruction.target is not None:
            ends.add(place)
            leaders.update(following)
            leaders.add(place + 1)
    last: dict[int, int] = {}
    following_of: dict[int, tuple[int, ...]] = {}
    preceding: dict[int, list[int]] = {}
    stack = [0]
    while stack:
        block = stack.pop()
        if block in last:
            continue
        place = block
        while place not in ends and place + 1 not in leaders and place + 1 < len(kernel):
            place += 1
        last[block] = place
        following_of[block] = tuple(successors(kernel, place))
        preceding.setdefault(block, [])
        for one in following_of[block]:
            preceding.setdefault(one, []).append(block)
            stack.append(one)
    return Blocks(last, following_of, {block: tuple(edges) for block, edges in preceding.items()})


def _retreating(graph: Blocks) -> list[tuple[int, int]]:
    """Edges that go back to a block on the depth-first path: the back-edges of compiled code."""
    edges: list[tuple[int, int]] = []
    state: dict[int, int] = {}
    stack: list[tuple[int, int]] = [(0, 0)]
    state[0] = 1
    while stack:
        block, step = stack[-1]
        following = graph.following[block]
        if step == len(following):
            state[block] = 2
            stack.pop()
            continue
        stack[-1] = (block, step + 1)
        to = following[step]
        if state.get(to) == 1:
            edges.append((block, to))
        elif to not in state:
            state[to] = 1
            stack.append((to, 0))
    return edges


@lru_cache(maxsize=64)
def loops(kernel: Kernel) -> tuple[Loop, ...]:
    """All loops that can be reached from the kernel's entry, by address of their head.

    The self-branch that ends every kernel, after EXIT, can't be reached and so isn't one.
    """
    graph = blocks(kernel)
    by_head: dict[int, list[int]] = {}
    for block, head in _retreating(graph):
        by_head.setdefault(head, []).append(block)
    found: list[Loop] = []
    for head, tails in sorted(by_head.items()):
        members = {head}
        stack = list(tails)
        while stack:
            block = stack.pop()
            if block not in members:
                members.add(block)
                stack.extend(graph.preceding[block])
        inside = [
            kernel.instructions[place] for block in sorted(members) for place in graph.places(block)
        ]
        found.append(
            Loop(
                head=kernel.instructions[head].address,
                back_edges=tuple(
                    sorted(kernel.instructions[graph.last[tail]].address for tail in tails)
                ),
                body=frozenset(one.address for one in inside),
                clock_reads=tuple(one.address for one in inside if reads_clock(one)),
            )
        )
    return tuple(found)


def timed_loops(kernel: Kernel) -> tuple[Loop, ...]:
    """Loops with a clock read, without those that only surround another such loop."""
    timed = [loop for loop in loops(kernel) if loop.clock_reads]
    return tuple(loop for loop in timed if not any(other.body < loop.body for other in timed))


def timed_loop(kernel: Kernel) -> Loop:
    """The only timed loop of `kernel`.

    Raises:
        DataError: if it has none, or several.
    """
    found = timed_loops(kernel)
    if len(found) == 1:
        return found[0]
    if not found:
        raise DataError("no timed loop: no loop has a clock read inside", where=kernel.name)
    heads = ", ".join(f"{loop.head:#06x}" for loop in found)
    raise DataError(f"{len(found)} timed loops, at {heads}", where=kernel.name)
