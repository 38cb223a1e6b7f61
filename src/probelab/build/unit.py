"""Translation units: many variants of one kernel file through one call of nvcc."""

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from probelab.errors import ToolError
from probelab.schema.plan import Variant
from probelab.toolchain import Toolchain, ToolTimeoutError

_ERROR = re.compile(
    r"^(?P<file>[^\s(:][^(:]*)[(:](?P<line>\d+)\)?.*?\berror\b\s*:?\s*(?P<text>.*)$"
)
_ANY_ERROR = re.compile(r"(?:error|fatal)\s*:?\s*(.+)", re.IGNORECASE)

#: Wall-clock bounds on nvcc. Fifty of the lab's own kernels take two seconds and one takes half a
#: second, of a slow core; heavy templates take some tens of seconds. What takes longer may never
#: end, and a chunk of fifty such kernels waits for the second bound fifty times.
UNIT_TIMEOUT_S = 120.0
ALONE_TIMEOUT_S = 60.0
#: Name in the unit's folder of a link to the folder of the kernel files.
_KERNELS = "kernels"


class CompileError(Exception):
    """nvcc refused a unit, or made no cubin of it.

    Attributes:
        reason: its first error, one line.
        log: all that it printed.
    """

    def __init__(self, reason: str, log: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.log = log


def settings(variant: Variant) -> dict[str, str]:
    """The macros that make a kernel file this variant."""
    macros = {"PROBE_NAME": variant.symbol, "PROBE_ROLES": ",".join(variant.roles)}
    if variant.dispatch != "none":
        macros[f"PROBE_DISPATCH_{variant.dispatch.upper()}"] = "1"
    return macros | {name: str(value) for name, value in sorted(variant.defines.items())}


def unit_text(variants: Sequence[Variant]) -> str:
    """The source of a unit that holds `variants`, all of one kernel file."""
    parts = []
    for variant in variants:
        macros = settings(variant)
        parts += [f"#define {name} {value}" for name, value in macros.items()]
        parts.append(f'#include "{variant.kernel}"')
        parts += [f"#undef {name}" for name in macros]
    return "\n".join(parts) + "\n"


def first_error(log: str) -> str:
    """The first error in what nvcc printed, one line without the paths of this machine."""
    for line in log.splitlines():
        if found := _ERROR.match(line):
            return f"{Path(found['file']).name}, line {found['line']}: {found['text'].strip()}"
    for line in log.splitlines():
        if loose := _ANY_ERROR.search(line):
            return loose[1].strip()
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    return lines[-1] if lines else "nvcc failed and printed nothing"


def compile_unit(
    variants: Sequence[Variant], kernels: Path, toolchain: Toolchain, folder: Path
) -> tuple[Path, str]:
    """Compile `variants`, which share kernel file, architecture and flags.

    Args:
        kernels: the folder of the kernel files.
        folder: where the unit and its cubin go; must exist.

    Returns:
        The cubin's path and what nvcc printed (with ptxas's resource use).

    Raises:
        CompileError: if nvcc refuses the source, takes too long or makes no cubin.
        ToolError: if nvcc can't be run at all.
    """
    unit, cubin = folder / "unit.cu", folder / "unit.cubin"
    unit.write_text(unit_text(variants), encoding="utf-8")
    (folder / _KERNELS).symlink_to(kernels.resolve())
    bound = UNIT_TIMEOUT_S if len(variants) > 1 else ALONE_TIMEOUT_S
    try:
        done = toolchain.compile(
            [
                *("-cubin", f"-arch={variants[0].arch}", "-std=c++17", "-Xptxas", "-v"),
                *variants[0].flags,
                *("-I", _KERNELS, "-o", cubin.name, unit.name),
            ],
            folder,
            timeout_s=bound,
        )
    except ToolTimeoutError:
        raise CompileError(f"nvcc took longer than {bound:.0f} s", "") from None
    log = done.stdout + done.stderr
    if done.returncode or not cubin.is_file():
        raise _failure(done, log)
    return cubin, log


def _failure(done: subprocess.CompletedProcess[str], log: str) -> CompileError | ToolError:
    if re.search(r"No space left on device|Disk quota exceeded", log):
        return ToolError("no space is left on the disk", where="nvcc", hint="make room")
    if done.returncode < 0:
        return ToolError(f"was ended by signal {-done.returncode}", where="nvcc")
    if done.returncode == 0:
        return CompileError("nvcc didn't make a cubin: the flags ask for something else", log)
    return CompileError(first_error(log), log)
