"""`probelab time`: the timing station alone, for a GPU machine without the toolchain."""

import logging
from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from probelab.architectures import base_arch
from probelab.errors import DataError

if TYPE_CHECKING:
    from probelab.schema.manifests import PredictManifest, TimingManifest
    from probelab.schema.plan import TimingSettings
    from probelab.store import Store
    from probelab.timing.devices import Gpu

#: How many reasons are shown of a chunk whose launches failed.
_SHOWN = 3


class BackendChoice(StrEnum):
    """Where timing may come from."""

    PYCUDA = "pycuda"
    AUTO = "auto"
    RECORDED = "recorded"
    MODEL = "model"


def time(
    results: Annotated[
        Path, typer.Argument(help="Results folder with build/, shape/ and predict/.")
    ],
    backend: Annotated[
        BackendChoice, typer.Option(help="Where timing comes from.")
    ] = BackendChoice.PYCUDA,
    repeats: Annotated[
        int | None, typer.Option(min=1, max=10_000, help="Timed runs of each launch.")
    ] = None,
    warmup: Annotated[
        int | None, typer.Option(min=0, max=100, help="Runs of each launch before the first.")
    ] = None,
    timeout: Annotated[
        float | None, typer.Option(min=0.001, max=3600, help="Bound on one launch, in seconds.")
    ] = None,
    chunk: Annotated[
        list[str] | None,
        typer.Option(help="Only the chunks of this name, * as a wildcard; may be repeated."),
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(help="Root of the store. [default: .cache beside RESULTS]", file_okay=False),
    ] = None,
    recordings: Annotated[
        Path, typer.Option(help="Folder of the recordings.", file_okay=False)
    ] = Path("data/recordings"),
    config: Annotated[
        Path, typer.Option(help="Where the settings come from that aren't given here.")
    ] = Path("config/config.yaml"),
) -> None:
    """Time what was built elsewhere, on this machine's GPU.

    Chunks for other architectures are named and skipped. Exit status 1 if a launch failed or
    nothing was timed.
    """
    from probelab.store import Store  # noqa: PLC0415

    logging.basicConfig(level=logging.WARNING, format="probelab: %(message)s")
    plans = _plans(results, chunk or [])
    settings = _settings(config, backend, repeats, warmup, timeout)
    store = Store(cache or results.absolute().parent / ".cache")
    if backend is BackendChoice.PYCUDA:
        plans = _fitting(plans)
    made = _time_all(results, plans, settings, store, sorted(recordings.glob("*.parquet")))
    rows = [row for manifest in made for row in manifest.rows]
    timed = sum(row.status == "ok" for row in rows)
    failed = sum(row.status == "failed" for row in rows)
    typer.echo(f"{timed} of {len(rows)} launches timed, {failed} failed: {results / 'timing'}")
    if failed or not timed:
        raise typer.Exit(1)


def _plans(results: Path, patterns: Sequence[str]) -> "list[PredictManifest]":
    """The chunks of a results folder, with their predictions."""
    from probelab.schema.manifests import PredictManifest  # noqa: PLC0415

    paths = sorted((results / "predict").glob("*.json"))
    if not paths:
        raise DataError(
            "there are no chunks here",
            where=str(results / "predict"),
            hint="build them elsewhere: snakemake --cores 1, then bring results/ here",
        )
    chosen = [
        path
        for path in paths
        if not patterns or any(fnmatch(path.stem, pattern) for pattern in patterns)
    ]
    if not chosen:
        raise DataError(
            f"no chunk is called {' or '.join(patterns)}",
            where=str(results / "predict"),
            hint=f"there are {', '.join(path.stem for path in paths)}",
        )
    return [PredictManifest.read(path) for path in chosen]


def _settings(
    config: Path,
    backend: BackendChoice,
    repeats: int | None,
    warmup: int | None,
    timeout: float | None,
) -> "TimingSettings":
    """The options, and the configuration's values for those that aren't given."""
    from probelab.schema.plan import TimingSettings  # noqa: PLC0415

    if repeats is None or warmup is None or timeout is None or config.is_file():
        from probelab.config.load import read_yaml, validate  # noqa: PLC0415
        from probelab.config.models import Lab  # noqa: PLC0415
        from probelab.plan import timing_settings  # noqa: PLC0415

        defaults = timing_settings(validate(Lab, read_yaml(config), str(config)))
    else:
        defaults = TimingSettings(repeats=repeats, warmup=warmup, backend="auto", timeout_s=timeout)
    given = {"repeats": repeats, "warmup": warmup, "timeout_s": timeout, "backend": backend.value}
    changes = {key: value for key, value in given.items() if value is not None}
    return TimingSettings.model_validate(defaults.model_dump() | changes)


def _fitting(plans: "list[PredictManifest]") -> "list[PredictManifest]":
    """The chunks that this machine's GPUs can run; the others are named."""
    from probelab.timing.devices import pycuda_present, visible_gpus  # noqa: PLC0415

    gpus = visible_gpus()
    if not gpus:
        raise DataError("no GPU is here", where="time", hint="see what probelab doctor says")
    if not pycuda_present():
        raise DataError("a GPU is here, but no PyCUDA", where="time", hint="make pycuda")
    archs = {gpu.arch for gpu in gpus}
    fitting = [plan for plan in plans if base_arch(plan.plan.arch) in archs]
    for plan in plans:
        if plan not in fitting:
            typer.echo(f"skipped {plan.chunk}: for {plan.plan.arch}, the GPU is {_names(gpus)}")
    if not fitting:
        raise DataError(
            f"nothing here is built for {_names(gpus)}",
            where="time",
            hint="put its architecture into `architectures` where you build",
        )
    return fitting


def _names(gpus: "Sequence[Gpu]") -> str:
    return ", ".join(sorted({f"{gpu.name} ({gpu.arch})" for gpu in gpus}))


def _time_all(
    results: Path,
    plans: "Sequence[PredictManifest]",
    settings: "TimingSettings",
    store: "Store",
    recordings: list[Path],
) -> "list[TimingManifest]":
    """Time chunk by chunk and write each one's manifest as it is done."""
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import Progress  # noqa: PLC0415

    from probelab.schema.manifests import BuildManifest, ShapeManifest  # noqa: PLC0415
    from probelab.timing.station import time_chunk  # noqa: PLC0415

    made = []
    console = Console(stderr=True)
    with Progress(console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task("timing", total=sum(len(plan.plan.launches) for plan in plans))
        for predictions in plans:
            name = predictions.chunk
            progress.update(task, description=name)
            manifest = time_chunk(
                predictions.plan,
                BuildManifest.read(results / "build" / f"{name}.json"),
                ShapeManifest.read(results / "shape" / f"{name}.json"),
                predictions,
                settings,
                results,
                store,
                recordings,
            )
            manifest.write(results / "timing" / f"{name}.json")
            made.append(manifest)
            progress.advance(task, len(predictions.plan.launches))
            for line in _summary(manifest):
                progress.console.print(line, markup=False, highlight=False, soft_wrap=True)
    return made


def _summary(manifest: "TimingManifest") -> list[str]:
    """What came of a chunk: counts, and the first reasons of those that failed."""
    counts = Counter(row.backend if row.status == "ok" else row.status for row in manifest.rows)
    lines = [f"{manifest.chunk}: " + ", ".join(f"{count} {what}" for what, count in counts.items())]
    failed = [row for row in manifest.rows if row.status == "failed"]
    lines += [f"  {row.id}: {row.reason}" for row in failed[:_SHOWN]]
    if len(failed) > _SHOWN:
        lines.append(f"  and {len(failed) - _SHOWN} more")
    return lines
