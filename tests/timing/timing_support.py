"""A small world to time in: variants, launches, manifests, and a GPU made of Python."""

import contextlib
import json
import struct
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from probelab.canonical import digest
from probelab.schema.manifests import (
    BuildManifest,
    BuildRow,
    PredictManifest,
    PredictRow,
    ShapeManifest,
    ShapeRow,
    TimingManifest,
    WarpPrediction,
)
from probelab.schema.plan import Chunk, Launch, TimingSettings, Variant
from probelab.store import Store
from probelab.timing.devices import Gpu
from probelab.timing.measure import Harness
from probelab.timing.station import time_chunk

GPU = Gpu(0, "NVIDIA Test", "GPU-0123", "9.0", "580.1")
OTHER_GPU = Gpu(1, "NVIDIA Old", "GPU-4567", "8.6", "580.1")

FAKE_WORKER = Path(__file__).parent / "timing_fake_worker.py"

#: The same arithmetic as in the fake worker; exact in float32.
REFERENCE_SOURCE = """
extern "C" int probe_reference(int role_index, unsigned thread_index, float seed,
                               const unsigned long long* iterations, int count, float* sinks) {
    if (role_index < 0 || role_index > 1) return 1;
    for (int i = 0; i < count; ++i) {
        if (i > 0 && iterations[i] <= iterations[i - 1]) return 2;  // ascending is promised
        sinks[i] = seed * float(iterations[i] % 1000 + 1000 * role_index + thread_index);
    }
    return 0;
}
"""


def compile_reference(source: str, path: Path) -> Path:
    """Compile a host reference."""
    subprocess.run(
        ["g++", "-x", "c++", "-", "-shared", "-fPIC", "-o", str(path)],
        input=source,
        text=True,
        check=True,
    )
    return path


def elf(flags: int, abi: int, machine: int = 190) -> bytes:
    """The header of an ELF file; a cubin's unless told."""
    ident = b"\x7fELF\x02\x01\x01" + bytes([abi]) + bytes(8)
    return ident + struct.pack("<HHIQQQI", 2, machine, 1, 0, 0, 0, flags) + bytes(12)


def make_variant(
    number: int, roles: Sequence[str] = ("chain", "split"), arch: str = "sm_90"
) -> Variant:
    return Variant(
        id=f"probe-{number:012x}",
        probe="probe",
        kernel="probe.cu",
        roles=list(roles),
        placement="coresident",
        dispatch="hoisted",
        arch=arch,
        flags=["-O3"],
    )


def make_launch(variant: Variant, threads: int = 64, blocks: int = 1, **other: Any) -> Launch:
    fields: dict[str, Any] = {
        "variant": variant.id,
        "threads_per_block": threads,
        "blocks": blocks,
        "clock_budget_cycles": 10000,
        "role_map": [slot % len(variant.roles) for slot in range(threads // 32)],
        "seed": 0.5,
        **other,
    }
    return Launch(id=f"{variant.id}-{digest(fields)[:8]}", **fields)


def make_build(variant: Variant, **other: Any) -> BuildRow:
    fields: dict[str, Any] = {
        "id": variant.id,
        "status": "ok",
        "symbol": variant.symbol,
        "cubin": f"build/{variant.id}.cubin",
        "kernel_digest": digest(variant.id),
        "source_digest": digest([variant.id, "source"]),
        "arch": variant.arch,
        "nvcc_version": "13.2.86",
        "flags": variant.flags,
        "parameter_bytes": [8, 8, 4, 32],
        "reference": "reference.so",
        "reference_roles": ["chain", "split"],
        **other,
    }
    return BuildRow(**fields)


def make_prediction(launch: Launch, cycles: float | None = 32.5) -> PredictRow:
    warps = [
        WarpPrediction(
            warp_slot=slot,
            role="chain",
            cycles_per_iteration=cycles,
            reason="" if cycles else "two warps share a sub-core",
            assumptions=["a taken branch costs 10 cycles"],
        )
        for slot in range(launch.warps)
    ]
    return PredictRow(id=launch.id, variant=launch.variant, status="ok", warps=warps)


@dataclass
class Lab:
    """A chunk with its manifests below a directory, and a fake GPU.

    `scenario` says by kernel symbol what the fake GPU does wrong; `launched()` what it was asked.
    """

    root: Path
    variants: list[Variant] = field(default_factory=list)
    launches: list[Launch] = field(default_factory=list)
    builds: dict[str, BuildRow] = field(default_factory=dict)
    shapes: dict[str, ShapeRow] = field(default_factory=dict)
    predictions: dict[str, PredictRow] = field(default_factory=dict)
    scenario: dict[str, Any] = field(default_factory=dict)
    gpus: list[Gpu] = field(default_factory=lambda: [GPU])
    recordings: list[Path] = field(default_factory=list)
    available: bool = True
    arch: str = "sm_90"

    @property
    def results(self) -> Path:
        return self.root / "results"

    def add(
        self, number: int, *, threads: Sequence[int] = (64,), does: Any = None, **build: Any
    ) -> list[Launch]:
        """A variant with one launch per number of threads."""
        variant = make_variant(number, arch=self.arch)
        self.variants.append(variant)
        launches = [make_launch(variant, count) for count in threads]
        self.launches += launches
        self.builds[variant.id] = make_build(variant, **build)
        self.shapes[variant.id] = ShapeRow(id=variant.id, status="ok")
        for launch in launches:
            self.predictions[launch.id] = make_prediction(launch)
        if does is not None:
            self.scenario[variant.symbol] = does
        return launches

    def worker(self) -> list[str]:
        path = self.root / "scenario.json"
        path.write_text(json.dumps({"log": str(self.root / "log"), "kernels": self.scenario}))
        return [sys.executable, str(FAKE_WORKER), str(path)]

    def launched(self) -> list[tuple[int, str, int]]:
        """(process id, symbol, threads) of each launch that reached the fake GPU."""
        log = self.root / "log"
        lines = log.read_text().splitlines() if log.exists() else []
        return [(int(pid), symbol, int(threads)) for pid, symbol, threads in map(str.split, lines)]

    def time(self, backend: str = "auto", real: bool = False, **settings: Any) -> TimingManifest:
        """Time the chunk with the fake GPU, or with the real one."""
        fields = {"repeats": 3, "warmup": 1, "timeout_s": 20.0, **settings}
        return time_chunk(
            self.chunk(),
            BuildManifest(station="build", chunk="c", rows=list(self.builds.values())),
            ShapeManifest(station="shape", chunk="c", rows=list(self.shapes.values())),
            PredictManifest(
                station="predict",
                chunk="c",
                rows=list(self.predictions.values()),
                plan=self.chunk(),
            ),
            TimingSettings.model_validate({"backend": backend, **fields}),
            self.results,
            Store(self.root / "cache"),
            self.recordings,
            None if real else self._harness(),
        )

    def _harness(self) -> Harness:
        return Harness(
            gpus=lambda: self.gpus,
            available=lambda: self.available,
            worker=self.worker(),
            lock=_first,
            retry_pause_s=0.01,
        )

    def chunk(self) -> Chunk:
        return Chunk(
            id=f"probe.{self.arch}.b0",
            probe="probe",
            arch=self.arch,
            variants=self.variants,
            launches=self.launches,
        )


@contextlib.contextmanager
def _first(gpus: Sequence[Gpu]) -> Iterator[Gpu]:
    yield gpus[0]
