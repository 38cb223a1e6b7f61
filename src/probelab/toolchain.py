"""NVIDIA's compiler and disassemblers: where they are, which version, and how to call them."""

import contextlib
import importlib.util
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from probelab.errors import ToolError

PINNED = "pinned"

#: Environment variables that add to nvcc's flags or its host compiler's search path.
_INFLUENCES = ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "CPATH", "CPLUS_INCLUDE_PATH")

_SETUP_HINT = "run `make setup`, or name a CUDA toolkit's folder with the config key `toolchain`"

#: Name in the working folder of a link to the tools, see `Toolchain.compile`.
_TOOLS = "tools"
#: Processor time that a tool may take in each of its processes, per second of its time limit. It
#: ends what runs on because this process was killed; several threads don't reach it.
_PROCESSOR_TIMES = 16


class ToolTimeoutError(ToolError):
    """A tool takes longer than it may."""


def run_bounded(
    command: Sequence[str],
    *,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
    timeout_s: float,
) -> subprocess.CompletedProcess[str]:
    """Run a command; nothing that it started is left when the time is up.

    Raises:
        ToolError: if it can't be started.
        ToolTimeoutError: if it takes longer than `timeout_s`.
    """
    name = Path(command[0]).name
    try:
        # A group of its own: nvcc's children don't end when nvcc does.
        process = subprocess.Popen(
            command,
            cwd=cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        raise ToolError(f"can't be started: {error.strerror}", where=command[0]) from None
    with process:
        try:
            # Refused where the limit is lower already, and for what has ended meanwhile.
            with contextlib.suppress(OSError, ValueError):
                limit = max(1, int(timeout_s * _PROCESSOR_TIMES))
                resource.prlimit(process.pid, resource.RLIMIT_CPU, (limit, limit))
            out, errors = process.communicate(timeout=timeout_s)
        except BaseException as error:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            if isinstance(error, subprocess.TimeoutExpired):
                raise ToolTimeoutError(f"took longer than {timeout_s:.0f} s", where=name) from None
            raise
    return subprocess.CompletedProcess(command, process.returncode, out, errors)


def _pinned_folders() -> Iterator[Path]:
    """Where the pinned tools can lie: the wheels' folders, then a conda environment's."""
    spec = importlib.util.find_spec("nvidia")
    for place in (spec.submodule_search_locations or []) if spec else []:
        yield from sorted(Path(place).glob("cu[0-9]*/bin"), reverse=True)
        yield Path(place) / "cuda_nvcc" / "bin"
    yield Path(sys.prefix) / "bin"


@dataclass(frozen=True)
class Toolchain:
    """The tools of one CUDA release.

    Attributes:
        folder: the folder that holds nvcc, cuobjdump and nvdisasm.
    """

    folder: Path

    @classmethod
    def find(cls, choice: str = PINNED) -> "Toolchain":
        """The toolchain that the config key `toolchain` names.

        Args:
            choice: `pinned` for the installed wheels (or conda packages), else the folder of a
                CUDA toolkit or of its binaries.

        Raises:
            ToolError: if there is no nvcc.
        """
        if choice == PINNED:
            folders = list(_pinned_folders())
        else:
            # The tools run in other folders than this one.
            given = Path(choice).expanduser().absolute()
            folders = [given / "bin", given]
        for folder in folders:
            if (folder / "nvcc").is_file():
                return cls(folder)
        raise ToolError("there is no nvcc here", where=f"toolchain {choice}", hint=_SETUP_HINT)

    def tool(self, name: str) -> Path:
        """Path of one tool.

        Raises:
            ToolError: if the toolchain lacks it.
        """
        path = self.folder / name
        if not path.is_file():
            raise ToolError(f"{name} is missing beside nvcc", where=name, hint=_SETUP_HINT)
        return path

    def run(
        self,
        name: str,
        arguments: Sequence[str],
        *,
        cwd: Path | None = None,
        timeout_s: float = 600,
    ) -> subprocess.CompletedProcess[str]:
        """Run a tool; its exit status is the caller's to judge.

        Raises:
            ToolError: if it can't be started or takes longer than `timeout_s`.
        """
        return run_bounded(
            [str(self.tool(name)), *arguments],
            cwd=cwd,
            environment=self._environment(),
            timeout_s=timeout_s,
        )

    def compile(
        self, arguments: Sequence[str], folder: Path, *, timeout_s: float
    ) -> subprocess.CompletedProcess[str]:
        """Run nvcc in `folder`; its exit status is the caller's to judge.

        nvcc composes command lines for a shell and splits values at commas, so that it fails on
        paths with an apostrophe, a comma, a quotation mark or a dollar sign. It therefore sees
        paths relative to `folder` only: itself, through a link there, its temporary files, and
        what `arguments` name.

        Raises:
            ToolError: if it can't be started.
            ToolTimeoutError: if it takes longer than `timeout_s`.
        """
        self.tool("nvcc")
        (folder / _TOOLS).symlink_to(self.folder)
        return run_bounded(
            [f"{_TOOLS}/nvcc", *arguments],
            cwd=folder,
            environment=self._environment() | {"TMPDIR": "."},
            timeout_s=timeout_s,
        )

    def _environment(self) -> dict[str, str]:
        return os.environ | {
            "PATH": f"{self.folder}{os.pathsep}{os.environ.get('PATH', '')}",
            "LC_ALL": "C.UTF-8",
        }

    def _version(self, name: str) -> str:
        done = self.run(name, ["--version"], timeout_s=60)
        found = re.search(r"\bV(\d+\.\d+\.\d+)", done.stdout)
        if done.returncode or not found:
            raise ToolError("doesn't tell its version", where=str(self.folder / name))
        return found[1]

    @property
    def environment(self) -> dict[str, str]:
        """Variables that are set here and change what nvcc makes."""
        return {name: os.environ[name] for name in _INFLUENCES if os.environ.get(name)}

    @cached_property
    def nvcc_version(self) -> str:
        """For instance 13.2.86."""
        return self._version("nvcc")

    @cached_property
    def disassembler_version(self) -> str:
        """Version of cuobjdump, for instance 13.2.86."""
        return self._version("cuobjdump")

    @cached_property
    def architectures(self) -> frozenset[str]:
        """Architectures that this nvcc builds machine code for: sm_86, …"""
        done = self.run("nvcc", ["--list-gpu-code"], timeout_s=60)
        return frozenset(re.findall(r"^sm_\w+$", done.stdout, re.MULTILINE))


def host_compiler() -> str:
    """Path of g++, which nvcc needs and which compiles the host references.

    Raises:
        ToolError: if there is none.
    """
    path = shutil.which("g++")
    if path is None:
        raise ToolError(
            "there is no g++, which nvcc needs", where="g++", hint="apt-get install g++"
        )
    return path
