"""`environment.yml` is the lock in conda's words."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

#: PyPI's name → conda's, where they differ.
CONDA_NAMES = {
    "nvidia-cuda-nvcc": "cuda-nvcc",
    "nvidia-cuda-crt": "cuda-crt-dev_linux-64",
    "nvidia-cuda-cccl": "cuda-cccl",
    "nvidia-cuda-cuobjdump": "cuda-cuobjdump",
    "nvidia-cuda-nvdisasm": "cuda-nvdisasm",
    "nvidia-cuda-runtime": "cuda-cudart-dev",
    "nvidia-nvvm": "cuda-nvvm-tools",
}
BIOCONDA = {"snakemake", "snakefmt"}
#: What PyPI's set gets from elsewhere: the system, or the release that its packages share.
CONDA_ONLY = {"python", "pip", "make", "git", "gxx_linux-64", "cuda-version"}
#: Compiled from source where there is a GPU, so the lock can't hold it.
NOT_LOCKED = {"pycuda"}
PYTHON = "3.11"


@pytest.fixture(scope="module")
def environment(root: Path) -> dict[str, str]:
    """Package → version constraint."""
    data = yaml.safe_load((root / "environment.yml").read_text(encoding="utf-8"))
    assert data["channels"] == ["conda-forge", "bioconda", "nodefaults"]
    packages = {}
    for entry in data["dependencies"]:
        match = re.fullmatch(r"(?:(\w+)::)?([a-z0-9_-]+)([=<>].*)?", entry)
        assert match, entry
        channel, name, version = match.groups()
        assert (channel == "bioconda") == (name in BIOCONDA), entry
        assert name not in packages, name
        packages[name] = version or ""
    return packages


@pytest.fixture(scope="module")
def lock(root: Path) -> dict[str, str]:
    """Package → version, of the lines that hold for the environment's Python."""
    versions = {}
    for line in (root / "requirements.lock").read_text(encoding="utf-8").splitlines():
        if not re.match(r"[A-Za-z0-9]", line):
            continue
        requirement = Requirement(line.rstrip("\\ "))
        marks = {"python_version": PYTHON, "python_full_version": f"{PYTHON}.7"}
        marks |= {"sys_platform": "linux", "platform_machine": "x86_64"}
        if requirement.marker is None or requirement.marker.evaluate(marks):
            versions[canonicalize_name(requirement.name)] = str(requirement.specifier)[2:]
    return versions


@pytest.fixture(scope="module")
def direct(root: Path) -> dict[str, Requirement]:
    """What pyproject.toml asks for, extras included but for the one that few need."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    groups = [project["dependencies"], *(extras[name] for name in extras if name != "cluster")]
    requirements = [Requirement(text) for group in groups for text in group]
    return {canonicalize_name(requirement.name): requirement for requirement in requirements}


def conda_name(name: str) -> str:
    return CONDA_NAMES.get(name, name)


def test_same_packages(environment: dict[str, str], direct: dict[str, Requirement]):
    assert set(environment) - CONDA_ONLY == {conda_name(name) for name in direct}
    assert set(environment) >= CONDA_ONLY


def test_same_versions(
    environment: dict[str, str], direct: dict[str, Requirement], lock: dict[str, str]
):
    for name in direct.keys() - NOT_LOCKED:
        locked = Version(lock[name])
        # conda-forge has no post releases, and its own last number within a CUDA release.
        wanted = locked.base_version
        if name in CONDA_NAMES:
            wanted = f"{locked.major}.{locked.minor}"
        assert environment[conda_name(name)] == f"={wanted}", name


def test_what_is_not_locked_is_bounded_alike(
    environment: dict[str, str], direct: dict[str, Requirement]
):
    for name in NOT_LOCKED:
        assert environment[name] == str(direct[name].specifier)


def test_one_cuda_release(environment: dict[str, str]):
    assert {environment[name] for name in [*CONDA_NAMES.values(), "cuda-version"]} == {"=13.2"}


def test_python_fits(environment: dict[str, str], root: Path):
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert environment["python"] == f"={PYTHON}"
    assert PYTHON in Requirement(f"python{project['requires-python']}").specifier


def test_no_addresses(root: Path):
    text = (root / "environment.yml").read_text(encoding="utf-8")
    assert "://" not in text
    assert "not been solved" in text
