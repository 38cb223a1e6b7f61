"""The PyCUDA driver: its calls against a stand-in, and the real thing where there is a GPU."""

import json
import os
import shutil
import struct
import subprocess
import sys
import types
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from probelab.timing.child import python_command
from probelab.timing.devices import Gpu
from probelab.timing.driver import DriverError, LaunchRequest
from probelab.timing.pycuda_backend import CudaDriver
from probelab.timing.results import read_raw
from tests.timing.timing_support import Lab, compile_reference, elf


class CudaError(Exception):
    """Stand-in for pycuda.driver.Error."""


class FakeCuda(types.ModuleType):
    """The part of pycuda.driver that is used, with PyCUDA's own signatures."""

    Error = CudaError

    def __init__(self) -> None:
        super().__init__("pycuda.driver")
        self.calls: list[Any] = []
        self.memory = b""
        self.loads = 0
        self.fail_launch = self.lost = False
        cuda = self

        class Context:
            def pop(self) -> None:
                cuda.calls.append("pop")

            def synchronize(self) -> None:
                if cuda.lost:
                    raise CudaError("context is lost")

        class Device:
            def __init__(self, index: int) -> None:
                assert index == 0 and os.environ["CUDA_VISIBLE_DEVICES"] == "GPU-0123"

            def make_context(self) -> Context:
                return Context()

            def name(self) -> str:
                return "NVIDIA Test"

            def compute_capability(self) -> tuple[int, int]:
                return (9, 0)

            def get_attribute(self, attribute: str) -> int:
                return {"sms": 132}[attribute]

        class Event:
            def record(self) -> None:
                cuda.calls.append("event")

            def synchronize(self) -> None:
                cuda.calls.append("wait")
                if cuda.lost:
                    raise CudaError("cuEventSynchronize failed: unspecified launch failure")

            def time_till(self, _other: "Event") -> float:
                return 5.25  # milliseconds

        class Allocation:
            def __init__(self, address: int) -> None:
                self.address = address

            def __int__(self) -> int:
                return self.address

            def free(self) -> None:
                cuda.calls.append(("free", self.address))

        class Function:
            def prepare(self, arg_types: list[str]) -> None:
                self.arg_format = "".join(arg_types)

            def prepared_call(self, grid: Any, block: Any, *args: Any) -> None:
                if cuda.fail_launch:
                    raise CudaError("cuLaunchKernel failed: too many resources requested")
                cuda.calls.append(("launch", grid, block, struct.pack(self.arg_format, *args)))

        class Module:
            def get_function(self, name: str) -> Function:
                if name != "k_probe":
                    raise CudaError("cuModuleGetFunction failed: named symbol not found")
                return Function()

        def module_from_buffer(_data: bytes) -> Module:
            cuda.loads += 1
            return Module()

        def mem_alloc(size: int) -> Allocation:
            cuda.calls.append(("alloc", size))
            return Allocation(0x7000 + size)

        def memset_d8(address: int, value: int, size: int) -> None:
            cuda.calls.append(("fill", address, value, size))
            cuda.memory = bytes([value]) * size

        def memcpy_dtoh(target: Any, _source: Allocation) -> None:
            target[:] = bytearray(cuda.memory)

        self.Device, self.Event = Device, Event
        self.module_from_buffer, self.mem_alloc = module_from_buffer, mem_alloc
        self.memset_d8, self.memcpy_dtoh = memset_d8, memcpy_dtoh
        self.device_attribute = types.SimpleNamespace(MULTIPROCESSOR_COUNT="sms")

    def init(self) -> None:
        self.calls.append("init")


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> FakeCuda:
    cuda = FakeCuda()
    package = types.ModuleType("pycuda")
    package.driver = cuda  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pycuda", package)
    monkeypatch.setitem(sys.modules, "pycuda.driver", cuda)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setattr("atexit.register", lambda _function: None)
    return cuda


def request_for(path: Path, **other: Any) -> LaunchRequest:
    fields: dict[str, Any] = {
        "cubin": str(path),
        "symbol": "k_probe",
        "parameter_bytes": [8, 8, 4, 32],
        "threads_per_block": 64,
        "blocks": 3,
        "record_bytes": 240,
        "clock_budget_cycles": 1000,
        "seed": 0.5,
        "role_map": [1, 0],
        **other,
    }
    return LaunchRequest(**fields)


@pytest.fixture
def cubin(tmp_path: Path) -> Path:
    path = tmp_path / "a.cubin"
    path.write_bytes(elf(0x6005A04, 0x41))
    return path


def test_a_launch(cuda: FakeCuda, cubin: Path) -> None:
    driver = CudaDriver("GPU-0123")
    assert driver.device() == {
        "name": "NVIDIA Test",
        "compute_capability": "9.0",
        "sm_count": 132,
    }
    answer = driver.launch(request_for(cubin))
    assert answer.records == b"\xff" * 240
    assert answer.wall_s == 5.25e-3
    address = 0x7000 + 240
    arguments = struct.pack("<QQf", address, 1000, 0.5) + bytes([1]) + bytes(31)
    assert cuda.calls == [
        "init",
        ("alloc", 240),
        ("fill", address, 0xFF, 240),
        "event",
        ("launch", (3, 1), (64, 1, 1), arguments),
        "event",
        "wait",
    ]
    driver.launch(request_for(cubin))
    driver.launch(request_for(cubin, blocks=6, record_bytes=480))
    assert cuda.loads == 1
    assert cuda.calls[-6:-4] == [("alloc", 480), ("fill", 0x7000 + 480, 0xFF, 480)]


def test_a_cubin_of_another_architecture(cuda: FakeCuda, cubin: Path) -> None:
    cubin.write_bytes(elf(0x6005604, 0x41))
    with pytest.raises(DriverError) as caught:
        CudaDriver("GPU-0123").launch(request_for(cubin))
    assert str(caught.value) == "cubin is sm_86, the device is sm_90 (NVIDIA Test)"
    assert caught.value.usable and cuda.loads == 0


def test_failures(cuda: FakeCuda, cubin: Path, tmp_path: Path) -> None:
    driver = CudaDriver("GPU-0123")
    for request, reason in (
        (request_for(cubin, symbol="other"), "named symbol not found"),
        (request_for(cubin, parameter_bytes=[4]), "parameters have"),
        (request_for(tmp_path / "none.cubin"), "can't read the cubin: No such file"),
    ):
        with pytest.raises(DriverError, match=reason) as caught:
            driver.launch(request)
        assert caught.value.usable
    cuda.fail_launch = True
    with pytest.raises(DriverError, match="too many resources") as caught:
        driver.launch(request_for(cubin))
    assert caught.value.usable
    cuda.fail_launch, cuda.lost = False, True
    with pytest.raises(DriverError, match="unspecified launch failure") as caught:
        driver.launch(request_for(cubin))
    assert not caught.value.usable


PROBE = """
struct ProbeRecord { unsigned long long progress, cycles; float sink;
                     unsigned role, warp_slot, block, sm_id, reserved; };
struct RoleMap { unsigned char role[32]; };
extern "C" __global__ void k_probe(ProbeRecord* records, unsigned long long budget, float seed,
                                   const __grid_constant__ RoleMap role_map) {
    unsigned slot = threadIdx.x / 32, sm_id;
    float value = seed;
    unsigned long long progress = 0, start = clock64(), cycles;
#pragma unroll 1
    do {
        value = __fmaf_rn(value, 0.5f, 1.0f);
        ++progress;
        cycles = clock64() - start;
    } while (cycles < budget);
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm_id));
    if (threadIdx.x % 32 == 0)
        records[blockIdx.x * (blockDim.x / 32) + slot] =
            {progress, cycles, value, role_map.role[slot], slot, blockIdx.x, sm_id, 0};
}
extern "C" __global__ void k_hang(volatile unsigned long long* records) {
    const long long start = clock64();  // longer than the harness waits, but not for ever
    while (records[0] != 1 && clock64() - start < 40000000000ll) {}
}
extern "C" __global__ void k_fault(unsigned long long* records) {
    *reinterpret_cast<volatile int*>(16) = 1;
}
"""
REFERENCE = """
extern "C" int probe_reference(int, unsigned, float seed, const unsigned long long* iterations,
                               int count, float* sinks) {
    unsigned long long done = 0;
    for (int i = 0; i < count; ++i) {
        for (; done < iterations[i]; ++done) seed = seed * 0.5f + 1.0f;  // exact: no fma needed
        sinks[i] = seed;
    }
    return 0;
}
"""


REFUSING_DRIVER = """
import probelab.timing.pycuda_backend as backend
from probelab.timing.driver import DriverError

class Refusing:
    def __init__(self, uuid): pass
    def device(self): return {}
    def launch(self, request): raise DriverError("too many registers", usable=True)

backend.CudaDriver = Refusing
"""


def test_the_worker_process_knows_what_its_driver_raises(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(REFUSING_DRIVER)
    request = LaunchRequest("a.cubin", "k", [8, 8], 128, 1, 160, 1000, 1.0, [0, 0, 0, 0])
    asked = [{"do": "open", "uuid": "GPU-0"}, {"do": "launch", "launch": asdict(request)}]
    done = subprocess.run(
        python_command("probelab.timing.worker"),
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        input="".join(json.dumps(line) + "\n" for line in asked),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert answers[-1] == {"ok": False, "reason": "too many registers", "usable": True}


@pytest.fixture
def real_lab(real_gpu: Gpu, tmp_path: Path) -> Lab:
    """A lab with a real GPU, and a cubin for it that holds three kernels."""
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        pytest.skip("needs nvcc")
    lab = Lab(tmp_path, gpus=[real_gpu], arch=real_gpu.arch)
    lab.results.mkdir()
    source = tmp_path / "probe.cu"
    source.write_text(PROBE)
    cubin = lab.results / "probe.cubin"
    subprocess.run(
        [nvcc, "-cubin", f"-arch={real_gpu.arch}", "-o", str(cubin), str(source)], check=True
    )
    compile_reference(REFERENCE, lab.results / "reference.so")
    return lab


@pytest.mark.gpu
def test_a_real_gpu(real_lab: Lab) -> None:
    """Kernels that work, hang, fault and are not there; the GPU works afterwards."""
    good = real_lab.add(1, symbol="k_probe", cubin="probe.cubin", threads=(32, 256, 1024))
    bad = {
        symbol: real_lab.add(
            number, symbol=symbol, cubin="probe.cubin", parameter_bytes=[8], reference=""
        )[0]
        for number, symbol in enumerate(("k_hang", "k_fault", "k_none"), start=2)
    }
    rows = real_lab.time("pycuda", repeats=10, timeout_s=5.0, real=True).by_id()
    for launch in good:
        row = rows[launch.id]
        assert (row.status, row.reason) == ("ok", "")
        raw = read_raw(real_lab.results / row.raw)
        assert raw.device is not None and raw.device.sm_count > 0
        assert len(raw.repeats) == 10
        for repeat in raw.repeats:
            assert repeat.accepted and repeat.sm_clock_mhz is not None
            assert all(warp.sink_status == "ok" for warp in repeat.warps)
            assert all(warp.cycles >= launch.clock_budget_cycles for warp in repeat.warps)
    assert rows[bad["k_hang"].id].reason.startswith("no answer within 5 s")
    assert "illegal" in rows[bad["k_fault"].id].reason
    assert "not found" in rows[bad["k_none"].id].reason
    # All of the good ones come from the store now.
    again = real_lab.time("pycuda", repeats=10, timeout_s=5.0, real=True).by_id()
    assert [again[launch.id] for launch in good] == [rows[launch.id] for launch in good]


@pytest.mark.gpu
def test_a_real_cubin_of_another_architecture(real_lab: Lab) -> None:
    [launch] = real_lab.add(1, symbol="k_probe", cubin="probe.cubin")
    cubin = real_lab.results / "probe.cubin"
    data = bytearray(cubin.read_bytes())
    data[49 if data[7] == 0x41 else 48] = 75
    cubin.write_bytes(data)
    row = real_lab.time("pycuda", real=True).by_id()[launch.id]
    assert row.status == "failed"
    assert row.reason.startswith(f"cubin is sm_75, the device is {real_lab.arch} (")
