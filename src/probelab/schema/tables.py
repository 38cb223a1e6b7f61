"""The columns of the Parquet datasets; units stand in the names.

`measurements.parquet` has a row per launch × repeat × warp, `summary.parquet` a row per launch ×
role, `comparisons.parquet` a row per pair of roles that the report sets against each other.
"""

import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from probelab.canonical import canonical_json, write_atomically
from probelab.errors import DataError

#: Key of the file metadata that holds {launch id: why its raw result can't be used}.
MISSING_KEY = b"probelab.missing"


def _required(name: str, kind: pa.DataType) -> pa.Field:
    return pa.field(name, kind, nullable=False)


_TEXT = pa.string()
_TEXTS = pa.list_(pa.string())

#: The launch's settings; in every table.
_SETTINGS = [
    _required("probe", _TEXT),
    _required("arch", _TEXT),
    _required("placement", _TEXT),
    _required("dispatch", _TEXT),
    _required("threads_per_block", pa.int32()),
    _required("blocks", pa.int32()),
    _required("warps_per_sub_core", pa.float64()),
    _required("clock_budget_cycles", pa.int64()),
    _required("seed", pa.float64()),
]

#: Where the figures come from; `backend` is empty where there is no figure.
_SOURCE = [
    _required("backend", _TEXT),
    _required("recording", _TEXT),
    _required("device", _TEXT),
    _required("device_uuid", _TEXT),
]

#: One row per launch × repeat × warp (each block's warps), in the order of launch, repeat,
#: block, warp slot.
MEASUREMENTS = pa.schema(
    [
        _required("variant", _TEXT),
        _required("launch", _TEXT),
        _required("kernel", _TEXT),
        *_SETTINGS,
        *_SOURCE,
        _required("compute_capability", _TEXT),
        _required("driver_version", _TEXT),
        _required("measured_at", _TEXT),
        _required("model_reason", _TEXT),
        _required("nvcc_version", _TEXT),
        _required("nvcc_flags", _TEXTS),
        _required("disassembler_version", _TEXT),
        _required("kernel_digest", _TEXT),
        _required("source_digest", _TEXT),
        _required("harness_version", pa.int32()),
        _required("shape_status", _TEXT),
        _required("repeat", pa.int32()),
        _required("order", pa.int32()),
        _required("accepted", pa.bool_()),
        _required("reason", _TEXT),
        pa.field("sm_clock_mhz", pa.int32()),
        _required("throttle_reasons", _TEXTS),
        _required("started_at", _TEXT),
        pa.field("wall_s", pa.float64()),
        _required("block", pa.int32()),
        _required("warp_slot", pa.int32()),
        _required("sub_core", pa.int32()),
        pa.field("sm_id", pa.int32()),
        _required("role", _TEXT),
        _required("progress", pa.float64()),
        _required("cycles", pa.float64()),
        pa.field("cycles_per_iteration", pa.float64()),
        pa.field("sink", pa.float64()),
        _required("sink_status", _TEXT),
    ]
)


def _figure(name: str) -> list[pa.Field]:
    """Statistics over the accepted repeats; null where there are none (or one, for a spread)."""
    return [
        pa.field(f"{name}_{statistic}", pa.float64())
        for statistic in ("mean", "median", "std", "ci_low", "ci_high")
    ]


#: One row per launch × role. A launch without a time has its reason and null figures, so that
#: what is missing stays visible. `status`: ok, failed, skipped, not predicted, missing (no
#: usable raw result) or rejected (no repeat was accepted).
SUMMARY = pa.schema(
    [
        _required("variant", _TEXT),
        _required("launch", _TEXT),
        *_SETTINGS,
        _required("role", _TEXT),
        _required("warp_slots", pa.list_(pa.int32())),
        *_SOURCE,
        _required("status", _TEXT),
        _required("reason", _TEXT),
        _required("shape_status", _TEXT),
        _required("repeats", pa.int32()),
        _required("accepted_repeats", pa.int32()),
        _required("rejection_reasons", _TEXTS),
        *_figure("progress"),
        *_figure("cycles_per_iteration"),
        pa.field("warp_spread_cycles_per_iteration", pa.float64()),
        _required("reference_role", _TEXT),
        pa.field("progress_ratio", pa.float64()),
        pa.field("progress_ratio_ci_low", pa.float64()),
        pa.field("progress_ratio_ci_high", pa.float64()),
        _required("progress_ratio_method", _TEXT),
        _required("progress_ratio_reason", _TEXT),
        pa.field("predicted_cycles_per_iteration", pa.float64()),
        pa.field("predicted_alone_cycles_per_iteration", pa.float64()),
        # Where the cycles of the column before go; they add up to it.
        pa.field("predicted_alone_cycles_by_cause", pa.map_(_TEXT, pa.float64())),
        _required("prediction_reason", _TEXT),
        _required("prediction_assumptions", _TEXTS),
        pa.field("prediction_error_percent", pa.float64()),
        _required("kernel_digest", _TEXT),
        _required("nvcc_version", _TEXT),
    ]
)

#: One row per pair of roles set against each other. `purpose` is "ordering" (neighbours when the
#: roles of a group are sorted by mean progress; `position` counts them from 0) or "claim" (the
#: pairs that a claim names, in its order). `ratio` is left mean progress / right mean progress,
#: `sign` what it says: ">", "<", "≈" or "" (no figure, then `reason` says why).
COMPARISONS = pa.schema(
    [
        *_SETTINGS,
        *_SOURCE,
        _required("purpose", _TEXT),
        _required("group", _TEXT),
        _required("claim", _TEXT),
        _required("position", pa.int32()),
        _required("left_role", _TEXT),
        _required("right_role", _TEXT),
        _required("left_launch", _TEXT),
        _required("right_launch", _TEXT),
        pa.field("ratio", pa.float64()),
        pa.field("ratio_ci_low", pa.float64()),
        pa.field("ratio_ci_high", pa.float64()),
        _required("method", _TEXT),
        _required("sign", _TEXT),
        _required("expected_sign", _TEXT),
        _required("reason", _TEXT),
    ]
)


def write(table: pa.Table, path: Path) -> None:
    """Write a table, whole or not at all; equal tables give equal bytes."""
    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd", version="2.6", row_group_size=1 << 20)
    write_atomically(path, buffer.getvalue())


def read(path: Path, schema: pa.Schema) -> pa.Table:
    """Read a table that must have exactly the columns of `schema`.

    Raises:
        DataError: if the file is missing, damaged or has other columns.
    """
    hint = "delete it and run snakemake again"
    try:
        table = pq.read_table(path)
    except FileNotFoundError:
        raise DataError(
            "this dataset is missing", where=str(path), hint="run snakemake to make it"
        ) from None
    except (pa.ArrowException, OSError) as error:
        first = (str(error).splitlines() or ["unreadable"])[0]
        raise DataError(f"not a Parquet file: {first}", where=str(path), hint=hint) from None
    if not table.schema.equals(schema):
        names, wanted = set(table.schema.names), set(schema.names)
        differing = sorted(names ^ wanted) or ["their types"]
        raise DataError(
            f"this dataset has other columns than expected: {', '.join(differing[:5])}",
            where=str(path),
            hint=hint,
        )
    return table


def with_missing(table: pa.Table, missing: dict[str, str]) -> pa.Table:
    """The table with {launch id: why it has no rows} in its metadata."""
    return table.replace_schema_metadata({MISSING_KEY: canonical_json(missing).encode()})


def missing(table: pa.Table) -> dict[str, str]:
    """What `with_missing` stored; empty if nothing."""
    metadata = table.schema.metadata or {}
    stored: dict[str, str] = json.loads(metadata.get(MISSING_KEY, b"{}"))
    return stored
