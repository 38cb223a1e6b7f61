"""Dependency chains and accumulators of a role's body."""

from dataclasses import dataclass

from probelab.sass.kernel import Instruction
from probelab.shape.dataflow import Source
from probelab.shape.regions import Regions


@dataclass(frozen=True, slots=True)
class Chain:
    """Arithmetic in which each step reads the one before it.

    Attributes:
        steps: indices on the path, in order.
        registers: those that hold the chain's value, in order of first use.
        fed_by: index of the arithmetic whose result (of the iteration before) it starts from, None
            if it starts from a value that the loop doesn't change.
    """

    steps: tuple[int, ...]
    registers: tuple[str, ...]
    fed_by: int | None

    @property
    def continues_itself(self) -> bool:
        """Whether an iteration goes on with the value that the one before left."""
        return self.fed_by == self.steps[-1]


@dataclass(frozen=True, slots=True)
class Chains:
    """The chains of a body, longest first, and what keeps it from being nothing but chains.

    Attributes:
        family: indices of the body's instructions of the intended opcode.
        foreign: indices of its other arithmetic.
        forks: indices of arithmetic whose result more than one body instruction reads.
        unread: indices of arithmetic whose result nothing on the path reads.
        from_reduction: indices of body instructions that read a sum of the reduction.
    """

    chains: tuple[Chain, ...]
    family: tuple[int, ...]
    foreign: tuple[int, ...]
    forks: tuple[int, ...]
    unread: tuple[int, ...]
    from_reduction: tuple[int, ...]


def in_family(instruction: Instruction, opcode: str) -> bool:
    """Whether it is of the intended opcode; `FADD32I` is an FADD with a long immediate."""
    return instruction.opcode.removesuffix("32I") == opcode


def _origin(regions: Regions, index: int) -> Source | None:
    """The one arithmetic result that a body instruction reads."""
    return next(iter(regions.flow.origins(index)), None)


def find_chains(regions: Regions, opcode: str | None) -> Chains:
    """Chains of all arithmetic in the body.

    Args:
        regions: of a role's path.
        opcode: the intended one; None: any.
    """
    flow = regions.flow
    body = regions.steps("body")
    reduction = set(regions.steps("reduction"))
    origin = {index: _origin(regions, index) for index in body}
    readers: dict[int, list[int]] = {}
    within: dict[int, list[int]] = {}
    for index, source in origin.items():
        if source is not None:
            readers.setdefault(source.step, []).append(index)
            if not source.carried:
                within.setdefault(source.step, []).append(index)
    summed = {source.step for index in reduction for source in flow.origins(index)}
    starts = [
        index
        for index, source in origin.items()
        if source is None or source.carried or within[source.step][0] != index
    ]
    chains: list[Chain] = []
    for start in starts:
        steps = [start]
        while steps[-1] in within:
            steps.append(within[steps[-1]][0])
        source = origin[start]
        registers = dict.fromkeys(
            name for index in steps for name in flow.accesses[index].writes[:1]
        )
        fed_by = source.step if source is not None else None
        chains.append(Chain(tuple(steps), tuple(registers), fed_by))
    family = [
        index for index in body if opcode is None or in_family(flow.instructions[index], opcode)
    ]
    return Chains(
        chains=tuple(sorted(chains, key=lambda one: -len(one.steps))),
        family=tuple(family),
        foreign=tuple(index for index in body if index not in family),
        forks=tuple(step for step, users in readers.items() if len(users) > 1),
        unread=tuple(index for index in body if index not in readers and index not in summed),
        from_reduction=tuple(
            index
            for index, source in origin.items()
            if source is not None and source.step in reduction
        ),
    )
