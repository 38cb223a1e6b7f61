"""`make setup` on machines that lack something, and interrupted."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
from packaging.version import Version

HAS_EVERYTHING = "#!/bin/bash\n"


@pytest.mark.parametrize(
    "script",
    sorted(
        path.relative_to(Path(__file__).parents[2]).as_posix()
        for path in [
            *(Path(__file__).parents[2] / "scripts").glob("*.sh"),
            Path(__file__).parents[2] / ".ci" / "run",
        ]
    ),
)
def test_scripts_are_bash(root: Path, script: str) -> None:
    done = subprocess.run(["bash", "-n", root / script], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


def one_line(done: subprocess.CompletedProcess[str]) -> str:
    """The only line that `make setup` printed beside make's own."""
    assert done.returncode != 0
    [line] = [
        line
        for line in (done.stdout + done.stderr).splitlines()
        if not line.startswith(("make:", "make["))
    ]
    return line


def test_without_python(machine: Any) -> None:
    line = one_line(machine.make("setup"))
    assert "there is no python3" in line
    assert "apt-get install python3 python3-venv" in line


def test_with_an_old_python(machine: Any) -> None:
    machine.script("python3", "#!/bin/bash\n[[ $2 == *version_info* ]] && exit 1\necho 3.9.2\n")
    line = one_line(machine.make("setup"))
    assert "python3 is 3.9.2" in line
    assert "3.11 or newer" in line
    assert "PYTHON=python3.12 make setup" in line


def test_a_named_python_that_is_not_there(machine: Any, fake_python: str) -> None:
    machine.script("python3", fake_python)
    line = one_line(machine.make("setup", PYTHON="python3.99"))
    assert "there is no python3.99" in line


def test_without_the_venv_module(machine: Any, fake_python: str) -> None:
    machine.script("g++", HAS_EVERYTHING)
    refuse = "#!/bin/bash\n[[ $2 == *ensurepip* ]] && exit 1\n"
    machine.script("python3", fake_python.replace("#!/bin/bash\n", refuse))
    line = one_line(machine.make("setup"))
    assert "apt-get install python3-venv" in line


def test_without_a_compiler(machine: Any, fake_python: str) -> None:
    machine.script("python3", fake_python)
    line = one_line(machine.make("setup"))
    assert "there is no g++" in line
    assert "apt-get install g++" in line


def test_set_up_once_then_nothing(machine: Any, fake_python: str) -> None:
    machine.script("python3", fake_python)
    machine.script("g++", HAS_EVERYTHING)
    done = machine.make("setup")
    assert done.returncode == 0, done.stdout + done.stderr
    first = machine.calls()
    assert first[0] == "venv"
    assert first[1:] == ["pip /dev/stdin", "pip requirements.lock", "pip .", "compileall"]
    done = machine.make("setup")
    assert done.returncode == 0
    assert done.stdout == done.stderr == ""
    assert machine.calls() == []


def test_an_interrupted_set_up_is_taken_up(machine: Any, fake_python: str) -> None:
    machine.script("python3", fake_python)
    machine.script("g++", HAS_EVERYTHING)
    (machine.folder / "broken").touch()
    assert machine.make("setup").returncode != 0
    assert machine.calls()[0] == "venv"
    (machine.folder / "broken").unlink()
    assert machine.make("setup").returncode == 0
    assert machine.calls() == ["pip /dev/stdin", "pip requirements.lock", "pip .", "compileall"]


@pytest.mark.parametrize("changed", ["requirements.lock", "pyproject.toml"])
def test_another_lock_sets_up_again(machine: Any, fake_python: str, changed: str) -> None:
    machine.script("python3", fake_python)
    machine.script("g++", HAS_EVERYTHING)
    machine.make("setup")
    machine.calls()
    with (machine.folder / changed).open("a", encoding="utf-8") as stream:
        stream.write("# changed\n")
    assert machine.make("setup").returncode == 0
    assert "pip requirements.lock" in machine.calls()


def test_a_moved_project_gets_a_new_environment(machine: Any, fake_python: str) -> None:
    machine.script("python3", fake_python)
    machine.script("g++", HAS_EVERYTHING)
    machine.make("setup")
    machine.calls()
    moved = type(machine)(machine.folder.rename(machine.folder.with_name("moved")), machine.path)
    assert moved.make("setup").returncode == 0
    assert moved.calls()[0] == "venv"


def test_help_is_the_default_and_names_every_target(machine: Any) -> None:
    done = machine.make()
    assert done.returncode == 0
    targets = [line.split()[1] for line in done.stdout.splitlines()]
    assert {"setup", "report", "test", "test-slow", "lint", "types", "lock", "clean"} <= {*targets}
    text = (machine.folder / "Makefile").read_text(encoding="utf-8")
    [phony] = [line for line in text.splitlines() if line.startswith(".PHONY:")]
    assert sorted(phony.split()[1:]) == sorted(targets)


def test_python_range(root: Path) -> None:
    """The scripts, the package and the linter mean the same oldest Python."""
    oldest = Version("3.11")
    assert f"< ({oldest.major}, {oldest.minor})" in (root / "scripts/setup.sh").read_text()
    assert f'requires-python = ">={oldest}"' in (root / "pyproject.toml").read_text()
    assert f"--python-version {oldest}" in (root / "scripts/lock.sh").read_text()
