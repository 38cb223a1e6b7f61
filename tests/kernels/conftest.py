from __future__ import annotations

import ctypes
import functools
import os
import subprocess
import sysconfig
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.kernels import kernel_listing

KERNELS = Path(__file__).resolve().parents[2] / "kernels"


@dataclass(frozen=True)
class Variant:
    name: str
    roles: tuple[str, ...]
    dispatch: str = ""  # "", "IN_LOOP" or "HOISTED"

    def settings(self) -> dict[str, str]:
        settings = {"PROBE_NAME": self.name, "PROBE_ROLES": ",".join(self.roles)}
        return settings | ({f"PROBE_DISPATCH_{self.dispatch}": "1"} if self.dispatch else {})


def isolated(*roles: str) -> list[Variant]:
    return [Variant(f"isolated_{role}", (role,)) for role in roles]


def coresident(dispatch: str, *roles: str) -> Variant:
    return Variant(f"{dispatch.lower()}_{len(roles)}", roles, dispatch)


@pytest.fixture(scope="session")
def cuda_bin() -> Path:
    folder = Path(sysconfig.get_path("purelib")) / "nvidia" / "cu13" / "bin"
    if not (folder / "nvcc").exists():
        pytest.skip("the CUDA compiler isn't installed in this environment")
    return folder


def run(*command: str | Path) -> str:
    result = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, f"{' '.join(map(str, command))}\n{result.stdout}{result.stderr}"
    return result.stdout


@dataclass
class Unit:
    kernels: dict[str, kernel_listing.Kernel]
    resources: str


@pytest.fixture(scope="session")
def build(cuda_bin: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Unit]:
    """Builds variants of one source in one translation unit, or a single one from -D settings."""
    environment_path = f"{cuda_bin}{os.pathsep}{os.environ['PATH']}"

    @functools.cache
    def build(
        source: str,
        variants: tuple[Variant, ...],
        architecture: int,
        flags: tuple[str, ...] = (),
        by_command_line: bool = False,
    ) -> Unit:
        folder = tmp_path_factory.mktemp("unit")
        if by_command_line:
            (variant,) = variants
            # nvcc takes a list after -D and splits it at commas.
            definitions = [
                f"-D{name}={value.replace(',', chr(92) + ',')}"
                for name, value in variant.settings().items()
            ]
            unit, options = KERNELS / source, [*flags, *definitions]
        else:
            unit, options = folder / "unit.cu", list(flags)
            lines = []
            for variant in variants:
                lines += [f"#define {name} {value}" for name, value in variant.settings().items()]
                lines.append(f'#include "{KERNELS / source}"')
                lines += [f"#undef {name}" for name in variant.settings()]
            unit.write_text("\n".join(lines) + "\n")
        cubin = folder / "unit.cubin"
        run(
            "env",
            f"PATH={environment_path}",
            cuda_bin / "nvcc",
            "-cubin",
            f"-arch=sm_{architecture}",
            "-Werror",
            "all-warnings",
            *options,
            "-o",
            cubin,
            unit,
        )
        listing = run(
            "env", f"PATH={environment_path}", cuda_bin / "cuobjdump", "--dump-sass", cubin
        )
        resources = run(cuda_bin / "cuobjdump", "--dump-resource-usage", cubin)
        return Unit(kernel_listing.parse(listing), resources)

    return build


class Reference:
    def __init__(self, library: Path):
        self._function = ctypes.CDLL(str(library)).probe_reference
        self._function.argtypes = [
            ctypes.c_int,
            ctypes.c_uint,
            ctypes.c_float,
            ctypes.POINTER(ctypes.c_ulonglong),
            ctypes.c_int,
            ctypes.POINTER(ctypes.c_float),
        ]

    def call(
        self, role: int, thread: int, seed: float, iterations: list[int]
    ) -> tuple[int, list[float]]:
        sinks = (ctypes.c_float * len(iterations))()
        outcome = self._function(
            role,
            thread,
            seed,
            (ctypes.c_ulonglong * len(iterations))(*iterations),
            len(iterations),
            sinks,
        )
        return outcome, list(sinks)

    def sinks(self, role: int, thread: int, seed: float, iterations: list[int]) -> list[float]:
        outcome, sinks = self.call(role, thread, seed, iterations)
        assert outcome == 0
        return sinks


@pytest.fixture(scope="session")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Reference]:
    @functools.cache
    def reference(source: str, roles: tuple[str, ...], *options: str) -> Reference:
        library = tmp_path_factory.mktemp("reference") / "reference.so"
        run(
            "g++",
            "-x",
            "c++",
            "-std=c++17",
            "-O2",
            "-ffp-contract=off",
            "-shared",
            "-fPIC",
            "-Wall",
            "-Wextra",
            "-Werror",
            *options,
            "-DPROBE_HOST",
            f"-DPROBE_ROLES={','.join(roles)}",
            "-o",
            library,
            KERNELS / source,
        )
        return Reference(library)

    return reference
