"""The measured loops as rows of a summary, shapes and points."""

import csv
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from probelab.codegen.points import Observation, observations
from probelab.config.sweeps import Point
from probelab.schema import tables
from probelab.schema.manifests import RoleShape, ShapeRow
from probelab.schema.tidy import Evidence

DATA = Path(__file__).parent / "data"
SWEEP = "loops"

_EMPTY: dict[str, Any] = {"string": "", "int32": 0, "int64": 0, "double": 0.0, "bool": False}


def row_of(schema: pa.Schema, **values: Any) -> dict[str, Any]:
    """A row with neutral values where none is given."""
    row = {}
    for field in schema:
        neutral = [] if pa.types.is_list(field.type) else _EMPTY.get(str(field.type))
        row[field.name] = values.get(field.name, None if field.nullable else neutral)
    assert values.keys() <= row.keys()
    return row


@cache
def shapes() -> dict[str, RoleShape]:
    """By kernel."""
    table = pq.read_table(DATA / "loops_shapes.parquet").to_pydict()
    return {
        kernel: RoleShape.model_validate_json(text)
        for kernel, text in zip(table["kernel"], table["role_shape"], strict=True)
    }


def _figures() -> list[dict[str, str]]:
    with (DATA / "loops_cycles.csv").open(newline="") as stream:
        return list(csv.DictReader(stream))


def point(figure: dict[str, str]) -> Point:
    return Point(
        op=figure["op"],
        length=int(figure["length"]),
        accumulators=int(figure["accumulators"]),
        tail=figure["tail"],
    )


def summary_rows(**changes: Any) -> list[dict[str, Any]]:
    """As analyse would give them."""
    rows = []
    for figure in _figures():
        warps = int(figure["warps_per_sub_core"])
        values = {
            "variant": figure["kernel"],
            "launch": f"{figure['kernel']}-{warps}",
            "probe": SWEEP,
            "arch": "sm_90",
            "placement": "isolated",
            "dispatch": "none",
            "threads_per_block": 128 * warps,
            "blocks": 1,
            "warps_per_sub_core": float(warps),
            "role": point(figure).role,
            "backend": "recorded",
            "device": "NVIDIA H200",
            "status": "ok",
            "shape_status": "ok",
            "cycles_per_iteration_mean": float(figure["cycles_per_iteration"]),
            "cycles_per_iteration_ci_low": float(figure["lowest_repeat"]),
            "cycles_per_iteration_ci_high": float(figure["highest_repeat"]),
            "warp_spread_cycles_per_iteration": float(figure["warp_spread_cycles"]),
        }
        rows.append(row_of(tables.SUMMARY, **values | changes))
    return rows


def points() -> dict[str, dict[str, Point]]:
    made = [point(figure) for figure in _figures()]
    return {SWEEP: {one.role: one for one in made}}


def evidence() -> Evidence:
    by_kernel = {figure["kernel"]: point(figure).role for figure in _figures()}
    return Evidence(
        shape={
            kernel: ShapeRow(
                id=kernel,
                status="ok",
                roles=[shapes()[kernel].model_copy(update={"role": role})],
            )
            for kernel, role in by_kernel.items()
        }
    )


@cache
def measured() -> tuple[Observation, ...]:
    return tuple(observations(summary_rows(), evidence(), points()))


def datasets(folder: Path) -> tuple[Path, Path]:
    """summary.parquet and measurements.parquet of the loops."""
    summary, measurements = folder / "summary.parquet", folder / "measurements.parquet"
    rows = summary_rows()
    tables.write(pa.Table.from_pylist(rows, tables.SUMMARY), summary)
    dated = [
        row_of(tables.MEASUREMENTS, launch=row["launch"], measured_at="2026-11-30T21:25:00Z")
        for row in rows
    ]
    tables.write(pa.Table.from_pylist(dated, tables.MEASUREMENTS), measurements)
    return summary, measurements
