"""The instructions that a warp of a given role executes in one iteration of the timed loop.

All lanes of a warp have the same role, so a warp never diverges in the loop. Branches are followed
by evaluating their predicates; where one depends on something unknown, both ways are tried, and a
role's path counts only if a single way round the loop remains.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from probelab.sass.flow import Loop, blocks, condition, may_fall_through, timed_loops
from probelab.sass.kernel import BRANCHES, INDIRECT, Instruction, Kernel
from probelab.sass.operands import Barrier, Immediate, Label
from probelab.sass.registers import Access, access
from probelab.shape.values import State, Symbol, Truth, both, step

#: Ways that are tried before giving up.
_MOST_WAYS = 256
#: Iterations after which the values at the loop's head must have settled.
_MOST_ROUNDS = 8


class CannotFollowError(Exception):
    """Why a path can't be followed, in one line."""


class WrongStructureError(CannotFollowError):
    """The kernel has no timed loop where one should be, or a loop too many."""


@dataclass(frozen=True, slots=True)
class Step:
    """One instruction of a path.

    Attributes:
        taken: whether it is a branch that leads elsewhere than to the next instruction.
        active: False if its guard is known to be false, so that it issues without effect; None if
            that isn't known.
    """

    instruction: Instruction
    taken: bool = False
    active: bool | None = True


@dataclass(frozen=True, slots=True)
class Path:
    """One iteration of `loop`, from its head to the back-edge, in order of execution."""

    loop: Loop
    steps: tuple[Step, ...]


@dataclass(slots=True)
class _Way:
    """A path while it is walked."""

    place: int
    state: State
    steps: list[Step] = field(default_factory=list)
    visited: set[int] = field(default_factory=set)
    barriers: dict[int, int] = field(default_factory=dict)

    def fork(self, place: int, step_: Step) -> "_Way":
        return _Way(
            place,
            self.state.copy(),
            [*self.steps, step_],
            set(self.visited),
            dict(self.barriers),
        )


@dataclass(frozen=True, slots=True)
class _Fork:
    """A branch whose direction isn't known."""

    address: int
    symbols: frozenset[Symbol]


class _Walker:
    """Walks one kernel. `assume` holds values by address of the instruction that makes them."""

    def __init__(self, kernel: Kernel, *, evaluate: bool) -> None:
        self.kernel = kernel
        self.evaluate = evaluate
        self.accesses: list[Access] = [access(one) for one in kernel] if evaluate else []

    def _condition(self, instruction: Instruction, state: State) -> Truth:
        truth: Truth = True
        for predicate in condition(instruction):
            truth = both(truth, state.truth(predicate))
        return truth

    def _jump(self, way: _Way, instruction: Instruction) -> int | None:
        """Place that a branch or BSYNC leads to, None if it only falls through."""
        if instruction.opcode == "BSYNC":
            barrier = next((o.number for o in instruction.operands if isinstance(o, Barrier)), -1)
            target = way.barriers.get(barrier)
            # Reconvergence of a warp that isn't diverged goes on at the address BSSY has set.
            if target is None or target == way.place + 1:
                return None
            return target
        if any(isinstance(one, Label) for one in instruction.operands):
            raise CannotFollowError(f"the branch at {instruction.address:#06x} goes to a label")
        target_address = instruction.target
        place = None if target_address is None else self.kernel.index(target_address)
        if place is None:
            raise CannotFollowError(f"the branch at {instruction.address:#06x} leaves the kernel")
        return place

    def _is_exit(self, instruction: Instruction) -> bool:
        """Whether a conditional CALL is a far jump: ptxas for sm_86 leaves long loops by one.

        It is if what it calls never returns.
        """
        place = None if instruction.target is None else self.kernel.index(instruction.target)
        graph = blocks(self.kernel)
        if place is None or place not in graph.last or not condition(instruction):
            return False
        return not any(
            self.kernel.instructions[graph.last[block]].opcode == "RET"
            for block in graph.reach([place])
        )

    def _advance(
        self, way: _Way, assume: Mapping[int, int]
    ) -> list[tuple[int | None, Step, frozenset[Symbol] | None]]:
        """Directions from the way's instruction: place (None: exit), step, what decides it."""
        instruction = self.kernel.instructions[way.place]
        opcode = instruction.opcode
        following = way.place + 1
        if opcode == "CALL" and self._is_exit(instruction):
            return [
                (following, Step(instruction), None),
                (self._jump(way, instruction), Step(instruction, taken=True), None),
            ]
        if opcode in INDIRECT:
            raise CannotFollowError(
                f"{instruction.mnemonic} at {instruction.address:#06x} can't be followed"
            )
        if opcode == "BSSY":
            numbers = [one.number for one in instruction.operands if isinstance(one, Barrier)]
            last = instruction.operands[-1]
            if numbers and isinstance(last, Immediate) and isinstance(last.value, int):
                place = self.kernel.index(last.value)
                if place is not None:
                    way.barriers[numbers[0]] = place
        if opcode in BRANCHES or opcode in ("EXIT", "BSYNC"):
            target = None if opcode == "EXIT" else self._jump(way, instruction)
            if opcode == "BSYNC" and target is None:
                return [(following, Step(instruction), None)]
            # A warp that isn't diverged passes BRA.DIV and takes BRA.CONV.
            truth = (
                False if "DIV" in instruction.modifiers else self._condition(instruction, way.state)
            )
            gone, stays = Step(instruction, taken=True), Step(instruction)
            if truth is True:
                return [(target, gone, None)]
            if truth is False:
                return [(following, stays, None)]
            if not may_fall_through(instruction):
                return [(target, gone, None)]
            return [(following, stays, truth), (target, gone, truth)]
        active: bool | None = True
        if instruction.guard is not None:
            known = way.state.truth(instruction.guard)
            active = known if isinstance(known, bool) else None
        if self.evaluate:
            step(instruction, self.accesses[way.place], way.state, assume)
        return [(following, Step(instruction, active=active), None)]

    def walk(
        self,
        start: int,
        state: State,
        stops: frozenset[int],
        allowed: frozenset[int],
        assume: Mapping[int, int],
    ) -> tuple[list[_Way], list[_Fork]]:
        """All ways from `start` to one of `stops` (places) within `allowed` (places).

        Ways that leave `allowed` are dropped. The forks are those where more than one direction
        stays allowed.

        Raises:
            CannotFollowError: for an indirect jump, a loop within, or too many ways.
        """
        done: list[_Way] = []
        forks: list[_Fork] = []
        stack = [_Way(start, state)]
        ways = 1
        while stack:
            way = stack.pop()
            if way.place in way.visited:
                address = self.kernel.instructions[way.place].address
                raise WrongStructureError(f"another loop, at {address:#06x}, lies on the path")
            way.visited.add(way.place)
            directions = [
                one
                for one in self._advance(way, assume)
                if one[0] is not None and (one[0] in stops or one[0] in allowed)
            ]
            if len(directions) > 1:
                ways += 1
                if ways > _MOST_WAYS:
                    raise CannotFollowError(f"more than {_MOST_WAYS} ways through the kernel")
                address = self.kernel.instructions[way.place].address
                forks.append(_Fork(address, directions[0][2] or frozenset()))
            for number, (place, made, _) in enumerate(directions):
                assert place is not None
                onward = way.fork(place, made) if number + 1 < len(directions) else way
                if onward is way:
                    way.steps.append(made)
                    way.place = place
                (done if place in stops else stack).append(onward)
        return done, forks


def _common_ancestor(symbols: list[Symbol]) -> Symbol | None:
    """The nearest value that all of them are computed from."""
    for candidate in symbols[0].ancestry():
        if all(candidate in one.ancestry() for one in symbols[1:]):
            return candidate
    return None


def _selector(forks: list[_Fork]) -> Symbol:
    """The value that decides all of `forks`.

    Raises:
        CannotFollowError: if there is none, or it isn't one value.
    """
    symbols = list(
        dict.fromkeys(
            symbol
            for fork in forks
            for symbol in sorted(fork.symbols, key=lambda one: (one.address, one.register))
        )
    )
    if not symbols or any(not fork.symbols for fork in forks):
        raise CannotFollowError(
            f"the branch at {forks[0].address:#06x} depends on something that isn't the role"
        )
    found = _common_ancestor(symbols)
    places = ", ".join(f"{fork.address:#06x}" for fork in forks[:3])
    if found is None:
        raise CannotFollowError(f"the branches at {places} depend on more than one value")
    if found.address < 0:
        raise CannotFollowError(f"the branches at {places} depend on a value of unknown origin")
    return found


class RolePaths:
    """Finds the path of each role of one kernel."""

    def __init__(self, kernel: Kernel, *, evaluate: bool) -> None:
        self._kernel = kernel
        self._walker = _Walker(kernel, evaluate=evaluate)
        self._loops = {self._place(loop.head): loop for loop in timed_loops(kernel)}
        graph = blocks(kernel)
        heads = [block for block in self._loops if block in graph.last]
        self._towards = frozenset(
            place for block in graph.reach(heads, backwards=True) for place in graph.places(block)
        )

    def _place(self, address: int) -> int:
        place = self._kernel.index(address)
        assert place is not None, "loops consist of instructions of the kernel"
        return place

    def only_loop(self) -> Loop:
        """The only timed loop.

        Raises:
            CannotFollowError: if there is none, or several.
        """
        if not self._loops:
            raise WrongStructureError("no timed loop: no loop has a clock read inside")
        if len(self._loops) > 1:
            heads = ", ".join(f"{loop.head:#06x}" for loop in self._loops.values())
            raise WrongStructureError(f"expected one timed loop, found {len(self._loops)}: {heads}")
        return next(iter(self._loops.values()))

    def _arrive(self, assume: Mapping[int, int]) -> tuple[dict[int, State], list[_Fork]]:
        """States at each timed loop's head that can be reached from the entry, and the forks."""
        stops = frozenset(self._loops)
        ways, forks = self._walker.walk(0, State(), stops, self._towards, assume)
        states: dict[int, State] = {}
        for way in ways:
            address = self._kernel.instructions[way.place].address
            known = states.get(way.place)
            states[way.place] = way.state if known is None else known.merge(way.state, address)
        return states, forks

    def _round(
        self, loop: Loop, state: State, assume: Mapping[int, int]
    ) -> tuple[list[_Way], list[_Fork]]:
        """Ways round `loop` once the values at its head have settled."""
        head = self._place(loop.head)
        allowed = frozenset(self._place(address) for address in loop.body) - {head}
        for _ in range(_MOST_ROUNDS):
            ways, forks = self._walker.walk(head, state.copy(), frozenset({head}), allowed, assume)
            settled = state
            for way in ways:
                settled = settled.merge(way.state, loop.head)
            if settled == state:
                return ways, forks
            state = settled
        raise CannotFollowError("the values at the loop's head don't settle")

    def isolated(self) -> Path:
        """The way round the only timed loop.

        Raises:
            CannotFollowError: if there is more than one loop, or way.
        """
        loop = self.only_loop()
        if len(loop.back_edges) > 1:
            edges = ", ".join(f"{edge:#06x}" for edge in loop.back_edges)
            raise WrongStructureError(
                f"expected one back-edge, found {len(loop.back_edges)}: {edges}"
            )
        head = self._place(loop.head)
        allowed = frozenset(self._place(address) for address in loop.body) - {head}
        ways, forks = self._walker.walk(head, State(), frozenset({head}), allowed, {})
        if len(ways) != 1:
            raise CannotFollowError(
                f"the branch at {forks[0].address:#06x} makes several ways round the timed loop"
            )
        return Path(loop, tuple(ways[0].steps))

    def in_loop_selector(self) -> Symbol:
        """The value by which the role is selected inside the only timed loop.

        Raises:
            CannotFollowError: if no single value does it.
        """
        loop = self.only_loop()
        states, _ = self._arrive({})
        if not states:
            raise CannotFollowError("the timed loop can't be reached")
        _, forks = self._round(loop, states[self._place(loop.head)], {})
        if not forks:
            raise CannotFollowError("no branch in the timed loop selects a role")
        return _selector(forks)

    def hoisted_selector(self) -> Symbol:
        """The value by which a timed loop is selected before it.

        Raises:
            CannotFollowError: if no single value does it.
        """
        if not self._loops:
            raise WrongStructureError("no timed loop: no loop has a clock read inside")
        _, forks = self._arrive({})
        graph = blocks(self._kernel)
        choosing: list[_Fork] = []
        for fork in forks:
            block = graph.containing(self._place(fork.address))
            assert block is not None, "walked instructions can be reached"
            heads = [
                frozenset(graph.reach([way])).intersection(self._loops)
                for way in graph.following[block]
            ]
            if len(set(heads)) > 1 and all(heads):
                choosing.append(fork)
        if not choosing:
            raise CannotFollowError("no branch before the timed loops selects a role")
        return _selector(choosing)

    def with_role(self, selector: Symbol, role: int) -> Path:
        """The path of the role whose index the instruction of `selector` yields.

        Raises:
            CannotFollowError: if more than one way remains, or none.
        """
        assume = {selector.address: role}
        states, _ = self._arrive(assume)
        if len(states) != 1:
            raise CannotFollowError(
                f"role {role} reaches {len(states)} timed loops"
                if states
                else f"role {role} reaches no timed loop"
            )
        place, state = next(iter(states.items()))
        loop = self._loops[place]
        ways, forks = self._round(loop, state, assume)
        if len(ways) != 1:
            where = f" (branch at {forks[0].address:#06x})" if forks else ""
            raise CannotFollowError(f"role {role} has {len(ways)} ways round the timed loop{where}")
        return Path(loop, tuple(ways[0].steps))
