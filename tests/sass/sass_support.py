"""Compile CUDA source, and read nvdisasm's life ranges: the oracle for registers."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from probelab.errors import ToolError
from probelab.toolchain import Toolchain

REPOSITORY = Path(__file__).resolve().parents[2]
KERNELS = REPOSITORY / "kernels"


@dataclass(frozen=True)
class Compiled:
    cubin: Path
    listing: str


Compile = Callable[..., Compiled]


def compiler(folder_of: Callable[[str], Path]) -> Compile:
    """A function of source text, architecture and flags; each combination is compiled once."""
    try:
        toolchain = Toolchain.find()
    except ToolError as error:
        pytest.skip(str(error))

    def run(tool: str, arguments: Sequence[str]) -> str:
        done = toolchain.run(tool, arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    @functools.cache
    def compile_(source: str, architecture: int, *flags: str) -> Compiled:
        folder = folder_of("cuda")
        unit, cubin = folder / "unit.cu", folder / "unit.cubin"
        unit.write_text(source)
        options = ["-cubin", f"-arch=sm_{architecture}", "-std=c++17", *flags]
        run("nvcc", [*options, "-o", str(cubin), str(unit)])
        return Compiled(cubin, run("cuobjdump", ["--dump-sass", str(cubin)]))

    return compile_


_FILES = {"GPR": "R", "PRED": "P", "UGPR": "UR", "UPRED": "UP"}


def life_ranges(cubin: Path) -> dict[tuple[str, int], tuple[set[str], set[str]]]:
    """What `nvdisasm -plr` says is written and read, by function and address."""
    text = Toolchain.find().run("nvdisasm", ["-plr", "-c", str(cubin)]).stdout
    found: dict[tuple[str, int], tuple[set[str], set[str]]] = {}
    function = numbers = ""
    prefixes: list[str] = []
    for line in text.splitlines():
        label = re.match(r"\.text\.(\S+):", line)
        function = label[1] if label else function
        code, bar, marks = line.partition("// |")
        if not bar:
            continue
        address = re.match(r"\s*/\*([0-9a-f]+)\*/", code)
        if "GPR " in marks:
            prefixes = [_FILES.get(one.strip(), "") for one in marks.split("|")]
        elif address is None:
            numbers = marks if re.search(r"#\s+\d", marks) else numbers
        else:
            writes: set[str] = set()
            reads: set[str] = set()
            at = 0
            for prefix, columns in zip(prefixes, numbers.split("|"), strict=False):
                for column in re.finditer(r"\d+", columns):
                    mark = marks[at + column.start() : at + column.end()].strip()
                    if mark in ("^", "x"):
                        writes.add(prefix + column[0])
                    if mark in ("v", "x"):
                        reads.add(prefix + column[0])
                at += len(columns) + 1
            found[function, int(address[1], 16)] = writes, reads
    return found
