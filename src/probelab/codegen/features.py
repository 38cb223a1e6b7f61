"""What a role's SASS shows of the terms of the notes' cost model.

Everything is read from the path of one iteration (`RoleShape.excerpt`): instructions in order of
execution with their control words. Nothing comes from the source, and nothing from a timing.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache

from probelab.errors import DataError
from probelab.predict.constants import Constants
from probelab.sass.control import Control
from probelab.sass.kernel import Instruction
from probelab.sass.operands import Predicate, Register, parse_operand, parse_operands
from probelab.sass.registers import Access, access
from probelab.schema.manifests import RoleShape

_LINE = re.compile(
    r"(?P<region>\S) /\*(?P<address>[0-9a-f]+)\*/ "
    r"\[B(?P<waits>.{6}):R(?P<read>.):W(?P<write>.):(?P<yields>.):S(?P<stall>\d\d)\] "
    r"(?P<text>.*?) ;(?P<taken>  -> taken)?",
    re.ASCII,
)
_TEXT = re.compile(r"(?:@(!?U?P[0-6T])\s+)?([A-Z_0-9][\w.]*)\s*(.*)", re.ASCII)

#: Letters of the regions whose instructions compute what the role is about.
_WORK = frozenset("BSR?")
_BODY = frozenset("B?")
#: Assumed where no path of the architecture shows an opcode's result being read.
DEFAULT_LATENCY_CYCLES = 4
_BANKS = 2


@dataclass(frozen=True)
class PathLine:
    """One line of an excerpt."""

    region: str  #: B body, S setup, R reduction, D dispatch, C loop control, ? other
    address: int
    instruction: Instruction
    access: Access


@dataclass(frozen=True)
class Features:
    """The terms' sizes for one role at one number of warps per sub-core, per iteration."""

    operations: int  #: arithmetic instructions of the body
    chain_steps: int  #: instructions on its longest dependency path
    chain_cycles: int  #: from the issue of that path's first to that of its last instruction
    chain_latency_cycles: int  #: of these, cycles in which that path itself issues nothing
    ilp_filled_cycles: int  #: of these, those that the body's other instructions can fill
    live_registers: int  #: registers of accumulators and sources
    register_port_cycles: int  #: by which reads of one bank lengthen what follows below
    stall_excess_cycles: int  #: stall fields of the work beyond issue and dependencies
    setup_instructions: int  #: MOVs and other source setup among the body
    alternations: int  #: registers of the chains beyond one a chain
    tail_imbalance: int  #: steps of the longest accumulator beyond the shortest
    burst_instructions: int  #: longest run of instructions that don't offer the issue slot
    issue_contention_cycles: int  #: by which all warps' issues exceed the stalls of one warp's work
    reduction_instructions: int  #: that add accumulators up in each iteration
    reduction_latency_cycles: int  #: by which these lengthen the longest dependency path
    loop_control_cycles: int  #: stall fields of what isn't work: counter, clock, branch, dispatch
    loop_head_cycles: int  #: for which the second line of the loop's instructions comes late
    instructions: int  #: of the path, loop control included

    def as_row(self) -> dict[str, int]:
        """The features by name."""
        return asdict(self)


@lru_cache(maxsize=65536)
def _instruction(text: str, control: str) -> tuple[Instruction, Access]:
    found = _TEXT.fullmatch(text)
    if found is None:
        raise DataError(f"not an instruction: {text[:60]!r}", where="SASS excerpt")
    guard_text, mnemonic, operand_text = found.groups()
    guard = parse_operand(guard_text) if guard_text else None
    opcode, *modifiers = mnemonic.split(".")
    operands = parse_operands(operand_text)
    sources = [one for one in operands if isinstance(one, Register)][1:4]
    reuse = [one.reuse for one in sources] + [False] * (3 - len(sources))
    waits, read, write, yields, stall = control.split(":")
    instruction = Instruction(
        address=0,
        guard=guard if isinstance(guard, Predicate) else None,
        opcode=opcode,
        modifiers=tuple(modifiers),
        operands=operands,
        text=text,
        encoding=0,
        control=Control(
            stall=int(stall),
            yields=yields == "Y",
            write_scoreboard=None if write == "-" else int(write),
            read_scoreboard=None if read == "-" else int(read),
            waits=tuple(int(mark) for mark in waits if mark != "-"),
            reuse=(reuse[0], reuse[1], reuse[2]),
        ),
    )
    return instruction, access(instruction)


def read_excerpt(lines: Iterable[str]) -> list[PathLine]:
    """The instructions of an excerpt; their addresses and encodings are left out.

    Raises:
        DataError: if a line isn't one of an excerpt.
    """
    found = []
    for line in lines:
        match = _LINE.fullmatch(line)
        if match is None:
            raise DataError(f"not a line of an excerpt: {line[:60]!r}", where="SASS excerpt")
        parts = match.groupdict()
        control = ":".join(parts[key] for key in ("waits", "read", "write", "yields", "stall"))
        own = _instruction(parts["text"], control)
        found.append(PathLine(parts["region"], int(parts["address"], 16), *own))
    return found


def _producers(path: list[PathLine]) -> list[set[int]]:
    """For each line the lines of the same iteration whose results it reads; work alone counts."""
    last: dict[str, int] = {}
    producers = []
    for place, line in enumerate(path):
        own: set[int] = set()
        if line.region in _WORK:
            sources = (last.get(name) for name in line.access.reads)
            own = {one for one in sources if one is not None and path[one].region in _WORK}
        producers.append(own)
        last.update(dict.fromkeys(line.access.writes, place))
    return producers


def latencies(paths: Iterable[list[PathLine]]) -> dict[str, int]:
    """Cycles from an opcode's issue to that of an instruction that reads its result.

    The compiler keeps the distance with stall fields, so the shortest one that any path of the
    architecture shows is the latency. Results that are waited for through a scoreboard are left
    out: their latency isn't in the SASS.
    """
    shortest: dict[str, int] = {}
    for path in paths:
        issue = [0]
        for line in path:
            issue.append(issue[-1] + line.instruction.control.stall)
        for place, sources in enumerate(_producers(path)):
            for source in sources:
                instruction = path[source].instruction
                if instruction.control.write_scoreboard is None:
                    distance = issue[place] - issue[source]
                    known = shortest.get(instruction.opcode, distance)
                    shortest[instruction.opcode] = min(known, distance)
    return shortest


def _longest(
    path: list[PathLine],
    producers: list[set[int]],
    regions: frozenset[str],
    latency: Mapping[str, int],
) -> tuple[int, int]:
    """Cycles and instructions of the longest dependency path through `regions`."""
    best = (0, 0)
    depth: dict[int, tuple[int, int]] = {}
    for place, sources in enumerate(producers):
        if path[place].region not in regions:
            continue
        own = (0, 1)
        for source in sources & depth.keys():
            opcode = path[source].instruction.opcode
            cycles, steps = depth[source]
            own = max(own, (cycles + latency.get(opcode, DEFAULT_LATENCY_CYCLES), steps + 1))
        depth[place] = own
        best = max(best, own)
    return best


def _port_cycles(path: list[PathLine]) -> int:
    """Reads of the work beyond one per bank, with what the reuse cache saves.

    Two banks, register number mod 2; a register that an instruction names twice is read once; a
    reuse mark keeps a register for later reads at its bank and operand position. Where the warp
    pauses, others that share its sub-core take over, and what was kept counts as lost: so the cost
    model is 6 % off for 64 FMAs on three accumulators (H200, two warps per sub-core), else 13 %.
    """
    kept: dict[tuple[int, int], str] = {}
    held = 0
    # Twice round, as a mark at the end of an iteration serves the next one's beginning.
    for lap in range(2):
        for line in path:
            sources = [one for one in line.instruction.operands if isinstance(one, Register)][1:4]
            reads: set[tuple[int, str]] = set()
            for position, register in enumerate(sources):
                if register.is_zero or register.uniform:
                    continue
                place = (register.number % _BANKS, position)
                if kept.get(place) != register.name:
                    reads.add((place[0], register.name))
                if register.reuse:
                    kept[place] = register.name
                else:
                    kept.pop(place, None)
            if line.instruction.control.stall > 1:
                kept.clear()
            if lap and line.region in _WORK:
                counts = Counter(bank for bank, _ in reads)
                held += max(counts.values(), default=1) - 1
    return held


def _burst(path: list[PathLine]) -> int:
    longest = run = 0
    for line in path:
        run += 1
        longest = max(longest, run)
        if line.instruction.control.yields:
            run = 0
    return longest


def _sharing(path: list[PathLine], warps: float) -> tuple[int, int]:
    """Cycles that warps on one sub-core cost each other in their work: by issue, by registers.

    While one warp's stalls last, the others issue; what they need beyond that is contention. An
    instruction that reads a bank twice holds the ports for a cycle, in which no warp issues and no
    stall counts down.
    """
    work = [line for line in path if line.region in _WORK]
    stalls = sum(line.instruction.control.stall for line in work)
    ports = _port_cycles(path)
    issue = max(stalls, warps * len(work))
    held = max(stalls + (warps - 1) * ports, warps * (len(work) + ports), issue)
    return round(issue - stalls), round(held - issue)


def _late_head(path: list[PathLine], constants: Constants) -> int:
    """Cycles for which the loop's second line of instructions isn't there yet."""
    line_bytes, wait = constants.fetch_line_bytes, constants.next_line_cycles
    covered = 0
    for line in path:
        if line.address // line_bytes != path[0].address // line_bytes:
            return max(0, wait - covered)
        covered += line.instruction.control.stall
    return 0


def features(
    shape: RoleShape,
    path: list[PathLine],
    warps_per_sub_core: float,
    latency: Mapping[str, int],
    constants: Constants,
) -> Features:
    """The terms' sizes of one role.

    Args:
        shape: what the SASS shows.
        path: its excerpt, from `read_excerpt`.
        warps_per_sub_core: warps that share a sub-core's issue slots.
        latency: of each opcode, from `latencies` over all paths of the architecture.
        constants: of the architecture.

    Raises:
        DataError: if the shape has no path.
    """
    if not path:
        raise DataError("its path wasn't followed, so there is nothing to count", where=shape.role)
    regions = Counter(line.region for line in path)
    producers = _producers(path)
    operations = sum(regions[letter] for letter in _BODY)
    chain_cycles, chain_steps = _longest(path, producers, _BODY | {"S"}, latency)
    whole_cycles, whole_steps = _longest(path, producers, _WORK, latency)
    waiting = chain_cycles - max(chain_steps - 1, 0)
    reduction_waiting = whole_cycles - max(whole_steps - 1, 0) - waiting
    others = operations + regions["S"] - chain_steps
    filled = min(waiting, max(others, 0))
    work = [line for line in path if line.region in _WORK]
    work_stalls = sum(line.instruction.control.stall for line in work)
    stalls = sum(line.instruction.control.stall for line in path)
    contention, ports = _sharing(path, warps_per_sub_core)
    return Features(
        operations=operations,
        chain_steps=chain_steps,
        chain_cycles=chain_cycles,
        chain_latency_cycles=waiting,
        ilp_filled_cycles=filled,
        live_registers=shape.live_registers,
        register_port_cycles=ports,
        stall_excess_cycles=work_stalls - len(work) - (waiting - filled) - reduction_waiting,
        setup_instructions=regions["S"],
        alternations=sum(max(len(names) - 1, 0) for names in shape.accumulators),
        tail_imbalance=max(shape.chains, default=0) - min(shape.chains, default=0),
        burst_instructions=_burst(path),
        issue_contention_cycles=contention,
        reduction_instructions=regions["R"],
        reduction_latency_cycles=reduction_waiting,
        loop_control_cycles=stalls - work_stalls,
        loop_head_cycles=_late_head(path, constants),
        instructions=len(path),
    )
