"""A copy of what set-up reads, and a machine with only chosen commands."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

#: What the shell scripts call beside Python and g++.
PLAIN_TOOLS = (
    "bash make awk sed cat sha256sum readlink dirname head tail rm mkdir ln tar mktemp flock env "
    "grep cut id"
).split()

#: Stands for an interpreter that has installed nothing yet. It logs what it is asked to do; pip
#: fails while there is a file `broken` in the project.
FAKE_PYTHON = """#!/bin/bash
case "$1 $2" in
  "--version "*) echo "Python 3.11.2";;
  "-m venv") mkdir -p "$4/bin"; ln -sf "$(readlink -f "$0")" "$4/bin/python"
    echo "#!$PWD/.venv/bin/python" >"$4/bin/pip"; echo venv >>calls;;
  "-m pip") [[ $3 == --version ]] && exit 0
    echo "pip ${@: -1}" >>calls; cat >/dev/null; [[ ! -e broken ]];;
  "-m compileall") echo compileall >>calls;;
  "-c import sys; print(sys.prefix)") echo "$PWD/.venv";;
  *) exec REAL "$@";;
esac
"""


@pytest.fixture
def root() -> Path:
    """The project."""
    return ROOT


@dataclass(frozen=True)
class Machine:
    """A copy of the project on a machine with few commands."""

    folder: Path
    path: Path

    def script(self, name: str, text: str) -> None:
        """Put a command on PATH."""
        (self.path / name).write_text(text, encoding="utf-8")
        (self.path / name).chmod(0o755)

    def link(self, names: Sequence[str]) -> None:
        """Put commands of the real machine on PATH."""
        for name in names:
            found = shutil.which(name)
            if found is None:
                pytest.skip(f"needs {name}")
            (self.path / name).symlink_to(found)

    def make(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Call make."""
        return subprocess.run(
            ["make", "--no-print-directory", *arguments],
            cwd=self.folder,
            env={"PATH": str(self.path), "HOME": str(self.folder), **variables},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def calls(self) -> list[str]:
        """What the fake interpreter was asked to do since the last time."""
        log = self.folder / "calls"
        lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return lines


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine without Python and g++."""
    folder, path = tmp_path / "project", tmp_path / "bin"
    shutil.copytree(ROOT / "scripts", folder / "scripts")
    for name in ("Makefile", "pyproject.toml", "requirements.lock", "requirements-gpu.lock"):
        shutil.copyfile(ROOT / name, folder / name)
    path.mkdir()
    made = Machine(folder, path)
    made.link(PLAIN_TOOLS)
    return made


@pytest.fixture
def fake_python() -> str:
    """Text of a command that stands for Python."""
    return FAKE_PYTHON.replace("REAL", os.path.realpath("/proc/self/exe"))
