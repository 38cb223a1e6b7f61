"""What is predicted, what isn't, and what is said about either."""

from __future__ import annotations

import pytest

from probelab.errors import DataError
from probelab.predict.constants import load_constants
from tests.predict.predict_support import alone, launch, predict
from tests.sass.sass_support import timed

CHAIN = ["S04 FADD R14, R14, 1"] * 7
SUM = "FADD R20, R20, R14"
LOOP = timed(*CHAIN)


def test_terms_say_where_each_cycle_goes() -> None:
    row = predict(timed("MOV R15, 0x3f800000", *CHAIN[1:], "S04 FADD R14, R14, R15", SUM))
    assert (row.status, row.id, row.variant) == ("ok", "probe-0-1", "probe-0")
    (warp,) = row.warps
    assert warp.terms == {"body": 29, "reduction": 1, "loop_control": 30, "branch_redirect": 10}
    assert warp.cycles_per_iteration == warp.alone_cycles_per_iteration == 70
    assert warp.assumptions == []


@pytest.mark.parametrize("threads", [32, 64, 96, 128])
def test_up_to_one_warp_per_sub_core(threads: int) -> None:
    row = predict(LOOP, launch(threads))
    assert row.status == "ok"
    assert [warp.warp_slot for warp in row.warps] == list(range(threads // 32))
    assert {warp.cycles_per_iteration for warp in row.warps} == {68}


@pytest.mark.parametrize(
    ("run", "reason"),
    [
        (launch(160), "2 warps share a sub-core: not modelled yet"),
        (launch(256), "2 warps share a sub-core: not modelled yet"),
        (launch(1024), "8 warps share a sub-core: not modelled yet"),
        (
            launch(128, blocks=2),
            "2 blocks: which of them share a multiprocessor isn't modelled yet",
        ),
    ],
)
def test_what_is_not_modelled_keeps_the_figure_alone(run: object, reason: str) -> None:
    row = predict(LOOP, run)  # type: ignore[arg-type]
    assert (row.status, row.reason) == ("not predicted", reason)
    for warp in row.warps:
        assert warp.cycles_per_iteration is None
        assert warp.alone_cycles_per_iteration == 68
        assert warp.reason == reason


@pytest.mark.parametrize(
    "arch", ["sm_75", "sm_80", "sm_86", "sm_89", "sm_100", "sm_120", "sm_103a"]
)
def test_other_architectures_say_what_is_assumed(arch: str) -> None:
    warp = alone(timed(*CHAIN, arch=arch), arch)
    assert warp.cycles_per_iteration == 68
    assert warp.assumptions
    assert all(one.endswith("assumed from sm_90") for one in warp.assumptions)


def test_measured_architecture_and_its_variants() -> None:
    assert load_constants("sm_90").assumed_from == ""
    assert load_constants("sm_90a") == load_constants("sm_90")
    assert load_constants("sm_86").assumed_from == "sm_90"


WAITING = {
    "MUFU": ("[B------:R-:W0:-:S08] MUFU.RSQ R15, R14", "[B0-----:R-:W-:-:S04] FADD R14, R15, 1"),
    "LDS": ("[B------:R-:W3:-:S02] LDS R15, [RZ]", "[B---3--:R-:W-:-:S04] FADD R14, R15, 1"),
    "S2UR": (
        "[B------:R-:W5:-:S02] S2UR UR9, SR_TID.X",
        "[B-----5:R-:W-:-:S04] FADD R14, R14, UR9",
    ),
    "STG": (
        "[B------:R2:W-:-:S02] STG.E desc[UR6][R16.64], R14",
        "[B--2---:R-:W-:-:S04] FADD R14, R14, 1",
    ),
    "DEPBAR": ("[B------:R-:W0:-:S02] MUFU.RCP R15, R14", "DEPBAR.LE SB0, 0x0"),
}


@pytest.mark.parametrize("case", WAITING)
def test_a_wait_for_the_loop_s_own_scoreboard_is_not_predicted(case: str) -> None:
    producer, consumer = WAITING[case]
    row = predict(timed(*CHAIN, producer, consumer))
    assert row.status == "not predicted"
    (warp,) = row.warps
    assert warp.alone_cycles_per_iteration is None
    waiting = "DEPBAR" if case == "DEPBAR" else "FADD"
    assert warp.reason.startswith(f"{waiting} at 0x0090 waits for ")
    assert " at 0x0080, whose latency isn't fixed" in warp.reason


def test_a_wait_for_what_was_loaded_before_the_loop_costs_nothing() -> None:
    assert alone(timed("[B0-----:R-:W-:-:S04] FADD R14, R14, R10", *CHAIN)).reason == ""


def test_stall_zero_is_not_predicted() -> None:
    assert "has stall 0" in alone(timed("[B------:R-:W-:Y:S00] NOP", *CHAIN)).reason


def test_a_path_that_was_not_followed_has_its_reason() -> None:
    row = predict(timed("@P1 BRA 0x30", "FADD R14, R14, 1", *CHAIN))
    assert row.status == "not predicted"
    assert row.warps[0].reason.startswith("path not followed: the branch at 0x0010 makes several")
    assert row.reason.startswith("role: path not followed")


@pytest.mark.parametrize("role_map", [(0,), (0, 0, 0, 1), (0, 0, 0, -1)])
def test_a_role_map_that_does_not_fit(role_map: tuple[int, ...]) -> None:
    with pytest.raises(DataError, match="role map"):
        predict(LOOP, launch(128, role_map=role_map))
