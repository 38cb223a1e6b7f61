"""A worker process with a GPU made of Python, which misbehaves as the scenario file says.

The scenario: `{"log": path, "open": …, "kernels": {symbol: {"do": …, "after": n, "threads": n}}}`.
`after`: so many launches of the kernel go well first; `threads`: only launches of that size.
"""

import json
import os
import signal
import struct
import sys
import time
from pathlib import Path
from typing import Any

from probelab.timing.driver import Driver, DriverError, LaunchAnswer, LaunchRequest
from probelab.timing.serve import serve
from probelab.timing.worker import Worker

SCENARIO = json.loads(Path(sys.argv[1]).read_text())
CYCLES_PER_ITERATION = 10


def sink(iterations: int, role: int, thread: int, seed: float) -> float:
    return seed * (iterations % 1000 + 1000 * role + thread)


class FakeDriver:
    def __init__(self) -> None:
        self.launches: dict[str, int] = {}

    def device(self) -> dict[str, Any]:
        return {"name": "NVIDIA Test", "compute_capability": "9.0", "sm_count": 4}

    def launch(self, request: LaunchRequest) -> LaunchAnswer:
        with Path(SCENARIO["log"]).open("a") as log:
            log.write(f"{os.getpid()} {request.symbol} {request.threads_per_block}\n")
        done = self.launches.get(request.symbol, 0)
        self.launches[request.symbol] = done + 1
        what = SCENARIO["kernels"].get(request.symbol, {})
        does = what.get("do", "")
        if done < what.get("after", 0):
            does = ""
        if what.get("threads", request.threads_per_block) != request.threads_per_block:
            does = ""
        misbehave(does)
        # Something else writes to standard output: a driver does so at times.
        os.write(1, b"noise\n")
        return LaunchAnswer(records(request, does, done), 1e-3, 1980, ["sw_power_cap"])


def misbehave(does: str) -> None:
    if does == "hang":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while True:
            time.sleep(60)
    if does == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if does == "exit":
        sys.stderr.write("PyCUDA ERROR: all is lost\n")
        sys.stderr.flush()
        os._exit(3)
    if does == "poison":
        raise DriverError("cuEventSynchronize failed: an illegal memory access", usable=False)
    if does == "fail":
        raise DriverError("cuLaunchKernel failed: too many resources", usable=True)
    if does == "bug":
        raise KeyError("a fault of the worker's own")


def records(request: LaunchRequest, does: str, done: int) -> bytes:
    out = b""
    warps = request.threads_per_block // 32
    for block in range(request.blocks):
        for slot in range(warps):
            role = request.role_map[slot]
            cycles = request.clock_budget_cycles + 3
            progress = cycles // CYCLES_PER_ITERATION + role * 100 + done
            value = sink(progress, role, slot * 32, request.seed)
            value = {"wrong_sink": value + 0.5, "nan": float("nan")}.get(does, value)
            if does == "wrong_once":
                value += done == 2
            if does == "unwritten" and slot == 1:
                out += b"\xff" * 40
                continue
            if does == "garbage_clock":
                cycles = 2**63 + 5
            out += struct.pack("<QQfIIIII", progress, cycles, value, role, slot, block, 1, 0)
    return out


def open_driver(uuid: str) -> Driver:
    does = SCENARIO["kernels"].get("open", "")
    if does == "missing":
        raise ImportError("No module named 'pycuda'")
    if does == "busy":
        raise RuntimeError("cuCtxCreate failed: out of memory")
    if does == "busy_once":
        mark = Path(SCENARIO["log"] + ".opened")
        if not mark.exists():
            mark.touch()
            raise RuntimeError("cuCtxCreate failed: out of memory")
    if does == "die":
        os._exit(1)
    assert uuid == "GPU-0123"
    return FakeDriver()


if __name__ == "__main__":
    serve(Worker(open_driver).answer)
