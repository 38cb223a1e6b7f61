"""The form of a recording: measurements in one Parquet file, with their provenance beside it.

One row per launch × repeat × warp. What is the same for a whole launch stands on each of its rows
(JSON for the nested parts); dictionary encoding makes that cheap, and the file reads without a
second one. Rows are sorted by kernel digest, so that a reader needs only the row groups that hold
the kernels it asks for.
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from probelab.canonical import canonical_json, digest_file, write_atomically
from probelab.errors import DataError
from probelab.schema.base import Record
from probelab.schema.raw import Device, RawResult, Toolchain
from probelab.timing.results import read_raw

RECORDING_VERSION = 1
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
#: Rows per row group: small enough to skip most of a file, large enough to compress.
_GROUP_ROWS = 4096

#: Columns that hold one value per launch.
LAUNCH_COLUMNS = (
    "entry",
    "kernel_digest",
    "source_digest",
    "launch_json",
    "variant_json",
    "toolchain_json",
    "device_json",
    "harness_version",
    "measured_at",
    "sink_reason",
)
#: One value per repeat.
REPEAT_COLUMNS = (
    "repeat",
    "order",
    "accepted",
    "reason",
    "sm_clock_mhz",
    "throttle_reasons",
    "started_at",
    "wall_s",
)
#: One value per warp.
WARP_COLUMNS = (
    "block",
    "warp_slot",
    "role",
    "sm_id",
    "progress",
    "cycles",
    "sink",
    "sink_status",
)


class Provenance(Record):
    """Where a recording comes from; the file `<name>.provenance.json`."""

    recording_version: int = RECORDING_VERSION
    name: str
    parquet_sha256: str
    rows: int
    launches: int
    kernels: int
    archs: list[str]
    probes: list[str]
    devices: list[Device]
    toolchains: list[Toolchain]
    harness_versions: list[int]
    measured_from: str
    measured_to: str


def provenance_path(parquet: Path) -> Path:
    """Path of the provenance that belongs to a recording's Parquet file."""
    return parquet.with_suffix(".provenance.json")


def read_provenance(parquet: Path) -> Provenance:
    """Read the provenance of a recording and check that the Parquet file is the one it describes.

    Raises:
        DataError: if either is missing, damaged, or doesn't belong to the other.
    """
    path = provenance_path(parquet)
    try:
        provenance = Provenance.model_validate_json(path.read_bytes())
    except OSError as error:
        raise DataError(
            f"can't read the recording's provenance: {error.strerror}", where=str(path)
        ) from None
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise DataError(f"not a provenance: {key}: {first['msg']}", where=str(path)) from None
    if provenance.recording_version != RECORDING_VERSION:
        raise DataError(
            f"a recording of version {provenance.recording_version}, "
            f"this lab reads {RECORDING_VERSION}",
            where=str(path),
        )
    try:
        actual = digest_file(parquet)
    except OSError as error:
        raise DataError(f"can't read the recording: {error.strerror}", where=str(parquet)) from None
    if actual != provenance.parquet_sha256:
        raise DataError(
            "the recording is not the file that its provenance describes",
            where=str(parquet),
            hint="restore both from where they came",
        )
    return provenance


def record(raw_files: Iterable[Path], name: str, into: Path) -> Path:
    """Make a recording of measured raw results.

    Args:
        raw_files: raw JSON of the backend `pycuda`; results without an accepted repeat are left
            out; of several results of one launch the newest counts.
        name: of the recording; the file's name without its suffix.
        into: directory for `<name>.parquet` and `<name>.provenance.json`.

    Returns:
        The Parquet file's path.

    Raises:
        DataError: if a file can't be read or isn't measured, or if there is nothing to record.
    """
    if not _NAME.fullmatch(name):
        raise DataError(f"{name!r} can't be a recording's name", hint="letters, digits, _ . -")
    newest: dict[str, RawResult] = {}
    for path in sorted(raw_files):
        raw = read_raw(path)
        if raw.backend != "pycuda" or raw.device is None:
            raise DataError(
                f"backend {raw.backend}: only measurements can be recorded", where=str(path)
            )
        # A chunk that was split leaves its launches' results in the folders of both divisions.
        known = newest.get(raw.launch.id)
        if any(repeat.accepted for repeat in raw.repeats) and (
            known is None or known.measured_at < raw.measured_at
        ):
            newest[raw.launch.id] = raw
    raws = list(newest.values())
    if not raws:
        raise DataError("nothing to record: no raw result has an accepted repeat", where=name)
    raws.sort(key=lambda raw: (raw.kernel_digest, raw.launch.id))
    parquet = into / f"{name}.parquet"
    rows = _write_parquet(raws, parquet)
    provenance = _provenance(raws, name, digest_file(parquet), rows)
    text = canonical_json(provenance.model_dump(mode="json"))
    write_atomically(provenance_path(parquet), text + "\n")
    return parquet


def _provenance(raws: Sequence[RawResult], name: str, sha256: str, rows: int) -> Provenance:
    devices = {raw.device.uuid: raw.device for raw in raws if raw.device is not None}
    toolchains = {canonical_json(raw.toolchain.model_dump()): raw.toolchain for raw in raws}
    times = [repeat.started_at for raw in raws for repeat in raw.repeats]
    return Provenance(
        name=name,
        parquet_sha256=sha256,
        rows=rows,
        launches=len(raws),
        kernels=len({raw.kernel_digest for raw in raws}),
        archs=sorted({raw.variant.arch for raw in raws}),
        probes=sorted({raw.variant.probe for raw in raws}),
        devices=[device for _, device in sorted(devices.items())],
        toolchains=[toolchain for _, toolchain in sorted(toolchains.items())],
        harness_versions=sorted({raw.harness_version for raw in raws}),
        measured_from=min(times),
        measured_to=max(times),
    )


def _rows(entry: int, raw: RawResult) -> list[dict[str, Any]]:
    assert raw.device is not None
    of_launch = {
        "entry": entry,
        "kernel_digest": raw.kernel_digest,
        "source_digest": raw.source_digest,
        "launch_json": canonical_json(raw.launch.model_dump(mode="json")),
        "variant_json": canonical_json(raw.variant.model_dump(mode="json")),
        "toolchain_json": canonical_json(raw.toolchain.model_dump(mode="json")),
        "device_json": canonical_json(raw.device.model_dump(mode="json")),
        "harness_version": raw.harness_version,
        "measured_at": raw.measured_at,
        "sink_reason": raw.sink_reason,
    }
    return [
        {
            **of_launch,
            "repeat": repeat.index,
            **repeat.model_dump(include=set(REPEAT_COLUMNS)),
            **warp.model_dump(),
        }
        for repeat in raw.repeats
        for warp in repeat.warps
    ]


def _write_parquet(raws: Sequence[RawResult], path: Path) -> int:
    """Write the rows aside and rename the file to `path`; the number of rows."""
    import pyarrow as pa  # noqa: PLC0415 (reading a machine without recordings needs none)
    import pyarrow.parquet as pq  # noqa: PLC0415

    text = pa.string()
    schema = pa.schema(
        [
            *((name, text) for name in LAUNCH_COLUMNS if name not in ("entry", "harness_version")),
            ("entry", pa.int32()),
            ("harness_version", pa.int32()),
            ("repeat", pa.int32()),
            ("order", pa.int32()),
            ("accepted", pa.bool_()),
            ("reason", text),
            ("sm_clock_mhz", pa.int32()),
            ("throttle_reasons", pa.list_(text)),
            ("started_at", text),
            ("wall_s", pa.float64()),
            ("block", pa.int32()),
            ("warp_slot", pa.int32()),
            ("role", text),
            ("sm_id", pa.int32()),
            ("progress", pa.float64()),
            ("cycles", pa.float64()),
            ("sink", pa.float32()),
            ("sink_status", text),
        ]
    )
    rows = [row for entry, raw in enumerate(raws) for row in _rows(entry, raw)]
    sink = pa.BufferOutputStream()
    pq.write_table(
        pa.Table.from_pylist(rows, schema=schema),
        sink,
        compression="zstd",
        row_group_size=_GROUP_ROWS,
    )
    write_atomically(path, sink.getvalue().to_pybytes())
    return len(rows)
