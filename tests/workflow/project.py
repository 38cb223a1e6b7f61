"""A throw-away copy of the project, and what a run of it did."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
COPIED = ("Snakefile", "environment.yml", "workflow", "scripts", "kernels", "config", "profiles")

#: Everything up to here needs no charts, which take most of a small run's time.
DATASET = "results/summary.parquet"

TINY = {
    "probes": ["arithmetic_dependency", "chain7_tail_distribution"],
    "architectures": ["sm_86"],
    "isolated_threads_per_block": [128],
    "dispatches": ["hoisted"],
    "backend": "model",
}


@dataclass(frozen=True)
class Run:
    """One call of Snakemake.

    Attributes:
        jobs: (rule, chunk) of each job that started; the chunk is '' for shared stations.
        work: (station, label) of each piece of work that the store logged.
    """

    status: int
    output: str
    jobs: Counter[tuple[str, str]]
    work: Counter[tuple[str, str]]

    @property
    def rules(self) -> set[str]:
        return {rule for rule, _ in self.jobs}

    def chunks(self, rule: str) -> set[str]:
        """Probes whose chunks `rule` was run for."""
        return {chunk.partition(".")[0] for name, chunk in self.jobs if name == rule}

    def variants(self, station: str) -> set[str]:
        """Labels of the work that a station did."""
        return {label for name, label in self.work if name == station}

    @property
    def nothing(self) -> bool:
        return self.status == 0 and not self.jobs and not self.work


class Project:
    """A copy of the project in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def create(cls, folder: Path) -> "Project":
        folder.mkdir(parents=True)
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy2(source, folder / name)
        shutil.copytree(
            ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info")
        )
        shutil.copytree(ROOT / "data" / "published", folder / "data" / "published")
        project = cls(folder)
        project.write("tiny.yaml", yaml.safe_dump(TINY))
        return project

    def copy(self, folder: Path) -> "Project":
        """The same project with all that it made, elsewhere, with the same file times."""
        shutil.copytree(self.folder, folder, symlinks=True)
        return Project(folder)

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text, encoding="utf-8")

    def edit(self, name: str, old: str, new: str, count: int = 1) -> None:
        """Replace `old`, which must be there."""
        text = (self.folder / name).read_text(encoding="utf-8")
        assert old in text, f"{old!r} is not in {name}"
        self.write(name, text.replace(old, new, count))

    @property
    def environment(self) -> dict[str, str]:
        """Runs the copy's own library."""
        return os.environ | {"PYTHONPATH": str(self.folder / "src")}

    def command(self, *arguments: str, cores: int = 1) -> list[str]:
        return [
            *(sys.executable, "-m", "snakemake", "--cores", str(cores)),
            *("--quiet", "host", "--configfile", "tiny.yaml", "--nocolor"),
            *arguments,
        ]

    def logged(self) -> list[dict[str, str]]:
        path = self.folder / ".cache" / "work.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def run(self, *arguments: str, cores: int = 1) -> Run:
        before = len(self.logged())
        done = subprocess.run(
            self.command(*arguments, cores=cores),
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
        output = done.stdout + done.stderr
        work = Counter((line["station"], line["label"]) for line in self.logged()[before:])
        return Run(done.returncode, output, started(output), work)

    def bytes(self, names: Sequence[str]) -> dict[str, bytes]:
        return {name: (self.folder / name).read_bytes() for name in names}


def started(output: str) -> Counter[tuple[str, str]]:
    """(rule, chunk) of each job in Snakemake's output."""
    jobs: Counter[tuple[str, str]] = Counter()
    rule = ""
    for line in output.splitlines():
        if found := re.match(r"(?:local)?rule (\w+):$", line.strip()):
            rule = found[1]
            if rule != "all":
                jobs[rule, ""] += 1
        elif rule and (chunk := re.match(r"\s+wildcards: chunk=(\S+)", line)):
            jobs[rule, ""] -= 1
            jobs[rule, chunk[1]] += 1
    return +jobs
