"""GPUs made of Python, for a copy of the project.

`install` gives the copy's library two GPUs for each node, which a process sees through
`CUDA_VISIBLE_DEVICES` as on a machine with a driver, and puts this file in the place of the module
that runs kernels. Where `meet` was called, a GPU's first user waits for the other GPU's, so that
two jobs that may run side by side do, however busy the machine is.
"""

import ctypes
import json
import struct
import time
from pathlib import Path
from typing import Any

from probelab.timing.driver import LaunchAnswer, LaunchRequest

#: Compute capability, and how long a launch takes.
CAPABILITY = "8.6"
LAUNCH_S = 0.1

#: Folder of the GPUs in use so far, and how long the first waits for the second.
MEETING = Path(".meeting")
PATIENCE_S = 45.0

#: Appended to the module that lists a machine's GPUs.
DEVICES = """

def pycuda_present() -> bool:
    return True


def all_gpus() -> list[Gpu]:
    if {everywhere} or "SLURMD_NODENAME" in os.environ:
        return [
            Gpu(index, "Fake", f"GPU-{{node_name()}}-{{index}}", "{capability}", "1")
            for index in range(2)
        ]
    return []
"""


def install(folder: Path, *, everywhere: bool = False) -> None:
    """Give the project in `folder` these GPUs: on Slurm's nodes alone, or on every machine."""
    timing = folder / "src" / "probelab" / "timing"
    with (timing / "devices.py").open("a", encoding="utf-8") as module:
        module.write(DEVICES.format(everywhere=everywhere, capability=CAPABILITY))
    (timing / "pycuda_backend.py").write_bytes(Path(__file__).read_bytes())


def meet(folder: Path) -> None:
    """Have the two GPUs of the project in `folder` wait for each other."""
    (folder / MEETING).mkdir()


class CudaDriver:
    """Runs a launch by asking the kernel's host reference what its sinks would be."""

    def __init__(self, uuid: str) -> None:
        if MEETING.is_dir():
            (MEETING / uuid).touch()
            deadline = time.monotonic() + PATIENCE_S
            while len(list(MEETING.iterdir())) < 2 and time.monotonic() < deadline:
                time.sleep(0.05)

    def device(self) -> dict[str, Any]:
        return {"name": "Fake", "compute_capability": CAPABILITY, "sm_count": 4}

    def launch(self, request: LaunchRequest) -> LaunchAnswer:
        time.sleep(LAUNCH_S)
        roles = role_indices(Path(request.cubin))
        library = ctypes.CDLL(str(next(Path(request.cubin).parent.glob("*.reference.so"))))
        records = b""
        for slot in range(request.threads_per_block // 32):
            role = request.role_map[slot]
            progress = 1000 + 10 * role
            sink = (ctypes.c_float * 1)()
            status = library.probe_reference(
                ctypes.c_int(roles[role]),
                ctypes.c_uint(slot * 32),
                ctypes.c_float(request.seed),
                (ctypes.c_ulonglong * 1)(progress),
                ctypes.c_int(1),
                sink,
            )
            assert status == 0
            cycles = request.clock_budget_cycles + 3
            records += struct.pack("<QQfIIIII", progress, cycles, sink[0], role, slot, 0, 1, 0)
        return LaunchAnswer(records, LAUNCH_S, 1500, [])


def role_indices(cubin: Path) -> list[int]:
    """For each role of the variant its index in the host reference."""
    results, chunk = cubin.parents[2], cubin.parent.name
    build = json.loads((results / "build" / f"{chunk}.json").read_text())
    plan = json.loads((results / "predict" / f"{chunk}.json").read_text())["plan"]
    known = next(row["reference_roles"] for row in build["rows"] if row["id"] == cubin.stem)
    roles = next(item["roles"] for item in plan["variants"] if item["id"] == cubin.stem)
    return [known.index(role) for role in roles]
