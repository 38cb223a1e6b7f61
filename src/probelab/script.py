"""What the stations' commands in scripts/ share: arguments, and errors as one line."""

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from probelab import pace
from probelab.config.load import ChosenSweep, read_sweep, read_yaml, validate
from probelab.config.models import Probe
from probelab.errors import ProbelabError
from probelab.schema.manifests import PredictManifest
from probelab.schema.plan import Chunk, TimingSettings
from probelab.store import Store

Options = argparse.Namespace

#: In a cluster job: path of what the run that submitted it had planned, see `probelab.frozen`.
PLAN_VARIABLE = "PROBELAB_PLAN"

#: How each option that several commands take is read.
_OPTIONS: dict[str, dict[str, object]] = {
    "--plan": {"type": Chunk.unpacked, "help": "the chunk, as packed JSON"},
    "--build": {"type": Path, "help": "manifest of the build station"},
    "--sass": {"type": Path, "help": "manifest of the sass station"},
    "--shape": {"type": Path, "help": "manifest of the shape station"},
    "--predict": {"type": Path, "help": "manifest of the predict station"},
    "--toolchain": {"help": "'pinned' or the folder of a CUDA toolkit"},
    "--cache": {"type": Path, "help": "root of the content-addressed store"},
    "--results": {"type": Path, "help": "the results folder"},
    "--chunks": {"nargs": "+", "help": "ids of all chunks"},
    "--probes": {"type": Path, "nargs": "*", "help": "configuration files of the probes"},
    "--sweeps": {"type": Path, "nargs": "*", "help": "configuration files of the sweeps"},
    "--subset": {"help": "name of a subset of the sweeps; empty: all"},
    "--only": {"help": "a condition on the sweeps' points; empty: none"},
    "--measurements": {"type": Path, "help": "the dataset of single warps"},
    "--summary": {"type": Path, "help": "the dataset of roles"},
    "--comparisons": {"type": Path, "help": "the dataset of pairs of roles"},
    "--settings": {
        "type": TimingSettings.model_validate_json,
        "help": "how launches are timed, as JSON",
    },
    "--out": {"type": Path, "help": "the file to write"},
}


def parser(description: str | None, *options: str) -> argparse.ArgumentParser:
    """A parser of the named shared options, all of them required."""
    made = argparse.ArgumentParser(description=description)
    for option in options:
        made.add_argument(option, required=True, **_OPTIONS[option])  # type: ignore[arg-type]
    return made


def run(station: Callable[[Options], Store | None], arguments: argparse.ArgumentParser) -> None:
    """Run a station's command; what is wrong outside of the code ends it with one line.

    Args:
        station: does the work; the store that it returns learns how long it took.
        arguments: of the command.
    """
    options = arguments.parse_args()
    started = time.perf_counter()
    try:
        store = station(options)
        if store is not None:
            seconds = round(time.perf_counter() - started, 3)
            pace.note(store.root, Path(sys.argv[0]).stem, options.out.stem, store.made, seconds)
    except ProbelabError as error:
        sys.exit(f"probelab: {error}")
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        sys.exit(f"probelab: {where}{error.strerror or error}")


def tell(chunk: str, what: str, reasons: Sequence[str]) -> None:
    """Say on standard error which rows of a chunk aren't as they should be, in one line.

    Args:
        what: what they have in common: "don't compile".
        reasons: one for each such row; the most common one is told.
    """
    if reasons:
        reason, _ = Counter(reasons).most_common(1)[0]
        sys.stderr.write(f"probelab: {chunk}: {len(reasons)} {what}: {reason}\n")


def planned(results: Path, chunks: list[str]) -> list[Chunk]:
    """The plan of all chunks, from the manifests that carry it.

    Raises:
        DataError: if one of them is missing or damaged.
    """
    return [PredictManifest.read(results / "predict" / f"{chunk}.json").plan for chunk in chunks]


def chosen_sweeps(options: Options) -> list[ChosenSweep]:
    """The sweeps that `--sweeps`, `--subset` and `--only` name.

    Raises:
        ConfigError: with the first thing that is wrong.
    """
    return [
        read_sweep(path, path.name, _text(options.subset), _text(options.only))
        for path in options.sweeps
    ]


def _text(option: str) -> str:
    """A text that came as JSON, since an empty argument would vanish from a command."""
    return str(json.loads(option))


def probes(paths: list[Path]) -> list[Probe]:
    """The probes of these configuration files.

    Raises:
        ConfigError: with the first thing that is wrong.
    """
    return [validate(Probe, read_yaml(path), path.name) for path in paths]
