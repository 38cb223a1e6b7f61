"""All checks, and what follows from them."""

import os
from pathlib import Path

from probelab.config.load import Configuration, load, read_yaml
from probelab.doctor import gpu, place, python, tools
from probelab.doctor.check import Check
from probelab.errors import ConfigError, ProbelabError
from probelab.schema.base import Record
from probelab.toolchain import PINNED


class Diagnosis(Record):
    """What was found, in the order in which it is shown."""

    checks: list[Check]

    @property
    def ready(self) -> bool:
        """Whether the reproduction can run; a GPU is not needed for it."""
        return not self._stopped("run")

    @property
    def gpu_ready(self) -> bool:
        """Whether this machine can time."""
        return not self._stopped("gpu")

    def _stopped(self, purpose: str) -> bool:
        return any(
            check.status == "missing" and check.needed_for == purpose for check in self.checks
        )


def project_root(start: Path) -> Path:
    """The project that holds `start`, else the one that this package was installed from."""
    own = Path(__file__).resolve().parents[3]
    for folder in (start, *start.parents, own):
        if (folder / "Snakefile").is_file() and (folder / "config" / "config.yaml").is_file():
            return folder
    return start


def _configuration(root: Path) -> Configuration | ProbelabError:
    try:
        settings = read_yaml(root / "config" / "config.yaml", "config/config.yaml")
        if not isinstance(settings, dict):
            raise ConfigError("this must be a mapping of keys to values", where="config")
        return load(settings, root)
    except ProbelabError as error:
        return error


def diagnose(root: Path) -> Diagnosis:
    """Look at this machine.

    Args:
        root: of the project.
    """
    configuration = _configuration(root)
    lab = configuration.lab if isinstance(configuration, Configuration) else None
    architectures = list(lab.architectures) if lab else []
    cache = root / (lab.cache if lab else ".cache")
    results = root / "results"
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    return Diagnosis(
        checks=[
            python.interpreter(),
            python.packages(root),
            python.snakemake(),
            python.bytecode(),
            tools.command("g++", "g++", "run"),
            *tools.cuda(lab.toolchain if lab else PINNED, architectures),
            tools.command("make", "make", "development"),
            tools.command("git", "git", "development"),
            place.configuration(configuration),
            place.room("store", cache),
            place.room("results", results),
            *place.same_disk(cache, results),
            *place.recordings(root / "data" / "recordings"),
            *gpu.checks(architectures, visible),
        ]
    )
