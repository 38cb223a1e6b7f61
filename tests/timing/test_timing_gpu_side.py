"""Measuring with a fake GPU in real processes: order, store, hangs, crashes, sinks."""

import json
import os
import time
from collections import Counter

import pytest

from probelab.schema.raw import RawResult
from probelab.timing.results import read_raw
from tests.timing.timing_support import Lab, compile_reference


def work_log(lab: Lab) -> list[str]:
    path = lab.root / "cache" / "work.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    return [json.loads(line)["label"] for line in lines]


def raw(lab: Lab, path: str) -> RawResult:
    return read_raw(lab.results / path)


def test_a_measurement_has_all_that_belongs_to_it(lab: Lab) -> None:
    [launch] = lab.add(1)
    [row] = lab.time().rows
    assert (row.status, row.backend, row.reason) == ("ok", "pycuda", "")
    result = raw(lab, row.raw)
    assert result.device is not None
    assert result.device.model_dump() == {
        "name": "NVIDIA Test",
        "uuid": "GPU-0123",
        "compute_capability": "9.0",
        "driver_version": "580.1",
        "sm_count": 4,
    }
    assert result.measured_at == min(repeat.started_at for repeat in result.repeats)
    assert result.measured_at.endswith("Z")
    assert [repeat.index for repeat in result.repeats] == [0, 1, 2]
    for number, repeat in enumerate(result.repeats):
        assert repeat.accepted and repeat.reason == ""
        assert (repeat.sm_clock_mhz, repeat.wall_s) == (1980, 1e-3)
        assert repeat.throttle_reasons == ["sw_power_cap"]
        assert [warp.role for warp in repeat.warps] == ["chain", "split"]
        assert [warp.sink_status for warp in repeat.warps] == ["ok", "ok"]
        # One warm-up came before.
        assert [warp.progress for warp in repeat.warps] == [1001 + number, 1101 + number]
    assert result.launch == launch


def test_rounds_are_permutations_of_all_launches(lab: Lab) -> None:
    for number in range(8):
        lab.add(number, threads=(32, 64))
    manifest = lab.time(repeats=4)
    launched = [(symbol, threads) for _, symbol, threads in lab.launched()]
    rounds = [launched[at : at + 16] for at in range(0, len(launched), 16)]
    assert len(rounds) == 5  # one of them warm-up
    assert all(sorted(part) == sorted(rounds[0]) and len(set(part)) == 16 for part in rounds)
    assert len({tuple(part) for part in rounds}) == 5
    # `order` says when each repeat ran.
    symbols = {variant.id: variant.symbol for variant in lab.variants}
    results = [raw(lab, row.raw) for row in manifest.rows]
    by_order = {
        repeat.order: (symbols[result.variant.id], result.launch.threads_per_block)
        for result in results
        for repeat in result.repeats
    }
    assert [by_order[order] for order in range(64)] == launched[16:]
    assert all([repeat.index for repeat in result.repeats] == [0, 1, 2, 3] for result in results)


def test_what_is_stored_is_not_measured_again(lab: Lab) -> None:
    [first] = lab.add(1)
    before = lab.time().by_id()
    content = (lab.results / before[first.id].raw).read_bytes()
    assert work_log(lab) == [first.id]
    [second] = lab.add(2)
    after = lab.time().by_id()
    assert {symbol for _, symbol, _ in lab.launched()[4:]} == {lab.variants[1].symbol}
    assert (lab.results / after[first.id].raw).read_bytes() == content
    assert work_log(lab) == [first.id, second.id]
    lab.time()
    assert len(lab.launched()) == 8


@pytest.mark.parametrize("change", [{"repeats": 4}, {"warmup": 2}, {"retime": "again"}], ids=str)
def test_settings_that_matter_measure_again(lab: Lab, change: dict[str, object]) -> None:
    lab.add(1)
    lab.time()
    lab.time(timeout_s=10.0)
    assert len(work_log(lab)) == 1
    lab.time(**change)
    assert len(work_log(lab)) == 2


def test_equal_kernels_are_measured_once(lab: Lab) -> None:
    lab.add(1, kernel_digest="d" * 64)
    lab.add(2, kernel_digest="d" * 64)
    rows = lab.time().rows
    assert [row.status for row in rows] == ["ok", "ok"]
    first, second = (raw(lab, row.raw) for row in rows)
    assert first.repeats == second.repeats
    assert first.variant.id != second.variant.id
    assert len(lab.launched()) == 4 and len(work_log(lab)) == 1


def test_a_stored_measurement_is_judged_by_the_roles_of_each_variant(lab: Lab) -> None:
    lab.add(1, kernel_digest="d" * 64)
    [other] = lab.add(2, kernel_digest="d" * 64)
    # The same machine code, but its first warp claims the sink of the reference's second role.
    lab.variants[1] = lab.variants[1].model_copy(update={"roles": ["split", "chain"]})
    for _ in range(2):
        row = lab.time().by_id()[other.id]
        assert row.status == "failed" and "sink" in row.reason
        warps = raw(lab, row.raw).repeats[0].warps
        assert [warp.sink_status for warp in warps] == ["wrong", "wrong"]
    assert len(work_log(lab)) == 1


def test_a_renamed_role_needs_no_gpu(lab: Lab) -> None:
    lab.add(1)
    lab.time()
    [variant] = lab.variants
    lab.variants = [variant.model_copy(update={"roles": ["long", "wide"]})]
    build = lab.builds[variant.id]
    lab.builds[variant.id] = build.model_copy(update={"reference_roles": ["long", "wide"]})
    [row] = lab.time().rows
    assert [warp.role for warp in raw(lab, row.raw).repeats[0].warps] == ["long", "wide"]
    assert raw(lab, row.raw).repeats[0].warps[0].sink_status == "ok"
    assert len(lab.launched()) == 4


def test_a_damaged_store_entry_is_one_failed_launch(lab: Lab) -> None:
    [first] = lab.add(1)
    lab.time()
    [entry] = (lab.root / "cache").rglob("measurement.json")
    entry.chmod(0o644)
    # Of the same size, or the store would take it for absent and it would be measured again.
    entry.write_bytes(b"?" * entry.stat().st_size)
    [second] = lab.add(2)
    rows = lab.time().by_id()
    assert rows[first.id].status == "failed"
    assert "this stored measurement is damaged (delete " in rows[first.id].reason
    assert rows[second.id].status == "ok"


def test_a_hung_kernel_is_one_failed_variant(lab: Lab) -> None:
    good = lab.add(1)
    hung = lab.add(2, does={"do": "hang", "after": 2, "threads": 64}, threads=(64, 128))
    also_good = lab.add(3)
    started = time.monotonic()
    rows = lab.time(repeats=5, timeout_s=1.5).by_id()
    assert time.monotonic() - started < 8
    for launch in good + also_good:
        assert rows[launch.id].status == "ok"
        repeats = raw(lab, rows[launch.id].raw).repeats
        assert [repeat.index for repeat in repeats] == [0, 1, 2, 3, 4]
    first, second = (rows[launch.id] for launch in hung)
    assert first.status == second.status == "failed"
    assert first.reason.startswith("no answer within 1.5 s: the GPU process was killed")
    assert f"{hung[0].id} of the same kernel failed" in second.reason
    # It hung once and was never tried again; what had been acknowledged is not repeated.
    pids = Counter(pid for pid, _, _ in lab.launched())
    assert len(pids) == 2
    counts = Counter(symbol for _, symbol, _ in lab.launched())
    assert counts[lab.variants[0].symbol] == 5 + 2  # repeats, and a warm-up in each process
    assert not any(_alive(pid) for pid in pids)
    assert work_log(lab) and hung[0].id not in work_log(lab)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize(
    ("does", "reason"),
    [
        ("crash", "the GPU process ended with SIGSEGV"),
        ("exit", "the GPU process ended with exit status 3: PyCUDA ERROR: all is lost"),
        ("poison", "cuEventSynchronize failed: an illegal memory access"),
        ("bug", "KeyError: 'a fault of the worker's own'"),
        ("fail", "cuLaunchKernel failed: too many resources"),
    ],
)
@pytest.mark.parametrize("after", [0, 2])
def test_a_failing_kernel_is_one_failed_variant(
    lab: Lab, does: str, reason: str, after: int
) -> None:
    [bad] = lab.add(1, does={"do": does, "after": after})
    others = lab.add(2) + lab.add(3)
    rows = lab.time().by_id()
    assert rows[bad.id].status == "failed"
    assert reason in rows[bad.id].reason.replace('"', "'")
    assert bool(rows[bad.id].raw) == (after == 2)  # what was measured before is kept
    assert [rows[launch.id].status for launch in others] == ["ok", "ok"]
    assert len({pid for pid, _, _ in lab.launched()}) == (1 if does == "fail" else 2)
    assert sum(symbol == lab.variants[0].symbol for _, symbol, _ in lab.launched()) == after + 1


def test_a_launch_that_does_not_fit_leaves_its_kernel_alone(lab: Lab) -> None:
    small, large = lab.add(1, threads=(64, 1024), does={"do": "fail", "threads": 1024})
    rows = lab.time().by_id()
    assert (rows[small.id].status, rows[large.id].status) == ("ok", "failed")


def test_all_kernels_crash(lab: Lab) -> None:
    for number in range(4):
        lab.add(number, does={"do": "crash"})
    rows = lab.time().rows
    assert [row.status for row in rows] == ["failed"] * 4
    assert len(lab.launched()) == 4


@pytest.mark.parametrize(
    ("does", "reason"), [("busy", "cuCtxCreate failed: out of memory"), ("die", "exit status 1")]
)
def test_a_device_that_cannot_be_opened(lab: Lab, does: str, reason: str) -> None:
    lab.add(1)
    lab.scenario["open"] = does
    [row] = lab.time().rows
    assert (row.status, row.backend) == ("failed", "pycuda")
    assert row.reason.startswith("no GPU process could be started: ")
    assert reason in row.reason


def test_a_device_that_is_busy_for_a_moment(lab: Lab) -> None:
    lab.add(1)
    lab.scenario["open"] = "busy_once"
    assert lab.time().rows[0].status == "ok"


def test_a_budget_beyond_the_bound_is_not_tried(lab: Lab) -> None:
    [launch] = lab.add(1)
    lab.launches = [launch.model_copy(update={"clock_budget_cycles": 10**12})]
    [row] = lab.time(timeout_s=30.0).rows
    assert row.status == "failed"
    assert "takes about 1e+03 s, more than the bound of 30 s" in row.reason
    assert lab.launched() == []


@pytest.mark.parametrize(
    ("does", "reason"),
    [
        ("wrong_sink", "warp 0 of block 0: the sink is 1, the host reference has 0.5 after 1001"),
        ("nan", "warp 0 of block 0: the sink is nan; warp 1 of block 0: the sink is nan"),
        ("unwritten", "warp 1 of block 0: no record was written"),
        ("garbage_clock", "9223372036854775813 cycles can't have passed in 0.001 s"),
    ],
)
def test_repeats_that_cannot_be_believed(lab: Lab, does: str, reason: str) -> None:
    lab.add(1, does={"do": does})
    [row] = lab.time().rows
    assert row.status == "failed"
    assert row.reason.startswith("0 of 3 accepted: ")
    assert reason in row.reason
    repeats = raw(lab, row.raw).repeats
    assert not any(repeat.accepted for repeat in repeats)
    assert ("wrong" in {warp.sink_status for warp in repeats[0].warps}) == (
        does in ("wrong_sink", "nan")
    )
    assert work_log(lab) == []  # it is measured again next time


def test_one_wrong_sink_is_one_repeat_less(lab: Lab) -> None:
    lab.add(1, does={"do": "wrong_once"})
    [row] = lab.time().rows
    assert row.status == "ok"
    assert row.reason.startswith("2 of 3 accepted: warp 0 of block 0: the sink is ")
    assert [repeat.accepted for repeat in raw(lab, row.raw).repeats] == [True, False, True]


def test_without_a_reference_sinks_are_not_checked(lab: Lab) -> None:
    lab.add(1, reference="", does={"do": "wrong_sink"})
    [row] = lab.time().rows
    assert (row.status, row.reason) == ("ok", "")
    result = raw(lab, row.raw)
    assert result.sink_reason == "the variant has no host reference"
    assert result.repeats[0].warps[0].sink_status == "not checked"


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("not an object", "can't load the host reference"),
        ("int other;", "can't load the host reference"),
        ('#include <cstdlib>\nextern "C" int probe_reference() { abort(); }', "SIGABRT"),
        ('extern "C" int probe_reference() { return 7; }', "refuses role 0 (status 7)"),
    ],
)
def test_a_reference_that_does_not_work_is_told(lab: Lab, source: str, reason: str) -> None:
    library = lab.results / "broken.so"
    if source == "not an object":
        library.write_text(source)
    else:
        compile_reference(source, library)
    [bad] = lab.add(1, reference="broken.so")
    [good] = lab.add(2)
    rows = lab.time().by_id()
    assert rows[bad.id].status == "ok"
    assert rows[bad.id].reason.startswith("sinks not checked: ")
    assert reason in rows[bad.id].reason
    assert reason in raw(lab, rows[bad.id].raw).sink_reason
    assert raw(lab, rows[good.id].raw).repeats[0].warps[0].sink_status == "ok"
    # Once it works, the stored records are checked after all, without the GPU.
    launches = len(lab.launched())
    library.unlink()
    library.write_bytes((lab.results / "reference.so").read_bytes())
    rows = lab.time().by_id()
    assert raw(lab, rows[bad.id].raw).repeats[0].warps[0].sink_status == "ok"
    assert len(lab.launched()) == launches
