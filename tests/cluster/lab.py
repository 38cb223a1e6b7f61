"""A throw-away Slurm, copies of the project that run on it, and heads that always end."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import yaml

from tests.cluster import fake_gpus
from tests.workflow.project import DATASET, ROOT, TINY, Project, Run, started

SCRIPT = ROOT / "scripts" / "slurm-lab.sh"
NODES, GPUS = 2, 2

#: Bound on a whole run, on a machine that has other things to do too.
RUN_S = 240.0

#: What makes a run of small jobs quick; a real cluster has the profiles' own values.
QUICK: Mapping[str, tuple[str, ...]] = {
    "slurm": ("--slurm-init-seconds-before-status-checks", "3", "--latency-wait", "10"),
    "generic": ("--seconds-between-status-checks", "1", "--latency-wait", "10"),
}


def why_not() -> str:
    """Why there can be no lab on this machine; empty if there can."""
    if os.geteuid() != 0:
        return "Slurm's daemons need root"
    for program in ("slurmctld", "slurmd", "sbatch", "munged"):
        if shutil.which(program) is None:
            return f"there is no {program}"
    with tempfile.TemporaryDirectory() as folder:
        try:
            os.mknod(Path(folder) / "device", 0o20600, os.makedev(195, 0))
        except OSError as error:
            return f"mknod is refused: {error.strerror}"
    return ""


def slurm(*command: str) -> str:
    """Output of one of Slurm's programs."""
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return done.stdout


def until(condition: Callable[[], bool], what: str, timeout_s: float = 90) -> None:
    """Wait for a condition."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, f"not within {timeout_s:g} s: {what}"
        time.sleep(0.1)


@dataclass(frozen=True)
class SlurmJob:
    """A job as Slurm's controller shows it."""

    id: str
    folder: str
    state: str
    node: str
    gpus: int
    restarts: int

    @classmethod
    def read(cls, line: str) -> "SlurmJob":
        fields = dict(re.findall(r"(\w+)=(\S*)", line))
        # --gpus shows in the one, --gres in the other.
        asked = fields.get("TresPerJob", "") + fields.get("TresPerNode", "")
        gpus = re.search(r"gpu[:=](\d+)", asked)
        return cls(
            id=fields["JobId"],
            folder=fields["WorkDir"],
            state=fields["JobState"],
            node=fields.get("NodeList", ""),
            gpus=int(gpus[1]) if gpus else 0,
            restarts=int(fields["Restarts"]),
        )


class Lab:
    """A running cluster."""

    def project(self, folder: Path) -> "ClusterProject":
        """A copy of the project in `folder`, with fake GPUs, that has not run."""
        return ClusterProject.make(folder)

    def heal(self) -> None:
        """Have all nodes take jobs again."""
        slurm("scontrol", "update", "partition=main", "state=up")
        for state in ("down", "resume"):
            slurm("scontrol", "update", "nodename=n1,n2", f"state={state}", "reason=test")


@contextmanager
def running_lab(folder: Path) -> Iterator[Lab]:
    """A lab, for as long as the block lasts."""
    # The daemons keep what they inherit, so no pipe of this process.
    with (folder / "lab.log").open("w") as log:
        done = subprocess.run(
            [str(SCRIPT), "up", str(folder / "lab"), str(NODES), str(GPUS)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            check=False,
            timeout=120,
        )
    assert done.returncode == 0, (folder / "lab.log").read_text()
    try:
        yield Lab()
    finally:
        subprocess.run([str(SCRIPT), "down", str(folder / "lab")], check=False, timeout=120)


@dataclass
class Head:
    """A running Snakemake that submits jobs."""

    process: subprocess.Popen[bytes]
    log: Path
    project: "ClusterProject"
    logged_before: int
    stream: IO[bytes] = field(repr=False)

    @property
    def output(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")

    def wait(self, timeout_s: float = RUN_S) -> Run:
        """What came of it; one that doesn't end in time is ended, and the test fails."""
        try:
            status = self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.end()
            raise AssertionError(f"not done within {timeout_s:g} s:\n{self.output}") from None
        finally:
            self.stream.close()
        work = self.project.logged()[self.logged_before :]
        return Run(
            status,
            self.output,
            started(self.output),
            Counter((line["station"], line["label"]) for line in work),
        )

    def end(self) -> None:
        """End it, with Slurm's jobs if it still can."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(20)

    def kill(self) -> None:
        """What a head can't answer."""
        self.process.kill()
        self.process.wait(20)
        self.stream.close()


class ClusterProject(Project):
    """A copy of the project that runs on the lab."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.heads: list[Head] = []

    @classmethod
    def make(cls, folder: Path) -> "ClusterProject":
        """One that has not run yet, with fake GPUs."""
        Project.create(folder)
        project = cls(folder)
        project.write("tiny.yaml", yaml.safe_dump(TINY | {"backend": "auto", "repeats": 3}))
        fake_gpus.install(folder)
        return project

    def start(self, profile: str, *arguments: str) -> Head:
        """Start a run and come back at once."""
        snakemake = [sys.executable, "-m", "snakemake"]
        return self._start([*snakemake, *self._arguments(profile, arguments)])

    def recover(self, profile: str, *arguments: str) -> Head:
        """The documented command for a run whose head died."""
        return self._start(["scripts/recover.sh", *self._arguments(profile, arguments)])

    @staticmethod
    def _arguments(profile: str, more: tuple[str, ...]) -> list[str]:
        return [
            *(DATASET, "--workflow-profile", f"profiles/{profile}"),
            *("--quiet", "host", "--configfile", "tiny.yaml", "--nocolor"),
            *(*QUICK[profile], *more),
        ]

    def _start(self, command: list[str]) -> Head:
        log = self.folder / f"head{len(self.heads)}.log"
        stream = log.open("wb")
        process = subprocess.Popen(
            command,
            cwd=self.folder,
            env=self.environment | {"PYTHON": sys.executable},
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
        )
        head = Head(process, log, self, len(self.logged()), stream)
        self.heads.append(head)
        return head

    def jobs(self) -> list[SlurmJob]:
        """Slurm's jobs of this project, whatever their state."""
        shown = slurm("scontrol", "show", "job", "--oneliner").splitlines()
        jobs = [SlurmJob.read(line) for line in shown if "WorkDir=" in line]
        return [job for job in jobs if job.folder == str(self.folder)]

    def at_work(self) -> list[SlurmJob]:
        """Those that wait or run."""
        return [job for job in self.jobs() if job.state in ("PENDING", "RUNNING", "COMPLETING")]

    def close(self) -> None:
        """End what still runs."""
        for head in self.heads:
            head.end()
        for job in self.at_work():
            subprocess.run(["scancel", job.id], check=False, timeout=60)
