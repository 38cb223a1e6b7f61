"""Predictions against what an H200 took. Each file in data/ says where its figures come from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from probelab.sass import Kernel, parse_listing
from tests.predict.predict_support import alone, launch, predict
from tests.sass.sass_support import TAIL, program

DATA = Path(__file__).parent / "data"


def recorded(name: str) -> tuple[dict[str, Kernel], dict[str, dict[str, list[list[int]]]]]:
    kernels = {one.name: one for one in parse_listing((DATA / f"{name}.sass").read_text())}
    return kernels, json.loads((DATA / f"{name}.json").read_text())["kernels"]


@pytest.mark.parametrize("threads", [32, 128])
def test_compiled_loops_with_one_warp_per_sub_core(threads: int) -> None:
    kernels, measured = recorded("isolated")
    errors: list[float] = []
    for name, by_threads in measured.items():
        row = predict(kernels[name], launch(threads))
        assert (row.status, row.reason) == ("ok", "")
        for warp, (iterations, cycles) in zip(row.warps, by_threads[str(threads)], strict=True):
            assert warp.cycles_per_iteration is not None
            assert warp.cycles_per_iteration == warp.alone_cycles_per_iteration
            assert sum(warp.terms.values()) == warp.cycles_per_iteration
            assert warp.cycles_per_iteration == pytest.approx(cycles / iterations, abs=1.02)
            errors.append(abs(warp.cycles_per_iteration * iterations / cycles - 1))
    # fma_2_2acc takes a cycle more than its stall fields say; the others are exact.
    assert sum(error > 1e-3 for error in errors) <= len(errors) / 12
    assert sum(errors) / len(errors) < 0.003


@pytest.mark.parametrize("name", ["ad_IN_LOOP", "c7_IN_LOOP"])
def test_a_warp_alone_whose_role_is_selected_in_the_loop(name: str) -> None:
    kernels, measured = recorded("in_loop")
    roles = list(measured[name])
    row = predict(
        kernels[name], launch(256, role_map=list(range(len(roles))) * 8), roles, "in_loop"
    )
    assert row.status == "not predicted"
    for role, warp in zip(roles, row.warps, strict=False):
        iterations, cycles = measured[name][role]
        assert warp.role == role
        assert warp.cycles_per_iteration is None
        assert warp.alone_cycles_per_iteration is not None
        assert sum(warp.terms.values()) == warp.alone_cycles_per_iteration
        # Register ports, which aren't modelled, cost the roles with most accumulators 3 cycles.
        assert -3.2 < warp.alone_cycles_per_iteration - cycles / iterations < 0.1


def additions(count: int) -> list[str]:
    return [f"FADD R{10 + place % 4}, R{10 + place % 4}, UR8" for place in range(count)]


#: Cycles per iteration of hand-written loops of 16 additions whose head is at 0x420, measured with
#: one warp. `{n}` is the place of the loop's n-th addition behind the counter.
HAND_WRITTEN: dict[str, tuple[dict[int, str], float]] = {
    "no branch": ({}, 56),
    "BSSY alone": ({3: "S04 BSSY B0, {8}"}, 59),
    "branch not taken": ({3: "S05 @!PT BRA {8}"}, 60),
    "two branches not taken": ({3: "S05 @!PT BRA {8}", 5: "S05 @!PT BRA {9}"}, 64),
    "branch to the next": ({3: "S05 BRA {4}"}, 65),
    "branch over one": ({3: "S05 BRA {5}"}, 64),
    "branch over four": ({3: "S05 BRA {8}"}, 61),
    "with stall 2": ({3: "S02 BRA {8}"}, 61),
    "with stall 8": ({3: "S08 BRA {8}"}, 61),
    "to place 5 of a line": ({3: "S05 BRA {9}"}, 60),
    "to place 6 of a line": ({3: "S05 BRA {10}"}, 60),
    "to place 7 of a line": ({3: "S05 BRA {11}"}, 60),
    "to place 0 of a line": ({3: "S05 BRA {12}"}, 57),
    "two branches": ({2: "S05 BRA {5}", 7: "S05 BRA {10}"}, 71),
    "BSSY and BSYNC": ({3: "S04 BSSY B0, {5}", 4: "S05 BSYNC B0"}, 71),
    "BSSY and BSYNC apart": ({3: "S04 BSSY B0, {12}", 11: "S05 BSYNC B0"}, 71),
    "two pairs": (
        {
            1: "S04 BSSY B0, {5}",
            4: "S05 BSYNC B0",
            7: "S04 BSSY B0, {11}",
            10: "S05 BSYNC B0",
        },
        86,
    ),
    "BSSY, branch, BSYNC": (
        {2: "S04 BSSY B0, {12}", 3: "S05 BRA {4}", 11: "S05 BSYNC B0"},
        80,
    ),
    "the same, to place 5 of a line": (
        {2: "S04 BSSY B0, {12}", 3: "S05 BRA {9}", 11: "S05 BSYNC B0"},
        75,
    ),
    "a rung not taken and one taken": (
        {
            1: "S04 BSSY B0, {12}",
            3: "S05 @!PT BRA {5}",
            5: "S05 BRA {9}",
            11: "S05 BSYNC B0",
        },
        81,
    ),
}


@pytest.mark.parametrize("case", HAND_WRITTEN)
def test_hand_written_branches(case: str) -> None:
    changes, cycles = HAND_WRITTEN[case]
    head = 0x420 // 16
    body = additions(17)
    body[1] = TAIL[0]
    for place, text in changes.items():
        body[2 + place] = text.format(*(f"{0x440 + 16 * n:#x}" for n in range(16)))
    before = ["CS2R R2, SR_CLOCKLO", *["NOP"] * (head - 1)]
    text = program(*before, *body, *TAIL[1:], "S05 @!P0 BRA 0x420", "CS2R R8, SR_CLOCKLO", "EXIT")
    assert alone(text).alone_cycles_per_iteration == cycles


@pytest.mark.parametrize(
    ("count", "cycles"),
    [(320, 360), (384, 434), (512, 562), (1024, 1074), (1536, 1586)],
)
def test_long_loops(count: int, cycles: float) -> None:
    text = program("CS2R R2, SR_CLOCKLO", *additions(count), *TAIL, "S05 @!P0 BRA 0x10", "EXIT")
    warp = alone(text)
    assert warp.cycles_per_iteration == cycles
    assert warp.terms.get("instruction_cache", 0) == (10 if count > 380 else 0)


def test_loops_that_leave_the_instruction_cache_are_not_predicted() -> None:
    text = program("CS2R R2, SR_CLOCKLO", *additions(2048), *TAIL, "S05 @!P0 BRA 0x10", "EXIT")
    warp = alone(text)
    assert warp.alone_cycles_per_iteration is None
    assert warp.reason.startswith("the loop has 2055 instructions: beyond about 1600,")


@pytest.mark.parametrize(
    ("place", "late"), [(0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (5, 0), (6, 1), (7, 2)]
)
def test_place_of_the_loop_head_in_its_line(place: int, late: float) -> None:
    before = ["CS2R R2, SR_CLOCKLO", *["NOP"] * (7 + place)]
    body = additions(16)
    text = program(*before, *body, *TAIL, f"S05 @!P0 BRA {16 * len(before):#x}", "EXIT")
    warp = alone(text)
    assert warp.terms.get("loop_head", 0) == late
    assert warp.cycles_per_iteration == 16 + 40 + late


def test_a_stall_at_the_loop_head_hides_the_late_line() -> None:
    # Measured: the chain of 64 with its head in place 7 and stall 4 there takes no cycle more.
    before = ["CS2R R2, SR_CLOCKLO", *["NOP"] * 6]
    body = [f"S04 {one}" for one in additions(8)]
    text = program(*before, *body, *TAIL, "S05 @!P0 BRA 0x70", "EXIT")
    assert "loop_head" not in alone(text).terms
