"""Calling the command, a small store, and results to time."""

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from probelab.cli import app
from probelab.schema.manifests import (
    BuildManifest,
    BuildRow,
    PredictManifest,
    PredictRow,
    ShapeManifest,
    ShapeRow,
    WarpPrediction,
)
from probelab.schema.plan import Chunk, Launch, Variant
from probelab.store import Store

ROOT = Path(__file__).resolve().parents[2]

Call = Callable[..., Result]


@pytest.fixture
def root() -> Path:
    """The project."""
    return ROOT


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Calls `probelab` in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def calling(*arguments: str | Path) -> Result:
        return CliRunner().invoke(app, [str(argument) for argument in arguments])

    return calling


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A store with two entries of two files, one of them shared."""
    made = Store(tmp_path / ".cache")
    for key in ("aa" + "0" * 62, "bb" + "0" * 62):
        with made.make("build", key, key) as folder:
            (folder / "row.json").write_text(f'{{"key":"{key}"}}')
            if key.startswith("aa"):
                (folder / "kernel.cubin").write_bytes(b"x" * 100_000)
            else:
                (folder / "kernel.cubin").hardlink_to(
                    made.root / "build" / "aa" / ("aa" + "0" * 62) / "kernel.cubin"
                )
    return made


def write_chunk(results: Path, arch: str) -> str:
    """Manifests of a chunk with one launch, as the stations before timing write them."""
    variant = Variant(
        id="small-0123456789ab",
        probe="small",
        kernel="small.cu",
        roles=["one"],
        placement="isolated",
        dispatch="none",
        arch=arch,
        flags=[],
    )
    launch = Launch(
        id=f"{variant.id}-01234567",
        variant=variant.id,
        threads_per_block=32,
        blocks=1,
        clock_budget_cycles=1000,
        role_map=[0],
        seed=1.0,
    )
    chunk = Chunk(
        id=f"small.{arch}.b", probe="small", arch=arch, variants=[variant], launches=[launch]
    )
    build = BuildRow(id=variant.id, status="ok", kernel_digest="0" * 64, arch=arch)
    warp = WarpPrediction(warp_slot=0, role="one", cycles_per_iteration=40.0)
    prediction = PredictRow(id=launch.id, variant=variant.id, status="ok", warps=[warp])
    BuildManifest(station="build", chunk=chunk.id, rows=[build]).write(
        results / "build" / f"{chunk.id}.json"
    )
    ShapeManifest(
        station="shape", chunk=chunk.id, rows=[ShapeRow(id=variant.id, status="ok")]
    ).write(results / "shape" / f"{chunk.id}.json")
    PredictManifest(station="predict", chunk=chunk.id, rows=[prediction], plan=chunk).write(
        results / "predict" / f"{chunk.id}.json"
    )
    return chunk.id


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A results folder with a chunk for each of two architectures."""
    folder = tmp_path / "results"
    for arch in ("sm_86", "sm_90"):
        write_chunk(folder, arch)
    return folder
