"""The backend `recorded`: a stored measurement of the very same kernel and launch settings.

Recordings are Parquet files with their provenance beside them; `recording.py` has their form.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from probelab.errors import DataError
from probelab.schema.manifests import BuildRow
from probelab.schema.plan import Launch, Variant
from probelab.schema.raw import Device, RawResult, Repeat, WarpResult
from probelab.timing.recording import (
    LAUNCH_COLUMNS,
    REPEAT_COLUMNS,
    WARP_COLUMNS,
    Provenance,
    read_provenance,
)
from probelab.timing.results import toolchain


@dataclass(frozen=True)
class Entry:
    """One launch of a recording; `rows` is its slice of the table."""

    recording: str
    launch: Launch
    kernel_digest: str
    device: Device
    harness_version: int
    measured_at: str
    sink_reason: str
    rows: Any


class Recordings:
    """The recordings at hand, read as far as one architecture and some kernels need them."""

    def __init__(self, paths: Sequence[Path]) -> None:
        """
        Args:
            paths: Parquet files.
        """
        self._paths = sorted(paths)

    def find(
        self, arch: str, kernel_digests: Collection[str]
    ) -> dict[tuple[str, str], list[Entry]]:
        """Entries by (kernel digest, settings digest of the launch).

        Args:
            arch: recordings without a kernel for it are not opened.
            kernel_digests: of the kernels asked for.

        Raises:
            DataError: if a recording is damaged or isn't what its provenance says.
        """
        found: dict[tuple[str, str], list[Entry]] = {}
        wanted = frozenset(kernel_digests)
        for path in self._paths:
            provenance = read_provenance(path)
            if arch not in provenance.archs:
                continue
            for entry in _entries(path, provenance, wanted):
                key = (entry.kernel_digest, entry.launch.settings_digest)
                found.setdefault(key, []).append(entry)
        return found


def best(entries: Sequence[Entry], launch: Launch) -> Entry:
    """Which of several entries to take: of this very launch, by the newest harness, the latest."""
    return max(
        entries,
        key=lambda entry: (
            entry.launch.id == launch.id,
            entry.harness_version,
            entry.measured_at,
            entry.recording,
            entry.launch.id,
        ),
    )


def recorded(entry: Entry, launch: Launch, variant: Variant, build: BuildRow) -> RawResult:
    """An entry as the raw result of a launch that equals it in all but its name.

    Roles get this variant's names; the toolchain is what built the kernel here, which is the very
    kernel that was recorded.

    Raises:
        DataError: if the entry is damaged.
    """
    try:
        return RawResult(
            backend="recorded",
            launch=launch,
            variant=variant,
            kernel_digest=build.kernel_digest,
            source_digest=build.source_digest,
            toolchain=toolchain(build),
            harness_version=entry.harness_version,
            device=entry.device,
            measured_at=entry.measured_at,
            recording=entry.recording,
            sink_reason=entry.sink_reason,
            repeats=_repeats(entry, launch, variant),
        )
    except (ValidationError, ValueError, IndexError) as error:
        raise DataError(
            f"damaged entry for {entry.launch.id}: {error}", where=entry.recording
        ) from None


def _entries(path: Path, provenance: Provenance, wanted: frozenset[str]) -> list[Entry]:
    # Takes 0.1 s: only for a recording that may have what is asked for.
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    try:
        with pq.ParquetFile(path) as file:
            if file.metadata.num_rows != provenance.rows:
                raise ValueError(f"{file.metadata.num_rows} rows, not {provenance.rows}")
            groups = _groups(file, wanted)
            if not groups:
                return []
            columns = [*LAUNCH_COLUMNS, *REPEAT_COLUMNS, *WARP_COLUMNS]
            table = file.read_row_groups(groups, columns=columns)
            return _split(table, provenance.name, wanted)
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError) as error:
        first = str(error).splitlines()[0]
        raise DataError(f"not a recording: {first}", where=str(path)) from None


def _groups(file: Any, wanted: frozenset[str]) -> list[int]:
    """Row groups whose range of kernel digests includes one that is wanted."""
    column = file.schema_arrow.get_field_index("kernel_digest")
    if column < 0:
        raise KeyError("no column kernel_digest")
    groups = []
    for group in range(file.num_row_groups):
        statistics = file.metadata.row_group(group).column(column).statistics
        unknown = statistics is None or not statistics.has_min_max
        if unknown or any(statistics.min <= kernel <= statistics.max for kernel in wanted):
            groups.append(group)
    return groups


def _split(table: Any, name: str, wanted: frozenset[str]) -> list[Entry]:
    """The wanted launches of a table whose rows are sorted by entry."""
    numbers = table.column("entry").to_pylist()
    starts = [at for at, number in enumerate(numbers) if at == 0 or number != numbers[at - 1]]
    entries = []
    for start, end in zip(starts, [*starts[1:], len(numbers)], strict=True):
        head = {column: table.column(column)[start].as_py() for column in LAUNCH_COLUMNS}
        if head["kernel_digest"] not in wanted:
            continue
        entries.append(
            Entry(
                recording=name,
                launch=Launch.model_validate_json(head["launch_json"]),
                kernel_digest=head["kernel_digest"],
                device=Device.model_validate_json(head["device_json"]),
                harness_version=head["harness_version"],
                measured_at=head["measured_at"],
                sink_reason=head["sink_reason"],
                rows=table.slice(start, end - start),
            )
        )
    return entries


def _repeats(entry: Entry, launch: Launch, variant: Variant) -> list[Repeat]:
    """The rows of an entry, sorted by repeat, as repeats."""
    warps_per_repeat = launch.warps * launch.blocks
    rows = entry.rows
    if rows.num_rows == 0 or rows.num_rows % warps_per_repeat:
        raise ValueError(f"{rows.num_rows} rows for {warps_per_repeat} warps per repeat")
    columns = {name: rows.column(name).to_pylist() for name in WARP_COLUMNS if name != "role"}
    warps = [
        WarpResult(
            **dict(zip(columns, values, strict=True)),
            role=variant.roles[launch.role_map[values[1]]],
        )
        for values in zip(*columns.values(), strict=True)
    ]
    repeats = []
    for start in range(0, rows.num_rows, warps_per_repeat):
        head = {name: rows.column(name)[start].as_py() for name in REPEAT_COLUMNS}
        index = head.pop("repeat")
        repeats.append(Repeat(index=index, warps=warps[start : start + warps_per_repeat], **head))
    return repeats
