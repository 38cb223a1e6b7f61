"""Resource use as `ptxas -v` prints it."""

import re
from dataclasses import dataclass

_KERNEL = re.compile(r"Compiling entry function '([^']+)'")
_STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"Used (\d+) registers")
_BARRIERS = re.compile(r"used (\d+) barriers")
_SHARED = re.compile(r"(\d+) bytes smem")
_CONSTANT = re.compile(r"(\d+) bytes cmem\[\d+\]")


@dataclass(frozen=True)
class Resources:
    """Of one kernel: registers per thread, bytes per thread (stack, spills) or block (shared)."""

    registers: int = 0
    stack_bytes: int = 0
    spill_store_bytes: int = 0
    spill_load_bytes: int = 0
    shared_bytes: int = 0
    constant_bytes: int = 0
    barriers: int = 0


def parse(log: str) -> dict[str, Resources]:
    """Resource use of each kernel (by symbol) in the output of `nvcc -Xptxas -v`."""
    found: dict[str, Resources] = {}
    symbol: str | None = None
    stack = (0, 0, 0)
    for line in log.splitlines():
        if kernel := _KERNEL.search(line):
            symbol, stack = kernel[1], (0, 0, 0)
        elif frame := _STACK.search(line):
            stack = (int(frame[1]), int(frame[2]), int(frame[3]))
        elif symbol is not None and (used := _USED.search(line)):
            barriers, shared = _BARRIERS.search(line), _SHARED.search(line)
            found[symbol] = Resources(
                registers=int(used[1]),
                stack_bytes=stack[0],
                spill_store_bytes=stack[1],
                spill_load_bytes=stack[2],
                shared_bytes=int(shared[1]) if shared else 0,
                constant_bytes=sum(int(size) for size in _CONSTANT.findall(line)),
                barriers=int(barriers[1]) if barriers else 0,
            )
            symbol = None
    return found
