"""What GPUs this machine has, and whose turn it is to use one.

Everything here works without PyCUDA, and on a machine without a GPU. Nothing changes a setting of
a device: clocks and power stay as they are found.
"""

import ctypes
import fcntl
import importlib.util
import logging
import os
import socket
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

logger = logging.getLogger(__name__)

#: How long to wait between two attempts to get a GPU that another process uses.
_LOCK_POLL_S = 0.2

#: Names of NVML's clock event reasons, without "GPU idle", which is no reason to distrust a clock:
#: (bit, name).
_CLOCK_EVENTS = (
    (0x002, "applications_clocks_setting"),
    (0x004, "sw_power_cap"),
    (0x008, "hw_slowdown"),
    (0x010, "sync_boost"),
    (0x020, "sw_thermal_slowdown"),
    (0x040, "hw_thermal_slowdown"),
    (0x080, "hw_power_brake_slowdown"),
    (0x100, "display_clock_setting"),
    (0x200, "board_limit"),
    (0x400, "reliability"),
)
_GPU_IDLE = 0x001


@dataclass(frozen=True)
class Gpu:
    """A GPU as NVML sees it; `index` is NVML's, in PCI bus order."""

    index: int
    name: str
    uuid: str
    compute_capability: str
    driver_version: str

    @property
    def arch(self) -> str:
        """`sm_90` for compute capability 9.0."""
        return "sm_" + self.compute_capability.replace(".", "")


def node_name() -> str:
    """This machine's name, as its batch system calls it if there is one."""
    return os.environ.get("SLURMD_NODENAME") or socket.gethostname()


def driver_present() -> bool:
    """Whether the CUDA driver's library can be loaded; nothing is initialised."""
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


def pycuda_present() -> bool:
    """Whether PyCUDA is installed; it isn't imported."""
    return importlib.util.find_spec("pycuda") is not None


def clock_event_names(mask: int) -> list[str]:
    """Names of the bits of NVML's clock event reasons; an unknown bit reads `bit 0x800`."""
    names = [name for bit, name in _CLOCK_EVENTS if mask & bit]
    known = _GPU_IDLE | sum(bit for bit, _ in _CLOCK_EVENTS)
    rest = mask & ~known
    names += [f"bit {1 << place:#x}" for place in range(rest.bit_length()) if rest >> place & 1]
    return names


def all_gpus() -> list[Gpu]:
    """The GPUs of this machine; empty without a driver or without NVML."""
    if not driver_present():
        return []
    import pynvml  # noqa: PLC0415 (of no use on a machine without a driver)

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return []
    try:
        driver = _text(pynvml.nvmlSystemGetDriverVersion())
        return [_gpu(pynvml, index, driver) for index in range(pynvml.nvmlDeviceGetCount())]
    except pynvml.NVMLError as error:
        logger.warning("NVML: %s", error)
        return []
    finally:
        pynvml.nvmlShutdown()


def _gpu(nvml: Any, index: int, driver: str) -> Gpu:
    handle = nvml.nvmlDeviceGetHandleByIndex(index)
    major, minor = nvml.nvmlDeviceGetCudaComputeCapability(handle)
    return Gpu(
        index=index,
        name=_text(nvml.nvmlDeviceGetName(handle)),
        uuid=_text(nvml.nvmlDeviceGetUUID(handle)),
        compute_capability=f"{major}.{minor}",
        driver_version=driver,
    )


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


def visible_gpus() -> list[Gpu]:
    """The GPUs that `CUDA_VISIBLE_DEVICES` leaves, in its order."""
    return select_visible(all_gpus(), os.environ.get("CUDA_VISIBLE_DEVICES"))


def select_visible(gpus: Sequence[Gpu], setting: str | None) -> list[Gpu]:
    """Apply a value of `CUDA_VISIBLE_DEVICES` as CUDA does.

    Entries are indices (in PCI bus order) or unambiguous beginnings of a UUID; the first entry
    that names no GPU hides the rest. Instances of a partitioned GPU (`MIG-…`) are not supported
    and count as such an entry.
    """
    if setting is None:
        return list(gpus)
    chosen: list[Gpu] = []
    for entry in (part.strip() for part in setting.split(",")):
        if entry.isdecimal():
            matches = [gpu for gpu in gpus if gpu.index == int(entry)]
        else:
            matches = [gpu for gpu in gpus if entry and gpu.uuid.startswith(entry)]
        if len(matches) != 1:
            break
        if matches[0] not in chosen:
            chosen.append(matches[0])
    return chosen


@contextmanager
def locked(gpus: Sequence[Gpu], wait_s: float | None = None) -> Iterator[Gpu]:
    """Hold one of several GPUs against the lab's other processes on this machine.

    Takes the first that is free, or waits. The lock is the operating system's, on a file in the
    temporary directory: it ends with the process, so there are no stale ones.

    Args:
        gpus: at least one.
        wait_s: how long to wait at most; None: as long as it takes (whoever holds a GPU is
            itself bound by its launches' timeouts).

    Raises:
        TimeoutError: if none became free within `wait_s`.
    """
    deadline = None if wait_s is None else time.monotonic() + wait_s
    told = False
    while True:
        for gpu in gpus:
            try:
                lock = _lock(_lock_path(gpu))
            except OSError as error:
                logger.warning("no lock on %s (%s): timing without it", gpu.name, error)
                yield gpu
                return
            if lock is None:
                continue
            try:
                yield gpu
            finally:
                lock.release()
            return
        if deadline is not None and time.monotonic() >= deadline:
            raise TimeoutError(f"no GPU became free within {wait_s:g} s")
        if not told:
            logger.info("waiting for %s", ", ".join(gpu.name for gpu in gpus))
            told = True
        time.sleep(_LOCK_POLL_S)


def _lock(path: Path) -> "FileLock | _ForeignLock | None":
    """The lock on a file; None if another process holds it.

    Raises:
        OSError: if the file can't be locked at all.
    """
    lock = FileLock(path, timeout=0, mode=0o666)
    try:
        lock.acquire()
    except Timeout:
        return None
    except PermissionError:
        return _ForeignLock.acquire(path)
    return lock


@dataclass(frozen=True)
class _ForeignLock:
    """A lock on another user's file, which takes no right to write it."""

    descriptor: int

    @classmethod
    def acquire(cls, path: Path) -> "_ForeignLock | None":
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        except OSError:
            os.close(descriptor)
            raise
        return cls(descriptor)

    def release(self) -> None:
        os.close(self.descriptor)


def _lock_path(gpu: Gpu) -> Path:
    return Path(tempfile.gettempdir()) / f"probelab-{gpu.uuid}.lock"
