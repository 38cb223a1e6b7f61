"""What the GPU worker needs of a GPU library, and what they say to each other.

A module of its own: the worker runs as `__main__`, and a class that it defined itself would be
another one than the class of that name which a driver imports and raises.
"""

from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class LaunchRequest:
    """One launch of one kernel; `cubin` is an absolute path."""

    cubin: str
    symbol: str
    parameter_bytes: list[int]
    threads_per_block: int
    blocks: int
    record_bytes: int
    clock_budget_cycles: int
    seed: float
    role_map: list[int]


@dataclass(frozen=True)
class LaunchAnswer:
    """What came of a launch: the records' bytes, and the device's state while it ran.

    `wall_s` is the time in seconds between GPU events around the kernel, `sm_clock_mhz` and
    `throttle_reasons` were read once it was started (None and empty if NVML doesn't tell).
    """

    records: bytes
    wall_s: float
    sm_clock_mhz: int | None
    throttle_reasons: list[str]


class DriverError(Exception):
    """A launch failed.

    Args:
        reason: one line.
        usable: whether the context can be used further.
    """

    def __init__(self, reason: str, usable: bool) -> None:
        super().__init__(reason)
        self.usable = usable


class Driver(Protocol):
    """What the worker needs of a GPU library."""

    def device(self) -> dict[str, Any]:
        """Those fields of `schema.raw.Device` that CUDA knows."""

    def launch(self, request: LaunchRequest) -> LaunchAnswer:
        """Run a kernel to its end.

        Raises:
            DriverError: if it can't be run, or fails.
        """
