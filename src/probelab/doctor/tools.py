"""Compilers, disassemblers and other commands."""

import re
import shutil
import subprocess
from pathlib import Path

from probelab.architectures import arch_order
from probelab.doctor.check import Check, Purpose
from probelab.errors import ProbelabError, ToolError
from probelab.toolchain import Toolchain

_CUDA_TOOLS = ("nvcc", "cuobjdump", "nvdisasm")


def command(name: str, package: str, needed_for: Purpose) -> Check:
    """A command of the system, with the version that it tells."""
    path = shutil.which(name)
    if path is None:
        return Check(
            name=name,
            status="missing" if needed_for == "run" else "warning",
            found="none on PATH",
            hint=f"apt-get install {package}",
            needed_for=needed_for,
        )
    try:
        done = subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=30, check=False
        )
        lines = done.stdout.splitlines() if done.returncode == 0 else []
    except (OSError, subprocess.TimeoutExpired):
        lines = []
    if not lines:
        return Check(
            name=name,
            status="missing" if needed_for == "run" else "warning",
            found=f"{path} doesn't run",
            hint=f"apt-get install --reinstall {package}",
            needed_for=needed_for,
        )
    return Check(name=name, status="ok", found=lines[0].strip(), needed_for=needed_for)


def cuda(choice: str, architectures: list[str]) -> list[Check]:
    """nvcc and the disassemblers: there, of one release, and able to build what is asked for.

    Args:
        choice: the config's `toolchain`.
        architectures: the config's.
    """
    try:
        toolchain = Toolchain.find(choice)
    except ProbelabError as error:
        return [_missing("nvcc", error).model_copy(update={"hint": _other_toolkit(error)})]
    checks: list[Check] = []
    versions: dict[str, str] = {}
    for name in _CUDA_TOOLS:
        try:
            versions[name] = _version(toolchain, name)
        except ProbelabError as error:
            checks.append(_missing(name, error))
        else:
            found = f"{versions[name]} in {toolchain.folder}"
            checks.append(Check(name=name, status="ok", found=found))
    if len(versions) == len(_CUDA_TOOLS):
        checks.append(_one_release(versions))
    if "nvcc" in versions:
        checks.append(_architectures(toolchain, architectures))
    return checks


def _version(toolchain: Toolchain, name: str) -> str:
    done = toolchain.run(name, ["--version"], timeout_s=60)
    found = re.search(r"\bV(\d+\.\d+\.\d+)", done.stdout)
    if done.returncode or not found:
        raise ToolError(f"{toolchain.folder / name} doesn't tell its version")
    return found[1]


def _missing(name: str, error: ProbelabError) -> Check:
    return Check(name=name, status="missing", found=error.what, hint=error.hint or "make setup")


def _other_toolkit(error: ProbelabError) -> str:
    """The hint on a missing toolchain, with the toolkit that is on PATH, if a whole one is."""
    nvcc = shutil.which("nvcc")
    if nvcc and all((Path(nvcc).parent / name).is_file() for name in _CUDA_TOOLS):
        return f"make setup, or use the toolkit on PATH: --config toolchain={Path(nvcc).parent}"
    return error.hint or "make setup"


def _one_release(versions: dict[str, str]) -> Check:
    releases = {version.rpartition(".")[0] for version in versions.values()}
    if len(releases) == 1:
        return Check(name="CUDA release", status="ok", found=f"{releases.pop()}, all tools")
    return Check(
        name="CUDA release",
        status="warning",
        found=", ".join(f"{name} {version}" for name, version in versions.items())
        + ": not of one release, so the listing may misread the code",
        hint="make setup",
    )


def _architectures(toolchain: Toolchain, wanted: list[str]) -> Check:
    try:
        known = toolchain.architectures
    except ProbelabError as error:
        return _missing("architectures", error)
    listed = ", ".join(sorted(known, key=arch_order))
    if unknown := [arch for arch in wanted if arch not in known]:
        return Check(
            name="architectures",
            status="missing",
            found=f"nvcc can't build {', '.join(unknown)}; it builds {listed}",
            hint="correct `architectures` in config/config.yaml, or use another `toolchain`",
        )
    return Check(name="architectures", status="ok", found=f"nvcc builds {listed}")
