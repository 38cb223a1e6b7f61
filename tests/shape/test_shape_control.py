"""Loop control: the forms that it may have, and what passes for it without being it."""

from __future__ import annotations

import pytest

from probelab.schema.intent import Intent
from probelab.schema.manifests import RoleShape
from tests.sass.sass_support import TAIL, program
from tests.shape.test_shape_verdict import ADD8, CHAIN, role


def counted(*additions: str) -> str:
    """The loop of `timed`, counted by other instructions."""
    loop = [*CHAIN, *additions, *TAIL[1:]]
    return program("CS2R R2, SR_CLOCKLO", *loop, "@!P0 BRA 0x10", "CS2R R8, SR_CLOCKLO", "EXIT")


@pytest.mark.parametrize(
    "additions",
    [
        ["VIADD R6, R6, 0x1"],
        ["IADD3 R6, PT, PT, R6, 0x1, RZ"],
        ["IMAD.IADD R6, R6, 0x1, R22"],
        ["IMAD R6, R22, 0x4, R6"],
        ["LEA R6, R22, R6, 0x2"],
        ["UIADD3 UR8, UR8, 0x1, URZ"],
        ["IADD.64 R6, R6, 0x1"],
        ["IADD3 R6, P1, R6, 0x1, RZ", "IADD3.X R7, RZ, R7, RZ, P1, !PT"],
        ["IADD3 R6, P1, R6, 0x1, RZ", "IMAD.X R7, RZ, RZ, R7, P1"],
        ["MOV R20, R6", "IADD3 R6, R20, 0x1, RZ"],
    ],
)
def test_forms_of_a_counter(additions: list[str]) -> None:
    text = counted(*[one.replace("R7", "R17").replace("R6", "R16") for one in additions])
    shape = role(text, ADD8)
    assert (shape.status, shape.findings) == ("ok", [])
    assert (shape.loop_control, shape.other) == (6 + len(additions), 0)


COUNTERS = {
    "none": ([], "nothing in the loop counts its iterations"),
    "doubles": (["IADD3 R16, R16, R16, RZ"], "nothing in the loop counts its iterations"),
    "the other way": (["IADD3 R16, -R16, 0x1, RZ"], "nothing in the loop counts its iterations"),
    "by two": (
        ["IADD3 R16, R16, 0x2, RZ"],
        "the counter goes up by 2 in each iteration, not by 1: IADD3 at 0x0090",
    ),
    "down": (["VIADD R16, R16, 0xffffffff"], "the counter goes up by -1 in each iteration"),
    "by what another one counts": (
        ["IADD3 R16, R16, 0x1, RZ", "IADD3 R18, R18, R16, RZ"],
        "of use to neither body nor loop: 2 IADD3",
    ),
}


@pytest.mark.parametrize("case", COUNTERS)
def test_what_counts_no_iterations(case: str) -> None:
    additions, finding = COUNTERS[case]
    shape = role(counted(*additions), ADD8)
    assert shape.status == "broken"
    assert any(finding in one for one in shape.findings), shape.findings


def test_a_counter_that_may_not_count_is_not_checked() -> None:
    shape = role(counted("@P3 IADD3 R16, R16, 0x1, RZ"), ADD8)
    assert shape.status == "not checked"
    assert shape.findings == [
        "it isn't known whether @P3 IADD3 R16, R16, 0x1, RZ at 0x0090 executes"
    ]


ENDS = {
    "a float": (["FSETP.GT.AND P0, PT, R14, 1, P0"], "1 FSETP, 0x00f0"),
    "a float's bits": (["ISETP.GT.AND P0, PT, R14, R22, P0"], "1 ISETP, 0x00f0"),
    "memory": (["LDS R21, [R22]", "ISETP.NE.AND P0, PT, R21, RZ, P0"], "1 LDS, 0x00f0"),
    "its own work": (
        ["IMAD R21, R21, R22, R23", "ISETP.NE.AND P0, PT, R21, RZ, P0"],
        "1 IMAD, 0x00f0",
    ),
    "many comparisons": (["ISETP.NE.AND P0, PT, R22, RZ, P0"] * 4, "6 ISETP, 0x00d0"),
    "many additions": (
        ["IADD3 R7, R7, 0x1, RZ", "ISETP.NE.AND P0, PT, R7, RZ, P0"],
        "3 IADD3, 0x00b0",
    ),
}


@pytest.mark.parametrize("case", ENDS)
def test_what_else_ends_the_loop(case: str) -> None:
    more, where = ENDS[case]
    loop = [*CHAIN, *TAIL, *more]
    text = program("CS2R R2, SR_CLOCKLO", *loop, "@!P0 BRA 0x10", "CS2R R8, SR_CLOCKLO", "EXIT")
    shape = role(text, ADD8)
    finding = f"the loop's end takes more than a comparison of the clock: {where}"
    assert shape.status == "broken"
    assert any(one.startswith(finding) for one in shape.findings), shape.findings


def test_a_bound_on_the_counter_is_loop_control() -> None:
    loop = [*CHAIN, *TAIL, "ISETP.GE.U32.AND P1, PT, R6, 0x400, PT"]
    loop += ["PLOP3.LUT P0, PT, P0, P1, PT, 0xa8, 0x0", "@!P0 BRA 0x10"]
    shape = role(program("CS2R R2, SR_CLOCKLO", *loop, "CS2R R8, SR_CLOCKLO", "EXIT"), ADD8)
    assert (shape.status, shape.findings) == ("ok", [])


def test_a_clock_that_decides_nothing_is_broken() -> None:
    loop = [*CHAIN, "IADD3 R6, R6, 0x1, RZ", "CS2R R4, SR_CLOCKLO"]
    loop += ["ISETP.GE.U32.AND P0, PT, R6, R22, PT", "@!P0 BRA 0x10"]
    shape = role(program("CS2R R2, SR_CLOCKLO", *loop, "CS2R R8, SR_CLOCKLO", "EXIT"), ADD8)
    assert shape.findings == ["the clock that the loop reads doesn't decide its end"]


def test_a_loop_around_the_timed_one_is_broken() -> None:
    loop = [*CHAIN, *TAIL, "@!P0 BRA 0x10", "CS2R R8, SR_CLOCKLO", "@P2 BRA 0x0", "EXIT"]
    shape = role(program("CS2R R2, SR_CLOCKLO", *loop), ADD8)
    assert shape.findings == ["the timed loop lies inside another loop, at 0x0000"]


def verdict_of_integers(body: list[str], **intent: object) -> RoleShape:
    text = program(
        *("CS2R R2, SR_CLOCKLO", *body, *TAIL),
        *("@!P0 BRA 0x10", "CS2R R8, SR_CLOCKLO", "EXIT"),
    )
    return role(text, Intent.model_validate(intent))


IMAD, IADD = "S04 IMAD {0}, R22, {0}, R23", "S04 IADD3 {0}, {0}, R22, R23"


@pytest.mark.parametrize(("opcode", "step"), [("IMAD", IMAD), ("IADD3", IADD)])
def test_integers_are_the_body_where_the_intent_says_so(opcode: str, step: str) -> None:
    body = [step.format("R14"), step.format("R15"), step.format("R14")]
    shape = verdict_of_integers(body, opcode=opcode, chains=[2, 1])
    assert (shape.status, shape.findings) == ("ok", [])
    assert (shape.loop_control, shape.chains, shape.other) == (7, [2, 1], 0)
    summed = [*body, "IADD3 R20, R14, R15, R20"]
    shape = verdict_of_integers(summed, opcode=opcode, chains=[2, 1], reduction="each_iteration")
    assert (shape.status, shape.findings, shape.reduction) == ("ok", [], 1)
    more = verdict_of_integers([*body, "IADD3 R20, R20, 0x1, RZ"], opcode=opcode, chains=[2, 1])
    assert more.status == "broken"
    assert role(counted(TAIL[0], *body), ADD8).status == "broken"
