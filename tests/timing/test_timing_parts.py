"""The small parts: argument packing, records, cubin headers, order, devices, child processes."""

import os
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

from probelab.architectures import base_arch
from probelab.errors import DataError, ToolError
from probelab.timing import devices
from probelab.timing.arguments import ArgumentError, pack_arguments
from probelab.timing.child import Child, ChildDiedError, ChildTimeoutError
from probelab.timing.cubin import cubin_arch
from probelab.timing.judge import Query
from probelab.timing.measure import suitable
from probelab.timing.records import RECORD_BYTES, decode
from probelab.timing.reference import HostReference, ReferenceProcess
from probelab.timing.schedule import plan_steps
from tests.timing.timing_support import GPU, OTHER_GPU, compile_reference, elf


class TestArguments:
    def test_layout_of_a_complete_kernel(self) -> None:
        packed = pack_arguments([8, 8, 4, 32], 0x1122334455667788, 10_000_000, 0.999, [3, 1, 2])
        assert len(packed) == 52
        assert struct.unpack_from("<Q", packed, 0) == (0x1122334455667788,)
        assert struct.unpack_from("<Q", packed, 8) == (10_000_000,)
        assert packed[16:20] == struct.pack("<f", 0.999)
        assert packed[20:] == bytes([3, 1, 2]) + bytes(29)

    @pytest.mark.parametrize(("count", "size"), [(1, 8), (2, 16), (3, 20), (4, 52)])
    def test_trailing_parameters_may_be_left_out(self, count: int, size: int) -> None:
        whole = pack_arguments([8, 8, 4, 32], 1, 2, 3.0, [4])
        assert pack_arguments([8, 8, 4, 32][:count], 1, 2, 3.0, [4]) == whole[:size]

    @pytest.mark.parametrize("sizes", [[], [4], [8, 4], [8, 8, 4, 16], [8, 8, 4, 32, 4]])
    def test_other_kernels_are_refused(self, sizes: list[int]) -> None:
        with pytest.raises(ArgumentError, match=r"\[8, 8, 4, 32\]"):
            pack_arguments(sizes, 1, 2, 3.0, [])

    def test_values_that_do_not_fit(self) -> None:
        for budget, roles in ((2**64, [0]), (-1, [0]), (1, [256])):
            with pytest.raises(ArgumentError, match="doesn't fit"):
                pack_arguments([8, 8, 4, 32], 1, budget, 3.0, roles)
        with pytest.raises(ArgumentError, match="33 entries"):
            pack_arguments([8, 8, 4, 32], 1, 1, 3.0, [0] * 33)


class TestRecords:
    def test_layout(self) -> None:
        assert RECORD_BYTES == 40
        data = struct.pack("<QQfIIIII", 2**40, 2**41, 0.5, 3, 1, 0, 131, 0)
        first, second = decode(b"\xff" * 40 + data, 2, 1)
        assert not first.written
        assert second.written
        assert (second.progress, second.cycles, second.sink) == (2**40, 2**41, 0.5)
        assert (second.role, second.warp_slot, second.block, second.sm_id) == (3, 1, 0, 131)

    def test_wrong_size(self) -> None:
        with pytest.raises(ValueError, match="39 bytes of records, 40 expected"):
            decode(bytes(39), 1, 1)


class TestCubin:
    @pytest.mark.parametrize(
        ("flags", "abi", "arch"),
        [
            (0x6005604, 0x41, "sm_86"),
            (0x6005A04, 0x41, "sm_90"),
            (0x6007802, 0x41, "sm_120"),
            (0x00560556, 0x33, "sm_86"),
            (0x005A055A, 0x33, "sm_90"),
        ],
    )
    def test_arch(self, flags: int, abi: int, arch: str) -> None:
        assert cubin_arch(elf(flags, abi), "a.cubin") == arch

    @pytest.mark.parametrize("data", [b"", b"hello" * 20, elf(0, 0x41, machine=62), elf(0, 0)])
    def test_other_files(self, data: bytes) -> None:
        with pytest.raises(DataError, match=r"a.cubin: not a cubin"):
            cubin_arch(data, "a.cubin")

    def test_suffix(self) -> None:
        assert base_arch("sm_90a") == base_arch("sm_90") == "sm_90"


class TestSchedule:
    def test_each_round_is_a_permutation(self) -> None:
        steps = plan_steps("job", ["c", "a", "b", "d"], 20)
        assert [step.order for step in steps] == list(range(80))
        rounds = [steps[at : at + 4] for at in range(0, 80, 4)]
        for number, part in enumerate(rounds):
            assert {step.repeat for step in part} == {number}
            assert sorted(step.launch for step in part) == ["a", "b", "c", "d"]
        assert len({tuple(step.launch for step in part) for part in rounds}) > 10

    def test_the_seed_is_the_job(self) -> None:
        one = plan_steps("job", ["a", "b", "c", "d", "e"], 5)
        assert one == plan_steps("job", ["e", "d", "c", "b", "a"], 5)
        assert one != plan_steps("other job", ["a", "b", "c", "d", "e"], 5)

    def test_nothing_to_do(self) -> None:
        assert plan_steps("job", [], 5) == plan_steps("job", ["a"], 0) == []


class TestDevices:
    @pytest.mark.parametrize(
        ("setting", "indices"),
        [
            (None, [0, 1]),
            ("", []),
            ("1", [1]),
            ("1,0", [1, 0]),
            ("0,7,1", [0]),
            ("-1", []),
            ("GPU-45", [1]),
            ("GPU-", []),
            ("1, 1", [1]),
            ("MIG-1,0", []),
        ],
    )
    def test_visible(self, setting: str | None, indices: list[int]) -> None:
        chosen = devices.select_visible([GPU, OTHER_GPU], setting)
        assert [gpu.index for gpu in chosen] == indices

    def test_arch(self) -> None:
        assert (GPU.arch, OTHER_GPU.arch) == ("sm_90", "sm_86")
        assert suitable([OTHER_GPU, GPU], "sm_90a") == ([GPU], "")
        assert suitable([GPU], "sm_86") == (
            [],
            "cubin is sm_86, the device is sm_90 (NVIDIA Test)",
        )

    def test_clock_events(self) -> None:
        assert devices.clock_event_names(0) == devices.clock_event_names(1) == []
        assert devices.clock_event_names(0x61) == ["sw_thermal_slowdown", "hw_thermal_slowdown"]
        assert devices.clock_event_names(0x8004) == ["sw_power_cap", "bit 0x8000"]

    def test_a_machine_without_a_driver(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(devices, "driver_present", lambda: False)
        monkeypatch.setitem(sys.modules, "pynvml", None)  # an import would fail
        assert devices.all_gpus() == devices.visible_gpus() == []

    def test_lock_between_processes(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(devices.tempfile, "gettempdir", lambda: str(tmp_path))
        code = (
            "import sys, tempfile, time; tempfile.tempdir = sys.argv[1]\n"
            "from probelab.timing.devices import Gpu, locked\n"
            "with locked([Gpu(0, 'a', 'GPU-0123', '9.0', '1')]):\n"
            "    print('held', flush=True); sys.stdin.readline()\n"
        )
        with subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as holder:
            assert holder.stdout is not None
            assert holder.stdout.readline() == b"held\n"
            with devices.locked([GPU, OTHER_GPU]) as gpu:
                assert gpu == OTHER_GPU
            with pytest.raises(TimeoutError), devices.locked([GPU], wait_s=0.1):
                pass
            holder.kill()
        # The lock ended with its process.
        with devices.locked([GPU], wait_s=5) as gpu:
            assert gpu == GPU


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


class TestChild:
    def test_a_child_that_is_deaf_to_a_long_request(self) -> None:
        with Child(python("import time; time.sleep(60)")) as child:
            with pytest.raises(ChildTimeoutError, match=r"no answer within 0.3 s"):
                child.ask({"text": "x" * 1_000_000}, 0.3)
            with pytest.raises(ProcessLookupError):
                os.kill(child.pid, 0)

    def test_a_child_that_trickles(self) -> None:
        code = "import time\nwhile True: print('x', end='', flush=True); time.sleep(0.05)"
        started = time.monotonic()
        with Child(python(code)) as child, pytest.raises(ChildTimeoutError):
            child.ask({}, 0.4)
        assert time.monotonic() - started < 5

    @pytest.mark.parametrize(
        ("code", "reason"),
        [
            ("input(); print('hello')", "something else than JSON: b'hello'"),
            ("input(); print('[1]')", "something else than JSON"),
            ("input(); raise SystemExit('out of luck')", "exit status 1: out of luck"),
            ("import sys; sys.stdin.close()", "exit status 0"),
        ],
    )
    def test_a_child_that_talks_nonsense(self, code: str, reason: str) -> None:
        with Child(python(code)) as child:
            with pytest.raises(ChildDiedError, match=reason):
                child.ask({}, 10)
            with pytest.raises(ChildDiedError):
                child.ask({}, 10)

    def test_a_command_that_does_not_exist(self) -> None:
        with pytest.raises(ChildDiedError, match="can't start /no/such/thing: No such file"):
            Child(["/no/such/thing"])

    @pytest.mark.skipif(sys.platform != "linux", reason="needs Linux's parent death signal")
    def test_a_child_ends_with_a_killed_parent(self) -> None:
        code = (
            "import sys, time\nfrom probelab.timing.child import Child\n"
            "grandchild = 'import time; from probelab.timing.serve import serve;' \\\n"
            "    'serve(lambda r: {} if r[\"n\"] == 0 else time.sleep(60))'\n"
            "child = Child([sys.executable, '-c', grandchild])\n"
            "child.ask({'n': 0}, 30)\nprint(child.pid, flush=True)\nchild.ask({'n': 1}, 60)\n"
        )
        with subprocess.Popen(python(code), stdout=subprocess.PIPE) as parent:
            assert parent.stdout is not None
            pid = int(parent.stdout.readline())
            parent.send_signal(signal.SIGKILL)
        deadline = time.monotonic() + 10
        while _running(pid):
            assert time.monotonic() < deadline
            time.sleep(0.02)


def _running(pid: int) -> bool:
    """Whether a process runs; a dead one that nobody has waited for doesn't."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


class TestReference:
    def test_sinks_in_any_order(self, reference_library: Path) -> None:
        reference = HostReference(reference_library)
        assert reference.sinks(Query(1, 32, (7, 3, 7)), 0.5) == [519.5, 517.5, 519.5]
        with pytest.raises(ToolError, match=r"refuses role 9 \(status 1\)"):
            reference.sinks(Query(9, 0, (1,)), 0.5)

    def test_not_finite(self, tmp_path: Path) -> None:
        source = (
            "#include <cmath>\n"
            'extern "C" int probe_reference(int, unsigned, float, const unsigned long long*,'
            "int count, float* sinks) { for (int i = 0; i < count; ++i)"
            " sinks[i] = i ? INFINITY : NAN; return 0; }"
        )
        library = compile_reference(source, tmp_path / "r.so")
        process = ReferenceProcess()
        try:
            sinks = process.sinks(library, 1.0, [Query(0, 0, (1, 2))])
        finally:
            process.close()
        assert sinks == {(0, 0, 1): None, (0, 0, 2): None}

    def test_a_reference_that_hangs(self, tmp_path: Path, reference_library: Path) -> None:
        source = (
            '#include <unistd.h>\nextern "C" int probe_reference(){ for (;;) sleep(60); return 0; }'
        )
        library = compile_reference(source, tmp_path / "r.so")
        process = ReferenceProcess(timeout_s=1.5)
        try:
            with pytest.raises(ToolError, match=r"no answer within 1.5 s"):
                process.sinks(library, 1.0, [Query(0, 0, (1, 2))])
            # Another reference is not the worse for it.
            assert process.sinks(reference_library, 0.5, [Query(0, 0, (1,))]) == {(0, 0, 1): 0.5}
        finally:
            process.close()
