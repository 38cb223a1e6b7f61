"""A real set-up in a fresh clone: minutes, and a few hundred megabytes from the index."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

#: What activates an environment or points a test's Python elsewhere.
_INHERITED = ("VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME", "MAKEFLAGS", "MAKELEVEL", "MFLAGS")


def run(*command: str, cwd: Path, **variables: str) -> str:
    """Output of a command that has to succeed, in an environment without nvcc on PATH."""
    environment = {key: value for key, value in os.environ.items() if key not in _INHERITED}
    done = subprocess.run(
        command,
        cwd=cwd,
        env=environment | {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin"} | variables,
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_set_up_of_a_clone(root: Path, tmp_path: Path) -> None:
    python = str(Path(sys.executable).resolve())
    clone = tmp_path / "lab"
    run("git", "clone", "-q", str(root), str(clone), cwd=tmp_path)
    run("make", "setup", cwd=clone, PYTHON=python, PYTHONDONTWRITEBYTECODE="1")
    told = run(".venv/bin/probelab", "doctor", cwd=clone)
    for line in told.splitlines():
        if line[9:].startswith(("Python", "packages", "Snakemake", "bytecode", "nvcc", "config")):
            assert line.startswith("ok"), line
    assert "Nothing to be done" not in run(".venv/bin/snakemake", "-n", "--cores", "1", cwd=clone)
    assert run("make", "setup", cwd=clone) == ""
    assert run("git", "status", "--short", cwd=clone) == ""
