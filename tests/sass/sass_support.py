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


_NOTATION = re.compile(r"\[B([0-5-]{6}):R([0-7-]):W([0-7-]):([Y-]):S(\d\d)\] (.*)")


def program(*lines: str, name: str = "k", arch: str = "sm_90") -> str:
    """A listing of the given instructions, from address 0 on.

    A line may start with a control word in CuAssembler's notation, or with a stall such as `S04 `;
    otherwise the stall is 1.
    """
    head = f"\n\tcode for {arch}\n\t.target\t{arch}\n\n\t\tFunction : {name}\n"
    out: list[str] = []
    for place, line in enumerate(lines):
        stall, _, text = line.partition(" ")
        if not re.fullmatch(r"S\d\d|\[.*", stall):
            stall, text = "S01", line
        mark = "Y" if stall[1:].isdecimal() and int(stall[1:]) > 11 else "-"
        notation = stall if stall.startswith("[") else f"[B------:R-:W-:{mark}:{stall}]"
        found = _NOTATION.fullmatch(f"{notation} {text}")
        assert found is not None, line
        waits, read, write, yields, stall, text = found.groups()
        mask = sum(1 << int(one) for one in waits if one != "-")
        high = (
            int(stall)
            | (yields == "-") << 4
            | (7 if write == "-" else int(write)) << 5
            | (7 if read == "-" else int(read)) << 8
            | mask << 11
        ) << 41
        out.append(f"        /*{16 * place:04x}*/  {text} ;  /* {0x7918:#018x} */\n")
        out.append(f"            /* {high:#018x} */\n")
    return head + "".join(out)


#: What follows the body in a loop of the kind that nvcc makes of a clock64() budget.
TAIL = (
    "S01 IADD3 R6, R6, 0x1, RZ",
    "S06 CS2R R4, SR_CLOCKLO",
    "S04 IADD3 R7, P0, -R2, R4, RZ",
    "S02 IADD3.X R4, ~R3, R5, RZ, P0, !PT",
    "S04 ISETP.GE.U32.AND P0, PT, R7, UR4, PT",
    "S13 ISETP.GE.U32.AND.EX P0, PT, R4, UR5, PT, P0",
)


def timed(*body: str, before: Sequence[str] = ("CS2R R2, SR_CLOCKLO",), arch: str = "sm_90") -> str:
    """A listing of an isolated kernel with `body` in its timed loop."""
    head = 16 * len(before)
    return program(
        *before,
        *body,
        *TAIL,
        f"S05 @!P0 BRA {head:#x}",
        "CS2R R8, SR_CLOCKLO",
        "EXIT",
        f"BRA {head + 16 * (len(body) + len(TAIL) + 3):#x}",
        arch=arch,
    )


def unit(source: str, variants: Sequence[tuple[str, Sequence[str], str]]) -> str:
    """A translation unit with variants of one of the project's kernels.

    Args:
        source: file name below kernels/.
        variants: name, roles and dispatch (``, `IN_LOOP`, `HOISTED`) of each.
    """
    parts: list[str] = []
    for name, roles, dispatch in variants:
        settings = {"PROBE_NAME": name, "PROBE_ROLES": ",".join(roles)}
        if dispatch:
            settings[f"PROBE_DISPATCH_{dispatch}"] = "1"
        parts += [f"#define {key} {value}" for key, value in settings.items()]
        parts.append(f'#include "{KERNELS / source}"')
        parts += [f"#undef {key}" for key in settings]
    return "\n".join(parts) + "\n"
