"""The GPUs of this machine, by NVML alone; nothing is initialised or changed on them."""

import contextlib
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from probelab.architectures import base_arch
from probelab.doctor.check import Check
from probelab.timing.devices import (
    Gpu,
    all_gpus,
    clock_event_names,
    driver_present,
    pycuda_present,
    select_visible,
)

#: Where scripts/install-pycuda.sh leaves the reason when PyCUDA couldn't be built.
FAILURE = Path(sys.prefix) / "pycuda.failure"

_IMPORT_TIMEOUT_S = 60


@dataclass(frozen=True)
class State:
    """How a GPU is found right now; None where NVML doesn't tell."""

    sm_clock_mhz: int | None = None
    max_sm_clock_mhz: int | None = None
    throttle_reasons: tuple[str, ...] = ()
    persistence: bool | None = None
    processes: int | None = None
    mig: bool = False


def state(gpu: Gpu) -> State:
    """The state of a GPU."""
    import pynvml as nvml  # noqa: PLC0415 (of no use on a machine without a driver)

    def ask(query: str, *arguments: Any) -> Any:
        with contextlib.suppress(nvml.NVMLError, AttributeError):
            return getattr(nvml, query)(handle, *arguments)
        return None

    try:
        nvml.nvmlInit()
    except nvml.NVMLError:
        return State()
    try:
        handle = nvml.nvmlDeviceGetHandleByUUID(gpu.uuid)
        reasons = ask("nvmlDeviceGetCurrentClocksEventReasons")
        if reasons is None:
            reasons = ask("nvmlDeviceGetCurrentClocksThrottleReasons")
        persistence = ask("nvmlDeviceGetPersistenceMode")
        processes = ask("nvmlDeviceGetComputeRunningProcesses")
        mig = ask("nvmlDeviceGetMigMode")
        return State(
            sm_clock_mhz=ask("nvmlDeviceGetClockInfo", nvml.NVML_CLOCK_SM),
            max_sm_clock_mhz=ask("nvmlDeviceGetMaxClockInfo", nvml.NVML_CLOCK_SM),
            throttle_reasons=tuple(clock_event_names(int(reasons or 0))),
            persistence=None if persistence is None else bool(persistence),
            processes=None if processes is None else len(processes),
            mig=bool(mig and mig[0]),
        )
    except nvml.NVMLError:
        return State()
    finally:
        nvml.nvmlShutdown()


def checks(architectures: list[str], visible: str | None) -> list[Check]:
    """The driver, each GPU, and PyCUDA.

    Args:
        architectures: the config's.
        visible: value of CUDA_VISIBLE_DEVICES, None if it isn't set.
    """
    if not driver_present():
        return [
            Check(
                name="driver",
                status="missing",
                found="no libcuda.so.1: timing comes from recordings and the model",
                hint="with a GPU: install NVIDIA's driver, then make setup",
                needed_for="gpu",
            )
        ]
    gpus = all_gpus()
    if not gpus:
        return [
            Check(
                name="GPU",
                status="missing",
                found="a driver but no GPU that NVML tells of",
                hint="see what nvidia-smi says; in a container, pass the GPU through",
                needed_for="gpu",
            )
        ]
    found = [
        Check(
            name="driver",
            status="ok",
            found=gpus[0].driver_version or "of unknown version",
            needed_for="gpu",
        )
    ]
    usable = select_visible(gpus, visible)
    found += [_gpu(gpu, gpu in usable, architectures) for gpu in gpus]
    found.append(pycuda())
    return found


def _gpu(gpu: Gpu, usable: bool, architectures: list[str]) -> Check:
    now = state(gpu)
    told = [gpu.name, gpu.arch]
    if now.sm_clock_mhz is not None:
        top = f" of {now.max_sm_clock_mhz}" if now.max_sm_clock_mhz else ""
        told.append(f"SM clock {now.sm_clock_mhz}{top} MHz")
    if now.persistence is not None:
        told.append(f"persistence {'on' if now.persistence else 'off'}")
    if now.throttle_reasons:
        told.append(f"throttled: {', '.join(now.throttle_reasons)}")
    hint = ""
    if not usable:
        hint = "CUDA_VISIBLE_DEVICES hides it"
    elif now.mig:
        told.append("partitioned (MIG)")
        hint = "timing on a partition is not supported; use another GPU"
    elif gpu.arch not in {base_arch(arch) for arch in architectures}:
        hint = f"add {gpu.arch} to `architectures` in config/config.yaml, or nothing is timed on it"
    elif now.processes:
        told.append(f"{now.processes} other process(es) compute on it")
        hint = "wait until it is free: another process spoils a timing"
    elif now.throttle_reasons:
        hint = "see nvidia-smi -q -d PERFORMANCE; each repeat records its reasons"
    return Check(
        name=f"GPU {gpu.index}",
        status="warning" if hint else "ok",
        found=", ".join(told),
        hint=hint,
        needed_for="gpu",
    )


def pycuda() -> Check:
    """Whether PyCUDA is here and loads; a process of its own tries it."""
    reason = ""
    with contextlib.suppress(OSError):
        reason = FAILURE.read_text(encoding="utf-8").strip()
    if not pycuda_present():
        return Check(
            name="PyCUDA",
            status="missing",
            found=reason or "none",
            hint="make pycuda",
            needed_for="gpu",
        )
    try:
        done = subprocess.run(
            [sys.executable, "-c", "import pycuda, pycuda.driver; print(pycuda.VERSION_TEXT)"],
            capture_output=True,
            text=True,
            timeout=_IMPORT_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        found = f"doesn't load within {_IMPORT_TIMEOUT_S} s"
    else:
        if done.returncode == 0:
            return Check(name="PyCUDA", status="ok", found=done.stdout.strip(), needed_for="gpu")
        lines = done.stderr.strip().splitlines()
        found = f"doesn't load: {lines[-1] if lines else f'exit status {done.returncode}'}"
    return Check(name="PyCUDA", status="missing", found=found, hint="make pycuda", needed_for="gpu")
