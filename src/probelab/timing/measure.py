"""The backend `pycuda`: launches measured on a GPU, or taken from the store of earlier ones."""

import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from probelab.architectures import base_arch
from probelab.canonical import digest, digest_file
from probelab.errors import DataError, ToolError
from probelab.schema.manifests import BuildRow
from probelab.schema.plan import Launch, TimingSettings, Variant
from probelab.schema.raw import Device, RawResult
from probelab.timing import HARNESS_VERSION
from probelab.timing.arguments import ArgumentError, check_parameters
from probelab.timing.child import python_command
from probelab.timing.devices import Gpu, locked, node_name, pycuda_present, visible_gpus
from probelab.timing.driver import LaunchRequest
from probelab.timing.judge import Judge, Sinks, sink_queries
from probelab.timing.measurement import (
    STATION,
    ExpectedSink,
    Measurement,
    store_key,
)
from probelab.timing.records import RECORD_BYTES
from probelab.timing.reference import ReferenceProcess
from probelab.timing.results import toolchain
from probelab.timing.session import BackendMissingError, Job, Outcome, Session

logger = logging.getLogger(__name__)


class Store(Protocol):
    """The content-addressed store, as far as timing uses it."""

    def get(self, station: str, key: str) -> Path | None:
        """Directory of an entry, if there is one."""

    def make(self, station: str, key: str, label: str) -> AbstractContextManager[Path]:
        """A temporary directory that becomes the entry, or is thrown away on an exception."""


@dataclass(frozen=True)
class Harness:
    """How a GPU is found and reached; tests put other parts here.

    Args:
        gpus: lists the GPUs that may be used.
        available: whether the GPU library is installed.
        worker: command that starts a worker.
        reference: command that starts a reference process; None: the usual one.
        lock: holds one of several GPUs.
        retry_pause_s: pause before a worker that didn't start is tried again.
    """

    gpus: Callable[[], list[Gpu]] = visible_gpus
    available: Callable[[], bool] = pycuda_present
    worker: Sequence[str] = field(default_factory=lambda: python_command("probelab.timing.worker"))
    reference: Sequence[str] | None = None
    lock: Callable[[Sequence[Gpu]], AbstractContextManager[Gpu]] = locked
    retry_pause_s: float = 2.0


@dataclass(frozen=True)
class Due:
    """A launch that is to be timed, with what belongs to it."""

    launch: Launch
    variant: Variant
    build: BuildRow


@dataclass(frozen=True)
class Timed:
    """What came of a launch: a raw result, a reason, or both (repeats that aren't accepted)."""

    raw: RawResult | None = None
    failure: str = ""
    note: str = ""


def suitable(gpus: Sequence[Gpu], arch: str) -> tuple[list[Gpu], str]:
    """The GPUs that run code for `arch`, or why there are none."""
    base = base_arch(arch)
    fitting = [gpu for gpu in gpus if gpu.arch == base]
    if fitting:
        return fitting, ""
    if not gpus:
        return [], "no GPU is here"
    # One line that names both: a cubin runs on the architecture that it was built for.
    return [], f"cubin is {arch}, the device is {gpus[0].arch} ({gpus[0].name})"


class GpuTimer:
    """Times the launches of a chunk on a GPU.

    Args:
        name: the chunk's id.
        settings: how to time.
        results: directory that the builds' paths are relative to.
        store: of measurements.
        harness: how a GPU is reached.
    """

    def __init__(
        self, name: str, settings: TimingSettings, results: Path, store: Store, harness: Harness
    ) -> None:
        self._name = name
        self._settings = settings
        self._results = results
        self._store = store
        self._harness = harness

    def time(self, due: Sequence[Due], gpus: Sequence[Gpu]) -> dict[str, Timed]:
        """Time launches, those apart that the store has; results by launch id.

        Args:
            due: the launches, all of one architecture.
            gpus: of that architecture, at least one.

        Raises:
            BackendMissingError: if something has to be measured and PyCUDA can't be imported.
        """
        timed: dict[str, Timed] = {}
        stored: dict[str, Measurement] = {}
        missing: dict[tuple[str, str], list[Due]] = {}
        for item in due:
            reason = _unfit(item)
            try:
                found = None if reason else self._stored(item, gpus)
            except DataError as error:
                reason = str(error)
            if reason:
                timed[item.launch.id] = Timed(failure=reason)
            elif found is not None:
                stored[item.launch.id] = found
            else:
                # Variants may be the same kernel; it is measured once, as the store has it once.
                same = (item.build.kernel_digest, item.launch.settings_digest)
                missing.setdefault(same, []).append(item)
        with closing(ReferenceProcess(self._harness.reference)) as references:
            judging = _Judging(self._results, references)
            for item in due:
                if item.launch.id in stored:
                    timed[item.launch.id] = judging.judge(item, stored[item.launch.id])[0]
            if missing:
                outcomes, device = self._measure([items[0] for items in missing.values()], gpus)
                for first, *others in missing.values():
                    for item in (first, *others):
                        outcome = outcomes[first.launch.id]
                        timed[item.launch.id] = self._finish(item, outcome, device, judging)
        return timed

    def _stored(self, item: Due, gpus: Sequence[Gpu]) -> Measurement | None:
        for gpu in gpus:
            path = self._store.get(STATION, self._key(item, gpu.uuid, gpu.driver_version))
            if path is not None:
                return Measurement.read(path)
        return None

    def _key(self, item: Due, uuid: str, driver_version: str) -> str:
        return store_key(
            item.build.kernel_digest, item.launch, self._settings, uuid, driver_version
        )

    def _measure(
        self, missing: Sequence[Due], gpus: Sequence[Gpu]
    ) -> tuple[dict[str, Outcome], Device | None]:
        with self._harness.lock(gpus) as gpu:
            session = Session(
                self._name,
                [self._job(item) for item in missing],
                gpu=gpu,
                repeats=self._settings.repeats,
                warmup=self._settings.warmup,
                timeout_s=self._settings.timeout_s,
                command=self._harness.worker,
                retry_pause_s=self._harness.retry_pause_s,
            )
            return session.run(), session.device

    def _job(self, item: Due) -> Job:
        launch, build = item.launch, item.build
        return Job(
            launch=launch.id,
            variant=launch.variant,
            request=LaunchRequest(
                cubin=str((self._results / build.cubin).resolve()),
                symbol=build.symbol,
                parameter_bytes=build.parameter_bytes,
                threads_per_block=launch.threads_per_block,
                blocks=launch.blocks,
                record_bytes=launch.warps * launch.blocks * RECORD_BYTES,
                clock_budget_cycles=launch.clock_budget_cycles,
                seed=launch.seed,
                role_map=launch.role_map,
            ),
        )

    def _finish(
        self, item: Due, outcome: Outcome, device: Device | None, judging: "_Judging"
    ) -> Timed:
        """Judge what was measured, and store it if it is complete and of use."""
        if not outcome.samples or device is None:
            return Timed(failure=outcome.failure or "nothing was measured")
        measurement = Measurement(
            kernel_digest=item.build.kernel_digest,
            settings_digest=item.launch.settings_digest,
            harness_version=HARNESS_VERSION,
            device=device,
            node=node_name(),
            samples=outcome.samples,
        )
        timed, measurement = judging.judge(item, measurement)
        complete = len(outcome.samples) == self._settings.repeats
        if complete and not outcome.failure and not timed.failure:
            key = self._key(item, device.uuid, device.driver_version)
            if self._store.get(STATION, key) is None:
                self._write(key, item, measurement)
        if outcome.failure:
            done = f"after {len(outcome.samples)} of {self._settings.repeats} repeats"
            return Timed(raw=timed.raw, failure=f"{outcome.failure} ({done})")
        return timed

    def _write(self, key: str, item: Due, measurement: Measurement) -> None:
        with self._store.make(STATION, key, item.launch.id) as directory:
            measurement.write(directory)


class _Judging:
    """Judges measurements, with the host references that belong to them."""

    def __init__(self, results: Path, references: ReferenceProcess) -> None:
        self._results = results
        self._references = references

    def judge(self, item: Due, measurement: Measurement) -> tuple[Timed, Measurement]:
        """The raw result, and the measurement with the sinks that were expected."""
        indices = _role_indices(item)
        sinks, note, measurement = self._sinks(item, indices, measurement)
        judge = Judge(
            launch=item.launch,
            variant=item.variant,
            sm_count=measurement.device.sm_count,
            budget_passed=len(item.build.parameter_bytes) > 1,
            role_indices=indices,
            sinks=sinks,
        )
        ordered = sorted(measurement.samples, key=lambda sample: sample.repeat)
        repeats = [judge.repeat(sample) for sample in ordered]
        raw = RawResult(
            backend="pycuda",
            launch=item.launch,
            variant=item.variant,
            kernel_digest=item.build.kernel_digest,
            source_digest=item.build.source_digest,
            toolchain=toolchain(item.build),
            harness_version=measurement.harness_version,
            device=measurement.device,
            node=measurement.node,
            measured_at=min(sample.started_at for sample in ordered),
            sink_reason=note,
            repeats=repeats,
        )
        refused = [repeat for repeat in repeats if not repeat.accepted]
        accepted = f"{len(repeats) - len(refused)} of {len(repeats)} accepted"
        if len(refused) == len(repeats):
            return Timed(raw, failure=f"{accepted}: {refused[0].reason}"), measurement
        if refused:
            return Timed(raw, note=f"{accepted}: {refused[0].reason}"), measurement
        told = f"sinks not checked: {note}" if note and item.build.reference else ""
        return Timed(raw, note=told), measurement

    def _sinks(
        self, item: Due, indices: Sequence[int | None], measurement: Measurement
    ) -> tuple[Sinks | None, str, Measurement]:
        """Expected sinks (None: not to be had, with the reason), kept in the measurement."""
        build = item.build
        if not build.reference:
            return None, "the variant has no host reference", measurement
        path = self._results / build.reference
        try:
            # The roles too: a variant that is the same kernel has its sinks under other indices.
            identity = digest(
                [
                    *(digest_file(path), build.reference_roles, item.variant.roles),
                    *([build.reference_settings] if build.reference_settings else []),
                ]
            )
        except OSError as error:
            return None, f"can't read the host reference: {error.strerror}", measurement
        unknown = [
            role for role, index in zip(item.variant.roles, indices, strict=True) if index is None
        ]
        note = f"the host reference lacks {', '.join(unknown)}" if unknown else ""
        if measurement.reference_digest == identity:
            known = {
                (sink.role, sink.thread, sink.iterations): sink.sink for sink in measurement.sinks
            }
            return known, note, measurement
        queries = sink_queries(measurement.samples, item.launch, indices)
        try:
            sinks = self._references.sinks(
                path, item.launch.seed, queries, build.reference_settings
            )
        except ToolError as error:
            logger.warning("%s: %s", item.launch.id, error)
            return None, str(error), measurement
        expected = [
            ExpectedSink(role=role, thread=thread, iterations=iterations, sink=sink)
            for (role, thread, iterations), sink in sorted(sinks.items())
        ]
        kept = measurement.model_copy(update={"reference_digest": identity, "sinks": expected})
        return sinks, note, kept


def _role_indices(item: Due) -> list[int | None]:
    """For each role of the variant its index in the host reference."""
    known = {role: index for index, role in enumerate(item.build.reference_roles)}
    return [known.get(role) for role in item.variant.roles]


def _unfit(item: Due) -> str:
    """Why a launch can't be made at all; empty if it can."""
    try:
        check_parameters(item.build.parameter_bytes)
    except ArgumentError as error:
        return str(error)
    return ""


__all__ = ["BackendMissingError", "Due", "GpuTimer", "Harness", "Store", "Timed", "suitable"]
