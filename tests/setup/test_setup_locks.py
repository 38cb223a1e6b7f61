"""The lock files agree with pyproject.toml, and with each other."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

LOCKS = ("requirements.lock", "requirements-gpu.lock", "requirements-cluster.lock")


@pytest.fixture
def project(root: Path) -> dict[str, Any]:
    """The table [project]."""
    with (root / "pyproject.toml").open("rb") as stream:
        table: dict[str, Any] = tomllib.load(stream)["project"]
    return table


def entries(path: Path) -> dict[str, list[Requirement]]:
    """Package → its pins, one for each range of Python versions."""
    found: dict[str, list[Requirement]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if re.match("[a-z0-9]", line):
            pin = Requirement(line.rstrip("\\ "))
            found.setdefault(canonicalize_name(pin.name), []).append(pin)
    return found


def version(pin: Requirement) -> str:
    [specifier] = pin.specifier
    assert specifier.operator == "=="
    return specifier.version


@pytest.mark.parametrize("name", LOCKS)
def test_every_line_is_a_pin_or_a_hash(root: Path, name: str) -> None:
    """So there is no index, no host and no path in a lock, and nothing without a hash."""
    lines = (root / name).read_text(encoding="utf-8").splitlines()
    hash_line = re.compile(r"    --hash=sha256:[0-9a-f]{64}( \\)?")
    pin_line = re.compile(r"[a-z0-9-]+==[A-Za-z0-9.]+( ; [^;/@]+)? \\")
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        assert hash_line.fullmatch(line) or pin_line.fullmatch(line), line
        assert line.endswith("\\") == bool(hash_line.fullmatch(following)), line


def test_everything_declared_is_pinned_as_declared(root: Path, project: dict[str, Any]) -> None:
    pins = entries(root / "requirements.lock")
    extras = project["optional-dependencies"]
    for text in [*project["dependencies"], *extras["cuda"], *extras["dev"], *extras["build"]]:
        declared = Requirement(text)
        found = pins[canonicalize_name(declared.name)]
        assert all(declared.specifier.contains(version(pin)) for pin in found), text


@pytest.mark.parametrize("extra", ["gpu", "cluster"])
def test_the_lock_of_an_extra_adds_to_the_other(
    root: Path, project: dict[str, Any], extra: str
) -> None:
    base, more = entries(root / "requirements.lock"), entries(root / f"requirements-{extra}.lock")
    assert not base.keys() & more.keys()
    for text in project["optional-dependencies"][extra]:
        declared = Requirement(text)
        assert declared.specifier.contains(version(more[canonicalize_name(declared.name)][0]))


def test_nvidias_tools_are_of_one_version(root: Path) -> None:
    pins = {
        name: version(pin)
        for lock in LOCKS
        for name, [pin, *_] in entries(root / lock).items()
        if name.startswith(("nvidia-cuda-", "nvidia-nvvm"))
    }
    assert len(pins) >= 8
    assert len(set(pins.values())) == 1, pins
    assert tuple(int(part) for part in pins["nvidia-cuda-nvcc"].split(".")) >= (13, 2)


def test_nothing_of_the_gpu_extra_is_in_the_lock_for_everybody(root: Path) -> None:
    assert "pycuda" not in entries(root / "requirements.lock")
