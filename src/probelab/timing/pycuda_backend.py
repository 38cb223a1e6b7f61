"""Running kernels with PyCUDA: imported by the worker process alone, on a machine with a GPU."""

import atexit
import os
from pathlib import Path
from typing import Any

from probelab.architectures import base_arch
from probelab.errors import DataError
from probelab.timing.arguments import ArgumentError, pack_arguments
from probelab.timing.cubin import cubin_arch
from probelab.timing.devices import clock_event_names
from probelab.timing.driver import DriverError, LaunchAnswer, LaunchRequest
from probelab.timing.records import FILL_BYTE


def refusal(cubin: str, arch: str, device_name: str) -> str:
    """The one line that says why a cubin can't run on a device."""
    return f"cubin is {cubin}, the device is {arch} ({device_name})"


class CudaDriver:
    """A CUDA context on one GPU, the modules loaded so far, and memory for the records."""

    def __init__(self, uuid: str) -> None:
        """Open the GPU with this UUID.

        The process sees no other GPU afterwards; CUDA's own settings of the environment must not
        have been read yet.

        Raises:
            ImportError: if PyCUDA isn't there or doesn't fit the driver.
            pycuda.driver.Error: if the GPU can't be used: busy, no memory, not there.
        """
        os.environ["CUDA_VISIBLE_DEVICES"] = uuid
        import numpy  # noqa: PLC0415
        import pycuda.driver as cuda  # noqa: PLC0415

        self._numpy = numpy
        self._cuda = cuda
        cuda.init()
        self._device = cuda.Device(0)
        self._context = self._device.make_context()
        # PyCUDA aborts a process that ends with a context on its stack.
        atexit.register(self._context.pop)
        self._clock = _ClockReader(uuid)
        self._functions: dict[tuple[str, str], Any] = {}
        self._modules: dict[str, Any] = {}
        self._memory: Any = None
        self._memory_bytes = 0
        self._start, self._stop = cuda.Event(), cuda.Event()

    def device(self) -> dict[str, Any]:
        """Those fields of `schema.raw.Device` that CUDA knows."""
        major, minor = self._device.compute_capability()
        sm_count = self._device.get_attribute(self._cuda.device_attribute.MULTIPROCESSOR_COUNT)
        return {
            "name": self._device.name(),
            "compute_capability": f"{major}.{minor}",
            "sm_count": sm_count,
        }

    def launch(self, request: LaunchRequest) -> LaunchAnswer:
        """Run a kernel to its end and read its records.

        Raises:
            DriverError: if the cubin is for another architecture or lacks the kernel, if the
                launch is not possible, or if the kernel fails.
        """
        try:
            function = self._function(request.cubin, request.symbol)
            self._reserve(request.record_bytes)
            arguments = pack_arguments(
                request.parameter_bytes,
                int(self._memory),
                request.clock_budget_cycles,
                request.seed,
                request.role_map,
            )
            # One "parameter" that is the whole buffer: the packing is ours.
            function.prepare([f"{len(arguments)}s"])
            return self._run(function, request, arguments)
        except (ArgumentError, DataError) as error:
            raise DriverError(str(error), usable=True) from None
        except (self._cuda.Error, MemoryError, RuntimeError) as error:
            raise DriverError(str(error), usable=self._usable()) from None

    def _run(self, function: Any, request: LaunchRequest, arguments: bytes) -> LaunchAnswer:
        self._cuda.memset_d8(int(self._memory), FILL_BYTE, request.record_bytes)
        self._start.record()
        function.prepared_call((request.blocks, 1), (request.threads_per_block, 1, 1), arguments)
        self._stop.record()
        # The kernel runs now: this is the clock that it has, not that of an idle device.
        sm_clock_mhz = self._clock.sm_clock_mhz()
        throttle_reasons = self._clock.throttle_reasons()
        self._stop.synchronize()
        wall_s = self._start.time_till(self._stop) / 1000
        data = self._numpy.empty(request.record_bytes, dtype=self._numpy.uint8)
        self._cuda.memcpy_dtoh(data, self._memory)
        return LaunchAnswer(data.tobytes(), wall_s, sm_clock_mhz, throttle_reasons)

    def _function(self, path: str, symbol: str) -> Any:
        """The kernel; its module is loaded the first time."""
        known = self._functions.get((path, symbol))
        if known is not None:
            return known
        if path not in self._modules:
            try:
                data = Path(path).read_bytes()
            except OSError as error:
                raise DataError(f"can't read the cubin: {error.strerror}", where=path) from None
            major, minor = self._device.compute_capability()
            arch = cubin_arch(data, path)
            if base_arch(arch) != f"sm_{major}{minor}":
                raise DataError(refusal(arch, f"sm_{major}{minor}", self._device.name()))
            self._modules[path] = self._cuda.module_from_buffer(data)
        function = self._modules[path].get_function(symbol)
        self._functions[path, symbol] = function
        return function

    def _reserve(self, size: int) -> None:
        """Have at least `size` bytes of device memory."""
        if size > self._memory_bytes:
            if self._memory is not None:
                self._memory.free()
                self._memory, self._memory_bytes = None, 0
            self._memory = self._cuda.mem_alloc(size)
            self._memory_bytes = size

    def _usable(self) -> bool:
        """Whether the context has survived an error; a kernel's fault loses it for good."""
        try:
            self._context.synchronize()
        except (self._cuda.Error, RuntimeError):
            return False
        return True


class _ClockReader:
    """The device's state through NVML; what NVML doesn't tell is None or empty."""

    def __init__(self, uuid: str) -> None:
        import pynvml  # noqa: PLC0415

        self._nvml = pynvml
        self._handle: Any = None
        try:
            pynvml.nvmlInit()
            self._handle = pynvml.nvmlDeviceGetHandleByUUID(uuid)
        except pynvml.NVMLError:
            pass

    def sm_clock_mhz(self) -> int | None:
        """Current SM clock."""
        if self._handle is None:
            return None
        try:
            return int(self._nvml.nvmlDeviceGetClockInfo(self._handle, self._nvml.NVML_CLOCK_SM))
        except self._nvml.NVMLError:
            return None

    def throttle_reasons(self) -> list[str]:
        """What holds the clock below its maximum right now."""
        if self._handle is None:
            return []
        # The first is the newer name of the second; older drivers lack it.
        for query in (
            self._nvml.nvmlDeviceGetCurrentClocksEventReasons,
            self._nvml.nvmlDeviceGetCurrentClocksThrottleReasons,
        ):
            try:
                return clock_event_names(int(query(self._handle)))
            except self._nvml.NVMLError:
                continue
        return []
