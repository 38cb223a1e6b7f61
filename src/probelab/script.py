"""What the stations' commands in scripts/ share: arguments, and errors as one line."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from probelab.errors import ProbelabError
from probelab.schema.manifests import (
    BuildManifest,
    PredictManifest,
    SassManifest,
    ShapeManifest,
    TimingManifest,
)
from probelab.schema.plan import Chunk

Options = argparse.Namespace

#: How each option that several commands take is read.
_OPTIONS: dict[str, dict[str, object]] = {
    "--plan": {"type": Chunk.model_validate_json, "help": "the chunk, as JSON"},
    "--build": {"type": Path, "help": "manifest of the build station"},
    "--sass": {"type": Path, "help": "manifest of the sass station"},
    "--shape": {"type": Path, "help": "manifest of the shape station"},
    "--predict": {"type": Path, "help": "manifest of the predict station"},
    "--toolchain": {"help": "'pinned' or the folder of a CUDA toolkit"},
    "--cache": {"type": Path, "help": "root of the content-addressed store"},
    "--results": {"type": Path, "help": "the results folder"},
    "--chunks": {"nargs": "+", "help": "ids of all chunks"},
    "--probes": {"type": Path, "nargs": "+", "help": "configuration files of the probes"},
    "--measurements": {"type": Path, "help": "the dataset of single warps"},
    "--summary": {"type": Path, "help": "the dataset of roles"},
    "--out": {"type": Path, "help": "the file to write"},
}


def parser(description: str | None, *options: str) -> argparse.ArgumentParser:
    """A parser of the named shared options, all of them required."""
    made = argparse.ArgumentParser(description=description)
    for option in options:
        made.add_argument(option, required=True, **_OPTIONS[option])  # type: ignore[arg-type]
    return made


def run(station: Callable[[Options], None], arguments: argparse.ArgumentParser) -> None:
    """Run a station's command; what is wrong outside of the code ends it with one line."""
    options = arguments.parse_args()
    try:
        station(options)
    except ProbelabError as error:
        sys.exit(f"probelab: {error}")
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        sys.exit(f"probelab: {where}{error.strerror or error}")


class Manifests:
    """The manifests of one chunk, or of all, below a results folder."""

    def __init__(self, results: Path, chunks: list[str]) -> None:
        def paths(station: str) -> list[Path]:
            return [results / station / f"{chunk}.json" for chunk in chunks]

        self.build = [BuildManifest.read(path) for path in paths("build")]
        self.sass = [SassManifest.read(path) for path in paths("sass")]
        self.shape = [ShapeManifest.read(path) for path in paths("shape")]
        self.predict = [PredictManifest.read(path) for path in paths("predict")]
        self.timing = [TimingManifest.read(path) for path in paths("timing")]

    @property
    def plan(self) -> list[Chunk]:
        """The chunks themselves."""
        return [manifest.plan for manifest in self.predict]
