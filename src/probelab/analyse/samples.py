"""The statistical unit: one figure per role and repeat, the mean over the role's warps."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from probelab.analyse.statistics import Floats
from probelab.schema.plan import Chunk, Launch, Variant
from probelab.schema.tidy import launches, role_slots

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Source:
    """Where figures come from; figures of two sources are never set against each other."""

    backend: str
    recording: str
    device: str
    device_uuid: str

    @property
    def predicted(self) -> bool:
        """Whether the figures are the model's."""
        return self.backend == "model"


@dataclass(frozen=True)
class Sample:
    """What one role did in one launch."""

    variant: Variant
    launch: Launch
    role: str
    warp_slots: list[int]
    source: Source
    kernel_digest: str
    nvcc_version: str
    repeats: int
    rejection_reasons: list[str]
    progress: Floats  #: iterations per accepted repeat, mean over the role's warps and blocks
    cycles_per_iteration: Floats  #: likewise; repeats without a finished iteration are left out
    warp_spread: float | None  #: cycles per iteration, largest minus smallest mean of a warp

    @property
    def usable(self) -> bool:
        """Whether a ratio may be built on it."""
        return len(self.progress) > 0 and float(self.progress.mean()) > 0


def _codes(column: Any) -> tuple[Ints, list[str]]:
    encoded = column.combine_chunks().dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    return encoded.indices.to_numpy(zero_copy_only=False), encoded.dictionary.to_pylist()


def _group_means(values: Floats, groups: Ints) -> Floats:
    """Mean of `values` in each group of `groups`, groups ascending; NaN doesn't count."""
    _, place = np.unique(groups, return_inverse=True)
    known = ~np.isnan(values)
    counts = np.bincount(place, weights=known)
    sums = np.bincount(place, weights=np.where(known, values, 0.0))
    with np.errstate(invalid="ignore"):
        result: Floats = sums / np.where(counts > 0, counts, np.nan)
    return result


def samples(measurements: pa.Table, plan: Iterable[Chunk]) -> dict[tuple[str, str], Sample]:
    """The samples by (launch id, role); launches without rows have none.

    Args:
        measurements: a table of the schema `MEASUREMENTS`.
        plan: all chunks; rows of launches that aren't planned are left alone.
    """
    codes, names = _codes(measurements["launch"])
    order = np.argsort(codes, kind="stable")
    bounds = np.searchsorted(codes[order], np.arange(len(names) + 1))
    rows_of = {name: order[bounds[i] : bounds[i + 1]] for i, name in enumerate(names)}
    role_codes, role_names = _codes(measurements["role"])
    columns = {
        name: measurements[name].to_numpy()
        for name in ("repeat", "accepted", "block", "warp_slot", "progress", "cycles_per_iteration")
    }
    found: dict[tuple[str, str], Sample] = {}
    for variant, launch in launches(plan):
        rows = rows_of.get(launch.id)
        if rows is None:
            continue
        head = _head(measurements, int(rows[0]))
        part = {name: column[rows] for name, column in columns.items()}
        accepted = part["accepted"].astype(bool)
        reasons = measurements["reason"].take(pa.array(rows[~accepted])).to_pylist()
        for role, slots in role_slots(variant, launch).items():
            mine = accepted & (role_codes[rows] == role_names.index(role))
            cycles = part["cycles_per_iteration"][mine]
            per_repeat = _group_means(cycles, part["repeat"][mine])
            warps = part["block"][mine] * launch.warps + part["warp_slot"][mine]
            per_warp = _group_means(cycles, warps)
            per_warp = per_warp[~np.isnan(per_warp)]
            found[launch.id, role] = Sample(
                variant=variant,
                launch=launch,
                role=role,
                warp_slots=slots,
                source=head[0],
                kernel_digest=head[1],
                nvcc_version=head[2],
                repeats=len(np.unique(part["repeat"])),
                rejection_reasons=sorted(set(reasons)),
                progress=_group_means(part["progress"][mine], part["repeat"][mine]),
                cycles_per_iteration=per_repeat[~np.isnan(per_repeat)],
                warp_spread=float(np.ptp(per_warp)) if len(per_warp) else None,
            )
    return found


def _head(measurements: pa.Table, row: int) -> tuple[Source, str, str]:
    """What is the same for all rows of a launch: its source, kernel digest and compiler."""
    source = Source(
        **{
            name: measurements[name][row].as_py()
            for name in ("backend", "recording", "device", "device_uuid")
        }
    )
    return (
        source,
        measurements["kernel_digest"][row].as_py(),
        measurements["nvcc_version"][row].as_py(),
    )
