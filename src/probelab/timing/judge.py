"""From records to repeats: which ones can be believed.

A repeat is accepted if every warp left a record that says what was launched, has physically
possible figures, and a sink that equals the host reference's bit for bit.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from probelab.schema.plan import WARP_SIZE, Launch, Variant
from probelab.schema.raw import Repeat, WarpResult
from probelab.timing.measurement import Sample
from probelab.timing.records import WarpRecord, decode

#: No GPU's SM clock comes near this; more cycles than this allows in the time between the events
#: around the kernel are not cycles.
_FASTEST_CLOCK_HZ = 4e9
#: SM ids are consecutive in practice, but PTX only promises that they are below %nsmid, which may
#: exceed the number of SMs.
_SM_ID_SLACK = 2
#: How many faults of a repeat are told in full.
_TOLD = 2

SinkStatus = Literal["ok", "wrong", "not checked"]

#: (role index, thread index, iterations) → sink; None is no finite number.
Sinks = Mapping[tuple[int, int, int], float | None]


@dataclass(frozen=True)
class Query:
    """Sinks that are wanted of the host reference: one role, one thread, several iterations."""

    role: int
    thread: int
    iterations: tuple[int, ...]


def sink_queries(
    samples: Iterable[Sample], launch: Launch, role_indices: Sequence[int | None]
) -> list[Query]:
    """What the host reference has to compute for a launch.

    Args:
        samples: all runs of the launch.
        launch: as run.
        role_indices: for each role of the variant its index in the reference (None: unknown).
    """
    wanted: dict[tuple[int, int], set[int]] = {}
    for sample in samples:
        for record in decode(sample.data, launch.warps, launch.blocks):
            slot = record.warp_slot
            # Implausible counts would have the reference compute for years.
            if not record.written or slot >= launch.warps or record.progress > record.cycles:
                continue
            if _cycles_fault(record, launch, sample.wall_s, budget_passed=False):
                continue
            role = role_indices[launch.role_map[slot]]
            if role is not None:
                wanted.setdefault((role, slot * WARP_SIZE), set()).add(record.progress)
    return [
        Query(role, thread, tuple(sorted(iterations)))
        for (role, thread), iterations in sorted(wanted.items())
    ]


@dataclass(frozen=True)
class Judge:
    """Judges the samples of one launch.

    Args:
        launch: as run.
        variant: of the launch.
        sm_count: of the device.
        budget_passed: whether the kernel takes the clock budget as a parameter.
        role_indices: for each role of the variant its index in the host reference.
        sinks: what the host reference computed; None: sinks are not checked.
    """

    launch: Launch
    variant: Variant
    sm_count: int
    budget_passed: bool
    role_indices: Sequence[int | None]
    sinks: Sinks | None

    def repeat(self, sample: Sample) -> Repeat:
        """A sample as a repeat, accepted or not."""
        records = decode(sample.data, self.launch.warps, self.launch.blocks)
        faults: list[str] = []
        warps = []
        sm_of_block = {record.block: record.sm_id for record in reversed(records)}
        for place, record in enumerate(records):
            block, slot = divmod(place, self.launch.warps)
            own = self._faults(record, block, slot, sample.wall_s)
            if record.written and not own and record.sm_id != sm_of_block[block]:
                own.append(f"ran on SM {record.sm_id}, its block on SM {sm_of_block[block]}")
            status, sink_fault = self._sink_status(record, slot, bool(own))
            if sink_fault:
                own.append(sink_fault)
            faults += [f"warp {slot} of block {block}: {fault}" for fault in own[:1]]
            warps.append(self._warp(record, block, slot, status))
        return Repeat(
            index=sample.repeat,
            order=sample.order,
            accepted=not faults,
            reason=_summary(faults),
            sm_clock_mhz=sample.sm_clock_mhz,
            throttle_reasons=sample.throttle_reasons,
            started_at=sample.started_at,
            wall_s=sample.wall_s,
            warps=warps,
        )

    def _faults(self, record: WarpRecord, block: int, slot: int, wall_s: float) -> list[str]:
        """What is wrong with a record, its sink apart; the first is the most telling."""
        if not record.written:
            return ["no record was written"]
        faults = []
        if (record.warp_slot, record.block) != (slot, block):
            faults.append(
                f"its record says warp {record.warp_slot} of block {record.block}: "
                "the kernel's indexing is not the lab's"
            )
        role = self.launch.role_map[slot]
        if record.role != role:
            faults.append(f"ran role {record.role}, launched as role {role}")
        if record.sm_id >= _SM_ID_SLACK * self.sm_count:
            faults.append(f"SM id {record.sm_id} on a device of {self.sm_count} SMs")
        cycles_fault = _cycles_fault(record, self.launch, wall_s, self.budget_passed)
        if cycles_fault:
            faults.append(cycles_fault)
        if record.progress == 0:
            faults.append("no progress")
        elif record.progress > record.cycles:
            faults.append(f"{record.progress} iterations in {record.cycles} cycles")
        return faults

    def _sink_status(self, record: WarpRecord, slot: int, faulty: bool) -> tuple[SinkStatus, str]:
        """The sink's status, and the fault if it is wrong."""
        if not record.written:
            return "not checked", ""
        if not math.isfinite(record.sink):
            return "wrong", f"the sink is {record.sink}"
        role = self.role_indices[self.launch.role_map[slot]]
        if self.sinks is None or role is None:
            return "not checked", ""
        key = (role, slot * WARP_SIZE, record.progress)
        if key not in self.sinks:
            # Not computed because the record is impossible, which is a fault of its own.
            return "not checked", "" if faulty else "its sink could not be checked"
        expected = self.sinks[key]
        if expected is not None and record.sink == expected:
            return "ok", ""
        wanted = "no finite number" if expected is None else f"{expected:.9g}"
        return "wrong", (
            f"the sink is {record.sink:.9g}, the host reference has {wanted} "
            f"after {record.progress} iterations"
        )

    def _warp(self, record: WarpRecord, block: int, slot: int, status: SinkStatus) -> WarpResult:
        role = self.variant.roles[self.launch.role_map[slot]]
        if not record.written:
            return WarpResult(block=block, warp_slot=slot, role=role, progress=0, cycles=0)
        return WarpResult(
            block=block,
            warp_slot=slot,
            role=role,
            sm_id=record.sm_id,
            progress=record.progress,
            cycles=record.cycles,
            sink=record.sink if math.isfinite(record.sink) else None,
            sink_status=status,
        )


def _cycles_fault(record: WarpRecord, launch: Launch, wall_s: float, budget_passed: bool) -> str:
    """What is wrong with a warp's cycles; empty if nothing is."""
    if budget_passed and record.cycles < launch.clock_budget_cycles:
        return f"{record.cycles} cycles, below the budget of {launch.clock_budget_cycles}"
    if record.cycles > wall_s * _FASTEST_CLOCK_HZ:
        return f"{record.cycles} cycles can't have passed in {wall_s:.3g} s"
    return ""


def _summary(faults: Sequence[str]) -> str:
    """The first faults of a repeat, and how many more there are."""
    more = len(faults) - _TOLD
    return "; ".join(faults[:_TOLD]) + (f"; and {more} more warps" if more > 0 else "")
