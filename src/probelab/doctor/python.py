"""The interpreter and its packages."""

import importlib.util
import os
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

# Comes with Snakemake.
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from probelab.doctor.check import Check

_OLDEST = (3, 11)
#: A line of a lock file that pins a package: up to the backslash before its hashes.
_PIN = re.compile(r"^[a-z0-9][^\\]*", re.MULTILINE)
#: How many names a line shows of a longer list.
_SHOWN = 4


def _in_conda() -> bool:
    return os.environ.get("CONDA_PREFIX") == sys.prefix


def _setup() -> str:
    return "conda env update --file environment.yml" if _in_conda() else "make setup"


def interpreter() -> Check:
    """Python's version, and whether it is an environment of its own."""
    version = ".".join(str(part) for part in sys.version_info[:3])
    if sys.version_info[:2] < _OLDEST:
        return Check(
            name="Python",
            status="missing",
            found=f"{version}; 3.11 or newer is needed",
            hint="PYTHON=python3.12 make setup",
        )
    own = sys.prefix != sys.base_prefix or _in_conda()
    return Check(
        name="Python",
        status="ok" if own else "warning",
        found=f"{version} in {sys.prefix}",
        hint="" if own else "no environment of its own: source .venv/bin/activate",
    )


def locked(lock: Path) -> dict[str, str]:
    """Version of each package that a lock file pins for this interpreter."""
    pins: dict[str, str] = {}
    for line in _PIN.findall(lock.read_text(encoding="utf-8")):
        requirement = Requirement(line.strip())
        if requirement.marker is None or requirement.marker.evaluate():
            [version] = [one.version for one in requirement.specifier]
            pins[canonicalize_name(requirement.name)] = version
    return pins


def installed() -> dict[str, str]:
    """Version of each package that is installed here."""
    return {
        canonicalize_name(name): one.version
        for one in metadata.distributions()
        if (name := one.metadata["Name"])
    }


def _declared(pyproject: Path) -> set[str]:
    """Packages without which the lab doesn't run."""
    with pyproject.open("rb") as stream:
        project = tomllib.load(stream)["project"]
    return {canonicalize_name(Requirement(text).name) for text in project["dependencies"]}


def packages(root: Path) -> Check:
    """The packages here against those that requirements.lock pins."""
    name = "packages"
    try:
        pins, needed = locked(root / "requirements.lock"), _declared(root / "pyproject.toml")
    except (OSError, ValueError, KeyError) as error:
        return Check(
            name=name,
            status="warning",
            found=f"can't be compared with requirements.lock: {error}",
            hint="restore the file, or run this in the project's folder",
        )
    here = installed()
    if _in_conda():
        # conda has NVIDIA's tools under other names; the checks of the tools look at them.
        pins = {key: pin for key, pin in pins.items() if not key.startswith("nvidia-")}
    absent = sorted(pins.keys() - here.keys())
    other = sorted(key for key in pins.keys() & here.keys() if here[key] != pins[key])
    if vital := [key for key in absent if key in needed]:
        return Check(name=name, status="missing", found=f"no {_some(vital)}", hint=_setup())
    if absent or other:
        told = [f"{key} is {here[key]}, pinned {pins[key]}" for key in other]
        told += [f"no {key}" for key in absent]
        return Check(name=name, status="warning", found=_some(told), hint=_setup())
    return Check(name=name, status="ok", found=f"{len(pins)}, as requirements.lock pins them")


def _some(words: list[str]) -> str:
    more = f" and {len(words) - _SHOWN} more" if len(words) > _SHOWN else ""
    return ", ".join(words[:_SHOWN]) + more


def _sources(package: str) -> Iterator[Path]:
    spec = importlib.util.find_spec(package)
    for place in (spec.submodule_search_locations or []) if spec else []:
        yield from Path(place).rglob("*.py")


def bytecode() -> Check:
    """Whether Snakemake and what it starts are compiled: each start takes seconds otherwise."""
    sources = [path for name in ("snakemake", "pulp", "probelab") for path in _sources(name)]
    stale = [path for path in sources if not _compiled(path)]
    done = len(sources) - len(stale)
    # A few edited modules are compiled when they are next imported.
    if done >= 0.9 * len(sources):
        return Check(name="bytecode", status="ok", found="compiled")
    return Check(
        name="bytecode",
        status="warning",
        found=f"{done} of {len(sources)} modules are compiled, so commands start slowly",
        hint=f"python -m compileall -q -j 0 {sys.prefix}/lib src",
    )


def _compiled(source: Path) -> bool:
    try:
        return Path(importlib.util.cache_from_source(str(source))).is_file()
    except NotImplementedError:
        return False


def snakemake() -> Check:
    """Snakemake and its executors."""
    here = installed()
    version = here.get("snakemake")
    if version is None:
        return Check(name="Snakemake", status="missing", found="none", hint=_setup())
    beginning = "snakemake-executor-plugin-"
    plugins = sorted(name.removeprefix(beginning) for name in here if name.startswith(beginning))
    executors = f"executors: local{''.join(f', {plugin}' for plugin in plugins)}"
    return Check(name="Snakemake", status="ok", found=f"{version}; {executors}")
