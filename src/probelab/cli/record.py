"""`probelab record`."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from probelab.errors import DataError


def record(
    raw: Annotated[
        list[Path], typer.Argument(help="Raw JSON files, or folders to search for measured ones.")
    ],
    name: Annotated[str, typer.Option(help="Name of the recording, for instance h200-2026-11.")],
    into: Annotated[Path, typer.Option(help="Folder of the recordings.", file_okay=False)] = Path(
        "data/recordings"
    ),
    replace: Annotated[
        bool, typer.Option("--replace", help="Overwrite a recording of that name.")
    ] = False,
) -> None:
    """Make a recording of what was timed on a GPU, for machines that have none."""
    from probelab.timing import recording  # noqa: PLC0415

    if (into / f"{name}.parquet").exists() and not replace:
        raise DataError(
            "there is a recording of this name",
            where=str(into / f"{name}.parquet"),
            hint="choose another, or --replace",
        )
    files = measured(raw)
    if not files:
        raise DataError(
            "no measured raw result (backend pycuda) here",
            where=", ".join(str(path) for path in raw),
            hint="they lie in results/timing/ after a run on a GPU",
        )
    made = recording.record(files, name, into)
    provenance = recording.read_provenance(made)
    devices = ", ".join(sorted({device.name for device in provenance.devices}))
    typer.echo(
        f"{made}: {provenance.launches} launches of {provenance.kernels} kernels on {devices}"
    )


def measured(paths: Sequence[Path]) -> list[Path]:
    """The files among `paths`, and the measured raw results below the folders among them.

    Raises:
        DataError: if a path doesn't exist.
    """
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            found += _search(path)
        elif path.is_file():
            found.append(path)
        else:
            raise DataError("there is no such file or folder", where=str(path))
    return list(dict.fromkeys(found))


def _search(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*.json")):
        try:
            content = json.loads(path.read_bytes())
        except (OSError, ValueError):
            continue  # not a whole result; manifests and others lie here too
        if isinstance(content, dict) and content.get("backend") == "pycuda":
            yield path
