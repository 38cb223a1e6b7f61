"""The records that a probe kernel leaves behind: one per warp, 40 bytes each."""

import struct
from dataclasses import dataclass

#: progress, cycles, sink, role, warp slot, block, SM id, reserved.
_LAYOUT = struct.Struct("<QQfIIIII")
RECORD_BYTES = _LAYOUT.size

#: What the records' memory is filled with before each launch; a record that still reads so was
#: never written.
FILL_BYTE = 0xFF
_UNWRITTEN = bytes([FILL_BYTE]) * RECORD_BYTES


@dataclass(frozen=True)
class WarpRecord:
    """One warp's record as the kernel wrote it, nothing checked.

    `written` is false if the kernel left the record's memory as it was. `progress` is in
    iterations of the timed loop, `cycles` in SM clock cycles.
    """

    written: bool
    progress: int
    cycles: int
    sink: float
    role: int
    warp_slot: int
    block: int
    sm_id: int


def decode(data: bytes, warps_per_block: int, blocks: int) -> list[WarpRecord]:
    """Decode the records of a launch; the one of warp w in block b is at b × warps + w.

    Raises:
        ValueError: if `data` doesn't hold exactly the launch's records.
    """
    expected = warps_per_block * blocks * RECORD_BYTES
    if len(data) != expected:
        raise ValueError(f"{len(data)} bytes of records, {expected} expected")
    records = []
    for offset in range(0, expected, RECORD_BYTES):
        raw = data[offset : offset + RECORD_BYTES]
        progress, cycles, sink, role, warp_slot, block, sm_id, _ = _LAYOUT.unpack(raw)
        records.append(
            WarpRecord(
                written=raw != _UNWRITTEN,
                progress=progress,
                cycles=cycles,
                sink=sink,
                role=role,
                warp_slot=warp_slot,
                block=block,
                sm_id=sm_id,
            )
        )
    return records
