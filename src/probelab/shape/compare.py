"""What a role's path shows, held against what the role declares."""

from collections import Counter
from dataclasses import dataclass

from probelab.sass.flow import Loop, blocks, loops, reads_clock
from probelab.sass.kernel import Instruction, Kernel
from probelab.sass.operands import Constant, Register
from probelab.schema.intent import Intent
from probelab.shape.chains import Chains
from probelab.shape.dataflow import has_immediate, is_move
from probelab.shape.paths import Path
from probelab.shape.regions import Regions
from probelab.shape.words import listed

_LOCAL_MEMORY = frozenset({"LDL", "STL"})


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that is known of one role's path."""

    kernel: Kernel
    path: Path
    regions: Regions
    chains: Chains

    def instructions(self, steps: tuple[int, ...] | list[int]) -> list[Instruction]:
        """The instructions at the given indices of the path."""
        return [self.regions.flow.instructions[index] for index in steps]


def _lengths(lengths: list[int]) -> str:
    return listed([str(one) for one in lengths]) if lengths else "none"


def _where(instructions: list[Instruction]) -> str:
    shown = ", ".join(f"{one.address:#06x}" for one in instructions[:3])
    return shown + (", …" if len(instructions) > 3 else "")


def _counts(instructions: list[Instruction]) -> str:
    counts = Counter(one.opcode for one in instructions)
    return listed([f"{count} {opcode}" for opcode, count in counts.items()])


def chain_findings(evidence: Evidence, intent: Intent) -> list[str]:
    """Differences in opcode, number, dependence and registers of the body."""
    chains = evidence.chains
    found: list[str] = []
    foreign = evidence.instructions(chains.foreign)
    if len(chains.family) != intent.count:
        instead = f" (beside {_counts(foreign)})" if foreign else ""
        found.append(
            f"expected {intent.count} {intent.opcode} on the path, "
            f"found {len(chains.family)}{instead}"
        )
    elif foreign:
        found.append(f"the body also has {_counts(foreign)}, at {_where(foreign)}")
    if intent.opcode == "FADD" and any(one.opcode == "FFMA" for one in foreign):
        found.append("contraction: FFMA where FADD is intended")
    lengths = sorted((len(one.steps) for one in chains.chains), reverse=True)
    expected = sorted(intent.chains, reverse=True)
    if lengths != expected:
        found.append(
            f"expected {len(expected)} accumulator{'s' if len(expected) > 1 else ''} "
            f"({_lengths(expected)} instructions), found {len(lengths)} ({_lengths(lengths)})"
        )
    for chain in chains.chains:
        if chain.continues_itself:
            continue
        name = "/".join(chain.registers)
        if chain.fed_by is None:
            found.append(f"accumulator {name} starts anew in each iteration")
        else:
            found.append(f"accumulator {name} goes on with another accumulator's value")
    for steps, what in (
        (chains.forks, "is read by more than one instruction of the body"),
        (chains.unread, "is read by nothing on the path"),
        (chains.from_reduction, "starts from the sum"),
    ):
        instructions = evidence.instructions(steps)
        if instructions:
            found.append(f"{instructions[0].opcode} at {_where(instructions)} {what}")
    found += _strange_sources(evidence)
    return found + _register_findings(evidence, intent)


def _strange_sources(evidence: Evidence) -> list[str]:
    """Arithmetic that reads what neither arithmetic nor a move makes in the loop."""
    regions, flow = evidence.regions, evidence.regions.flow
    return [
        f"{flow.instructions[index].opcode} at {flow.instructions[index].address:#06x} reads what "
        f"{flow.instructions[source.step].opcode} at "
        f"{flow.instructions[source.step].address:#06x} makes"
        for index in regions.steps("body", "reduction")
        for source in sorted(flow.producers(index) - flow.origins(index), key=lambda one: one.step)
    ][:1]


def _register_findings(evidence: Evidence, intent: Intent) -> list[str]:
    wanted = {"single": 1, "alternating": 2}.get(intent.registers)
    found = [
        f"expected each chain in {'one register' if wanted == 1 else 'two alternating registers'}, "
        f"found {listed(chain.registers)}"
        for chain in evidence.chains.chains
        if wanted is not None and len(chain.registers) != wanted
    ]
    family = evidence.instructions(evidence.chains.family)
    if intent.operands == "immediate":
        without = [one for one in family if not has_immediate(one)]
        if without:
            found.append(f"{len(without)} {intent.opcode} without an immediate, {_where(without)}")
    if intent.operands == "constant":
        without = [one for one in family if not _reads_constant(one)]
        if without:
            found.append(
                f"{len(without)} {intent.opcode} that read neither the constant bank nor a uniform "
                f"register, {_where(without)}"
            )
    if intent.operands == "register":
        others = [one for one in family if has_immediate(one) or _reads_constant(one)]
        if others:
            found.append(
                f"{len(others)} {intent.opcode} with a source that is no general register, "
                f"{_where(others)}"
            )
    return found


def _reads_constant(instruction: Instruction) -> bool:
    """Whether a source lies in the constant bank or in a uniform register."""
    return any(
        isinstance(one, Constant) or (isinstance(one, Register) and one.uniform)
        for one in instruction.operands
    )


def surrounding_findings(evidence: Evidence, intent: Intent, *, may_dispatch: bool) -> list[str]:
    """Differences in source setup, reduction and what else is on the path."""
    regions, chains = evidence.regions, evidence.chains
    found: list[str] = []
    setup = evidence.instructions(regions.steps("setup"))
    if setup and intent.setup == "none":
        found.append(
            f"expected no source setup in the loop, found {_counts(setup)}, {_where(setup)}"
        )
    if not setup and intent.setup == "required":
        found.append("expected source setup in the loop, found none")
    reduction = regions.steps("reduction")
    if intent.reduction == "none" and reduction:
        joins = evidence.instructions(reduction)
        found.append(
            f"expected no joining of accumulators, found {_counts(joins)}, {_where(joins)}"
        )
    if intent.reduction == "each_iteration":
        read = {source for index in reduction for source in regions.flow.origins(index)}
        left = [one for one in chains.chains if all(o.step != one.steps[-1] for o in read)]
        if not reduction:
            found.append("expected a reduction into a sink in each iteration, found none")
        elif left:
            names = listed(["/".join(one.registers) for one in left])
            found.append(f"the reduction leaves out {names}")
        elif not any(source.step in reduction and source.carried for source in read):
            found.append("the sum isn't kept from one iteration to the next")
        elif len(reduction) > intent.sums * len(chains.chains):
            times = f", {intent.sums} times," if intent.sums > 1 else ""
            found.append(
                f"a sum of {len(chains.chains)} and the sink{times} takes "
                f"{intent.sums * len(chains.chains)} instructions, "
                f"found {_counts(evidence.instructions(reduction))}"
            )
    # Where roles meet, a NOP or a move of what only other roles read costs an issue and changes
    # nothing else; it is counted, and no reason to refuse the variant.
    others = [
        one
        for one in evidence.instructions(regions.steps("other"))
        if not (may_dispatch and (one.opcode == "NOP" or is_move(one)))
    ]
    if others:
        found.append(f"of use to neither body nor loop: {_counts(others)}, {_where(others)}")
    return found


def loop_findings(evidence: Evidence, *, may_dispatch: bool) -> list[str]:
    """Differences in the loop itself: clock reads, back-edges, local memory, dispatch."""
    kernel, loop = evidence.kernel, evidence.path.loop
    instructions = evidence.regions.flow.instructions
    found: list[str] = []
    reads = [one for one in instructions if reads_clock(one)]
    if len(reads) != 1:
        found.append(f"expected one clock read per iteration, found {len(reads)}")
    before, after = _clock_reads_around(kernel, loop)
    if not before:
        found.append("no clock read before the timed loop")
    if not after:
        found.append("no clock read after the timed loop")
    local = [one for one in instructions if one.opcode in _LOCAL_MEMORY]
    if local:
        found.append(f"local memory in the loop: {_counts(local)}, {_where(local)}")
    found += _control_findings(evidence)
    inner = [one for one in loops(kernel) if one.body < loop.body]
    if inner:
        found.append(f"another loop, at {inner[0].head:#06x}, lies in the timed loop")
    outer = [one for one in loops(kernel) if loop.body < one.body]
    if outer:
        found.append(f"the timed loop lies inside another loop, at {outer[0].head:#06x}")
    if not may_dispatch:
        if len(loop.back_edges) > 1:
            found.append(f"expected one back-edge, found {len(loop.back_edges)}")
        dispatch = evidence.instructions(evidence.regions.steps("dispatch"))
        if dispatch:
            found.append(f"selection inside the loop: {_counts(dispatch)}, {_where(dispatch)}")
    elif odd := evidence.instructions(evidence.regions.odd_dispatch()):
        found.append(f"selection of a role also takes {_counts(odd)}, {_where(odd)}")
    return found


def _control_findings(evidence: Evidence) -> list[str]:
    """Differences in what ends the loop, and what counts its iterations."""
    control = evidence.regions.control
    found: list[str] = []
    if not control.clocked:
        found.append("the clock that the loop reads doesn't decide its end")
    odd = evidence.instructions(control.odd)
    if odd:
        found.append(
            f"the loop's end takes more than a comparison of the clock: "
            f"{_counts(odd)}, {_where(odd)}"
        )
    if not control.counter:
        found.append("nothing in the loop counts its iterations")
    elif control.increment not in (None, 1):
        (counter,) = evidence.instructions(control.counter[:1])
        found.append(
            f"the counter goes up by {control.increment} in each iteration, not by 1: "
            f"{counter.opcode} at {counter.address:#06x}"
        )
    return found


def _clock_reads_around(kernel: Kernel, loop: Loop) -> tuple[bool, bool]:
    """Whether the clock is read on a way to the loop, and on a way from it."""
    graph = blocks(kernel)
    head = kernel.index(loop.head)
    assert head is not None, "loops consist of instructions of the kernel"

    def outside(reached: set[int]) -> bool:
        return any(
            reads_clock(kernel.instructions[place])
            and kernel.instructions[place].address not in loop.body
            for block in reached
            for place in graph.places(block)
        )

    return outside(graph.reach([head], backwards=True)), outside(graph.reach([head]))
