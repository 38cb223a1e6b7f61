"""From raw JSON, one file per launch, to `measurements.parquet`.

The table is built column by column: what is the same for a launch or a repeat is stored once
and repeated at the end, so that thousands of launches take seconds.
"""

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pydantic import ValidationError

from probelab.errors import DataError
from probelab.schema import tables
from probelab.schema.plan import SUB_CORES, Chunk, Launch, Variant
from probelab.schema.raw import RAW_SCHEMA_VERSION, RawResult, Repeat, WarpResult
from probelab.schema.tidy import Evidence, launches, role_slots


@dataclass
class _Level:
    """Columns with one value per launch, repeat or warp, and how many rows each stands for."""

    columns: dict[str, list[Any]] = field(default_factory=lambda: defaultdict(list))
    rows: list[int] = field(default_factory=list)

    def add(self, rows: int, **values: Any) -> None:
        for name, value in values.items():
            self.columns[name].append(value)
        self.rows.append(rows)

    def arrays(self, schema: pa.Schema) -> dict[str, pa.Array]:
        """The columns at full length."""
        places = pa.array(np.repeat(np.arange(len(self.rows)), self.rows))
        return {
            name: pa.array(values, type=schema.field(name).type).take(places)
            for name, values in self.columns.items()
        }


def _check_warps(repeat: Repeat, roles: dict[int, str], blocks: int) -> None:
    seen = set()
    for warp in repeat.warps:
        place = f"repeat {repeat.index}, block {warp.block}, warp slot {warp.warp_slot}"
        if (warp.block, warp.warp_slot) in seen:
            raise ValueError(f"{place}: this warp stands there twice")
        seen.add((warp.block, warp.warp_slot))
        if not 0 <= warp.block < blocks:
            raise ValueError(f"{place}: the launch has {blocks} blocks")
        if roles.get(warp.warp_slot) != warp.role:
            raise ValueError(f"{place}: the launch has no role {warp.role!r} there")
        if not (math.isfinite(warp.progress) and math.isfinite(warp.cycles)):
            raise ValueError(f"{place}: progress or cycles are no numbers")
        if warp.progress < 0 or warp.cycles < 0:
            raise ValueError(f"{place}: progress or cycles are negative")
    if len(seen) < len(roles) * blocks:
        raise ValueError(
            f"repeat {repeat.index}: {len(seen)} of {len(roles) * blocks} warps are there"
        )


def read_raw(path: Path, variant: Variant, launch: Launch) -> RawResult:
    """The raw result of a launch.

    Raises:
        DataError: if the file is missing, damaged, or of another launch.
    """
    try:
        raw = RawResult.model_validate_json(path.read_bytes())
        if raw.schema_version != RAW_SCHEMA_VERSION:
            raise ValueError(f"schema version {raw.schema_version}, not {RAW_SCHEMA_VERSION}")
        if raw.launch.id != launch.id or raw.variant.id != variant.id:
            raise ValueError(f"this is the result of another launch, {raw.launch.id}")
        if len({repeat.index for repeat in raw.repeats}) < len(raw.repeats):
            raise ValueError("one repeat stands there twice")
        roles = {
            slot: role for role, slots in role_slots(variant, launch).items() for slot in slots
        }
        for repeat in raw.repeats:
            _check_warps(repeat, roles, launch.blocks)
    except OSError as error:
        raise DataError(f"can't read the raw result: {error.strerror}", where=path.name) from None
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        what = f"{key}: {first['msg']}" if key else first["msg"]
        raise DataError(f"the raw result is damaged: {what}", where=path.name) from None
    except ValueError as error:
        raise DataError(f"the raw result is damaged: {error}", where=path.name) from None
    return raw


def _add_launch(
    level: _Level, variant: Variant, launch: Launch, raw: RawResult, shape_status: str
) -> None:
    device = raw.device
    level.add(
        sum(len(repeat.warps) for repeat in raw.repeats),
        variant=variant.id,
        launch=launch.id,
        kernel=variant.kernel,
        probe=variant.probe,
        arch=variant.arch,
        placement=variant.placement,
        dispatch=variant.dispatch,
        threads_per_block=launch.threads_per_block,
        blocks=launch.blocks,
        warps_per_sub_core=launch.warps_per_sub_core,
        clock_budget_cycles=launch.clock_budget_cycles,
        seed=launch.seed,
        backend=raw.backend,
        recording=raw.recording,
        device=device.name if device else "",
        device_uuid=device.uuid if device else "",
        compute_capability=device.compute_capability if device else "",
        driver_version=device.driver_version if device else "",
        measured_at=raw.measured_at,
        model_reason=raw.model_reason,
        nvcc_version=raw.toolchain.nvcc_version,
        nvcc_flags=raw.toolchain.flags,
        disassembler_version=raw.toolchain.disassembler_version,
        kernel_digest=raw.kernel_digest,
        source_digest=raw.source_digest,
        harness_version=raw.harness_version,
        shape_status=shape_status,
    )


def _add_repeat(level: _Level, repeat: Repeat) -> None:
    level.add(
        len(repeat.warps),
        repeat=repeat.index,
        order=repeat.order,
        accepted=repeat.accepted,
        reason=repeat.reason,
        sm_clock_mhz=repeat.sm_clock_mhz,
        throttle_reasons=repeat.throttle_reasons,
        started_at=repeat.started_at,
        wall_s=repeat.wall_s,
    )


def _add_warp(level: _Level, warp: WarpResult) -> None:
    level.add(
        1,
        block=warp.block,
        warp_slot=warp.warp_slot,
        sub_core=warp.warp_slot % SUB_CORES,
        sm_id=warp.sm_id,
        role=warp.role,
        progress=warp.progress,
        cycles=warp.cycles,
        cycles_per_iteration=warp.cycles / warp.progress if warp.progress else None,
        sink=warp.sink,
        sink_status=warp.sink_status,
    )


def measurements(results: Path, plan: Iterable[Chunk], evidence: Evidence) -> pa.Table:
    """Every measured or predicted warp of every launch, ordered by launch, repeat, block, slot.

    Args:
        results: the directory that the paths of the manifests are relative to.
        plan: all chunks, in any order.
        evidence: the manifests; of these, timing and shape are used.

    Returns:
        A table of the schema `MEASUREMENTS`. A launch that was timed but whose raw file can't
        be used has no rows; its metadata (`tables.missing`) says why.
    """
    of_launch, of_repeat, of_warp = _Level(), _Level(), _Level()
    missing: dict[str, str] = {}
    for variant, launch in launches(plan):
        row = evidence.timing.get(launch.id)
        if row is None or row.status != "ok":
            continue
        try:
            if not row.raw:
                raise DataError("the timing station names no raw result")
            raw = read_raw(results / row.raw, variant, launch)
        except DataError as error:
            missing[launch.id] = str(error)
            continue
        _add_launch(of_launch, variant, launch, raw, evidence.shape_status(variant.id))
        for repeat in sorted(raw.repeats, key=lambda repeat: repeat.index):
            _add_repeat(of_repeat, repeat)
            for warp in sorted(repeat.warps, key=lambda warp: (warp.block, warp.warp_slot)):
                _add_warp(of_warp, warp)
    schema = tables.MEASUREMENTS
    arrays = {
        name: column
        for level in (of_launch, of_repeat, of_warp)
        for name, column in level.arrays(schema).items()
    }
    if arrays:
        table = pa.Table.from_arrays([arrays[name] for name in schema.names], schema=schema)
    else:
        table = schema.empty_table()
    return tables.with_missing(table, missing)


def aggregate(results: Path, plan: Iterable[Chunk], evidence: Evidence, out: Path) -> None:
    """Write `measurements.parquet`: equal input gives equal bytes, in whatever order it comes.

    Args:
        results: the directory that the paths of the manifests are relative to.
        plan: all chunks, in any order.
        evidence: the manifests of all chunks.
        out: the Parquet file.
    """
    tables.write(measurements(results, plan, evidence), out)
