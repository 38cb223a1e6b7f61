"""The timing station: each launch of a chunk by the first backend that applies."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from probelab.errors import DataError
from probelab.schema.manifests import (
    BuildManifest,
    BuildRow,
    PredictManifest,
    PredictRow,
    ShapeManifest,
    ShapeRow,
    TimingManifest,
    TimingRow,
)
from probelab.schema.plan import Chunk, Launch, TimingSettings, Variant
from probelab.timing.measure import (
    BackendMissingError,
    Due,
    GpuTimer,
    Harness,
    Store,
    Timed,
    suitable,
)
from probelab.timing.model import predicted, why_not
from probelab.timing.recorded import Entry, Recordings, best, recorded
from probelab.timing.results import remove_stale, write_raw

logger = logging.getLogger(__name__)


def time_chunk(
    chunk: Chunk,
    build: BuildManifest,
    shape: ShapeManifest,
    predictions: PredictManifest,
    settings: TimingSettings,
    results: Path,
    store: Store,
    recordings: Sequence[Path],
    harness: Harness | None = None,
) -> TimingManifest:
    """Time the launches of a chunk and write their raw JSON.

    Nothing that goes wrong with a launch is raised: it is the reason of its row. An `ok` row has
    a reason too if there is something to know (repeats that were not accepted, unchecked sinks, a
    better backend that couldn't be used).

    Args:
        chunk: variants and launches, all of one architecture.
        build: rows of the chunk's variants; paths in it are relative to `results`.
        shape: rows of the same variants; a broken shape is not timed.
        predictions: rows of the chunk's launches.
        settings: how to time, and by which backend.
        results: directory below which `timing/<chunk>/<launch>.json` is written.
        store: of measurements.
        recordings: Parquet files that `recorded` may use.
        harness: how a GPU is reached; None: through PyCUDA, if there is a GPU.

    Raises:
        OSError: if a raw file can't be written.
    """
    job = _Job(chunk, settings, results, store, recordings, harness or Harness())
    rows: dict[str, TimingRow] = {}
    due: list[Due] = []
    variants = {variant.id: variant for variant in chunk.variants}
    for launch in chunk.launches:
        variant = variants.get(launch.variant)
        row = build.by_id().get(launch.variant)
        reason = _gate(launch, variant, row, shape.by_id().get(launch.variant))
        if variant is None or row is None or reason:
            rows[launch.id] = _row(launch, "skipped", reason)
        else:
            due.append(Due(launch, variant, row))
    rows.update(job.time(due, predictions.by_id()))
    remove_stale(results, chunk.id, {row.raw for row in rows.values() if row.raw})
    return TimingManifest(
        station="timing", chunk=chunk.id, rows=[rows[key] for key in sorted(rows)]
    )


def _gate(
    launch: Launch, variant: Variant | None, build: BuildRow | None, shape: ShapeRow | None
) -> str:
    """Why a launch is not timed; empty if it may be."""
    if variant is None or build is None:
        return "its variant is missing from the build's manifest"
    if build.status != "ok":
        return f"build {build.status}: {build.reason}"
    if not build.kernel_digest:
        return "the build's manifest has no digest of its kernel"
    if shape is not None and shape.status == "broken":
        return f"shape broken: {shape.reason}"
    if len(launch.role_map) < launch.warps:
        return f"the role map names {len(launch.role_map)} of {launch.warps} warp slots"
    if any(not 0 <= role < len(variant.roles) for role in launch.role_map):
        return f"the role map {launch.role_map} does not fit {len(variant.roles)} roles"
    return ""


def _row(launch: Launch, status: str, reason: str) -> TimingRow:
    return TimingRow.model_validate(
        {"id": launch.id, "variant": launch.variant, "status": status, "reason": reason}
    )


@dataclass
class _Job:
    """The state of one chunk's timing."""

    chunk: Chunk
    settings: TimingSettings
    results: Path
    store: Store
    recordings: Sequence[Path]
    harness: Harness
    rows: dict[str, TimingRow] = field(default_factory=dict)

    def time(self, due: Sequence[Due], predictions: dict[str, PredictRow]) -> dict[str, TimingRow]:
        """Rows of the launches that are due."""
        wanted = self.settings.backend
        reasons: dict[str, list[str]] = {item.launch.id: [] for item in due}
        note = ""
        left = list(due)
        if left and wanted in ("auto", "pycuda"):
            left, reason, note = self._measure(left)
            for item in left:
                reasons[item.launch.id].append(reason)
        if left and wanted in ("auto", "recorded"):
            left = self._take_recorded(left, reasons, note)
        if left and wanted in ("auto", "model"):
            left = self._take_predicted(left, predictions, reasons, note)
        for item in left:
            reason = "; ".join(reasons[item.launch.id])
            status = "skipped" if wanted in ("pycuda", "recorded") else "not predicted"
            self.rows[item.launch.id] = _row(item.launch, status, reason)
        return self.rows

    def _measure(self, due: list[Due]) -> tuple[list[Due], str, str]:
        """Time on a GPU; what is left, why, and what to note where another backend steps in."""
        gpus = self.harness.gpus()
        fitting, reason = suitable(gpus, self.chunk.arch)
        if not fitting:
            return due, reason, ""
        if not self.harness.available():
            reason = "a GPU is here, but PyCUDA is not installed"
            return due, reason, reason
        timer = GpuTimer(self.chunk.id, self.settings, self.results, self.store, self.harness)
        try:
            timed = timer.time(due, fitting)
        except BackendMissingError as error:
            reason = f"a GPU is here, but PyCUDA can't be imported: {error}"
            logger.warning("%s: %s", self.chunk.id, reason)
            return due, reason, reason
        for item in due:
            self._keep(item, "pycuda", timed[item.launch.id])
        return [], "", ""

    def _take_recorded(self, due: list[Due], reasons: dict[str, list[str]], note: str) -> list[Due]:
        try:
            digests = {item.build.kernel_digest for item in due}
            found = Recordings(self.recordings).find(self.chunk.arch, digests)
        except DataError as error:
            # Whether it holds these launches is unknown, so no other backend may step in.
            for item in due:
                self._keep(item, "recorded", Timed(failure=str(error)))
            return []
        left = []
        for item in due:
            entries = found.get((item.build.kernel_digest, item.launch.settings_digest))
            if entries:
                self._keep(item, "recorded", _from_recording(item, entries, note))
            else:
                reasons[item.launch.id].append("no recording of this kernel and launch")
                left.append(item)
        return left

    def _take_predicted(
        self,
        due: list[Due],
        predictions: dict[str, PredictRow],
        reasons: dict[str, list[str]],
        note: str,
    ) -> list[Due]:
        left = []
        for item in due:
            prediction = predictions.get(item.launch.id)
            reason = why_not(item.launch, prediction)
            if prediction is None or reason:
                reasons[item.launch.id].append(reason)
                left.append(item)
            else:
                raw = predicted(item.launch, item.variant, item.build, prediction)
                self._keep(item, "model", Timed(raw, note=note))
        return left

    def _keep(self, item: Due, backend: str, timed: Timed) -> None:
        """Write the raw result, if there is one, and make the row."""
        raw, digest = "", ""
        if timed.raw is not None:
            raw, digest = write_raw(self.results, self.chunk.id, timed.raw)
        self.rows[item.launch.id] = TimingRow(
            id=item.launch.id,
            variant=item.launch.variant,
            status="failed" if timed.failure else "ok",
            reason=timed.failure or timed.note,
            backend=backend,
            raw=raw,
            raw_digest=digest,
        )


def _from_recording(item: Due, entries: Sequence[Entry], note: str) -> Timed:
    try:
        raw = recorded(best(entries, item.launch), item.launch, item.variant, item.build)
    except DataError as error:
        return Timed(failure=str(error))
    return Timed(raw, note=note)
