"""Every point of an intent: loops that meet it, and loops that miss it in one way."""

from __future__ import annotations

import pytest

from probelab.sass import parse_listing
from probelab.schema.intent import Intent
from probelab.schema.manifests import RoleShape, ShapeRow
from probelab.shape import check
from tests.sass.sass_support import timed

CHAIN = [f"S04 FADD R14, R14, {1 + step / 8}" for step in range(8)]
ADD8 = Intent(opcode="FADD", chains=[8], registers="single", operands="immediate")
SUM = "FADD R20, R14, R20"


def verdict(text: str, intent: Intent | None) -> ShapeRow:
    (kernel,) = parse_listing(text)
    intents = {} if intent is None else {"role": intent}
    return check(kernel, ["role"], "isolated", "none", intents)


def role(text: str, intent: Intent | None) -> RoleShape:
    (shape,) = verdict(text, intent).roles
    return shape


def ffma(*registers: str) -> list[str]:
    return [f"S04 FFMA {one}, R30, {one}, R31" for one in registers]


def test_a_single_register_chain() -> None:
    shape = role(timed(*CHAIN), ADD8)
    assert (shape.status, shape.findings) == ("ok", [])
    assert shape.chains == [8]
    assert shape.accumulators == [["R14"]]
    assert shape.description == "single-register FADD chain of 8 with immediates"
    assert (shape.setup, shape.reduction, shape.dispatch, shape.other) == (0, 0, 0, 0)
    assert shape.loop_control == 7
    assert shape.instructions == 15 == len(shape.excerpt) == len(shape.path)
    assert shape.stall_sum == 8 * 4 + 1 + 6 + 4 + 2 + 4 + 13 + 5
    assert shape.live_registers == 1
    assert shape.opcodes["FADD"] == 8
    assert shape.excerpt[0] == "B /*0010*/ [B------:R-:W-:-:S04] FADD R14, R14, 1.0 ;"
    assert shape.excerpt[-1].startswith("C /*00f0*/")
    assert shape.excerpt[-1].endswith("-> taken")


def test_several_accumulators() -> None:
    text = timed(*ffma("R10", "R11", "R10", "R11", "R10", "R11", "R10"))
    shape = role(
        text, Intent(opcode="FFMA", chains=[4, 3], registers="single", operands="register")
    )
    assert (shape.status, shape.findings) == ("ok", [])
    assert shape.accumulators == [["R10"], ["R11"]]
    assert shape.description == "two alternating accumulators, 4 and 3 FFMA"
    assert shape.live_registers == 4
    once = role(
        timed(*ffma(*(f"R{n}" for n in range(10, 17)))), Intent(opcode="FFMA", chains=[1] * 7)
    )
    assert once.status == "ok"
    assert once.description == "seven live accumulators, one FFMA each"


#: The note's dependent FMA chain: constants are moved to a register, two registers alternate.
ALTERNATING = [
    "MOV R15, 0x3f800001",
    "S04 FFMA.FTZ R15, R14, R15, 0.5",
    "MOV R16, 0x3f800002",
    "S04 FFMA.FTZ R15, R15, R16, 0.6",
    "IMAD.MOV.U32 R14, RZ, RZ, 0x3f800003",
    "S04 FFMA.FTZ R14, R15, R14, 0.7",
    "HFMA2.MMA R17, -RZ, RZ, 1.875, 0",
    "S04 FFMA.FTZ R15, R14, R17, 0.8",
    "S04 FFMA.FTZ R14, R15, R17, 0.9",
]


def test_moves_and_constants_in_disguise_are_source_setup() -> None:
    intent = Intent(opcode="FFMA", chains=[5], registers="alternating", setup="required")
    shape = role(timed(*ALTERNATING), intent)
    assert (shape.status, shape.findings) == ("ok", [])
    assert shape.chains == [5]
    assert shape.accumulators == [["R15", "R14"]]
    assert shape.setup == 4
    assert shape.description == (
        "FFMA chain of 5 alternating over R15 and R14 with immediates, "
        "four source setup instructions among them"
    )
    single = role(timed(*ALTERNATING), intent.model_copy(update={"registers": "single"}))
    assert single.findings == ["expected each chain in one register, found R15 and R14"]
    none = role(timed(*ALTERNATING), intent.model_copy(update={"setup": "none"}))
    assert none.findings[0].startswith("expected no source setup in the loop, found 2 MOV, 1 IMAD")


def test_a_move_within_a_chain_does_not_split_it() -> None:
    body = [*CHAIN[:4], "IMAD.MOV.U32 R16, RZ, RZ, R14", "S04 FADD R14, R16, 2.0", *CHAIN[:3]]
    shape = role(timed(*body), ADD8.model_copy(update={"setup": "allowed"}))
    assert (shape.status, shape.chains, shape.setup) == ("ok", [8], 1)


BROKEN = {
    "vanished": ([], ADD8, "expected 8 FADD on the path, found 0"),
    "one missing": (CHAIN[1:], ADD8, "expected 8 FADD on the path, found 7"),
    "contracted": (
        [one.replace("FADD R14, R14,", "FFMA R14, R14, R20,") for one in CHAIN],
        ADD8,
        "contraction: FFMA where FADD is intended",
    ),
    "split": (
        ffma("R10", "R10", "R10", "R10", "R11", "R11", "R11"),
        Intent(opcode="FFMA", chains=[7]),
        "expected 1 accumulator (7 instructions), found 2 (4 and 3)",
    ),
    "merged": (
        ffma(*["R10"] * 7),
        Intent(opcode="FFMA", chains=[4, 3]),
        "expected 2 accumulators (4 and 3 instructions), found 1 (7)",
    ),
    "starts anew": (
        ["FADD R14, R20, 1", *CHAIN[1:]],
        ADD8,
        "accumulator R14 starts anew in each iteration",
    ),
    "swapped": (
        ["FADD R10, R11, 1", "FADD R11, R12, 1", "MOV R12, R10"],
        Intent(opcode="FADD", chains=[1, 1], setup="allowed"),
        "accumulator R10 goes on with another accumulator's value",
    ),
    "forked": (
        [*CHAIN[:7], "FADD R15, R14, 1", "FADD R14, R14, 2"],
        ADD8,
        "FADD at 0x0070 is read by more than one instruction of the body",
    ),
    "unread": (
        [*CHAIN, "FADD R15, R20, 1"],
        ADD8.model_copy(update={"chains": [8, 1]}),
        "FADD at 0x0090 is read by nothing on the path",
    ),
    "no immediate": (
        [*CHAIN[:7], "FADD R14, R14, R21"],
        ADD8,
        "1 FADD without an immediate, 0x0080",
    ),
    "immediate": (CHAIN, ADD8.model_copy(update={"operands": "register"}), "no general register"),
    "uniform": (
        ["FADD R14, R14, UR8"],
        Intent(opcode="FADD", chains=[1], operands="register"),
        "1 FADD with a source that is no general register",
    ),
    "constant": (
        ["FADD R14, R14, c[0x0][0x160]"],
        Intent(opcode="FADD", chains=[1], operands="register"),
        "1 FADD with a source that is no general register",
    ),
    "setup missing": (CHAIN, ADD8.model_copy(update={"setup": "required"}), "found none"),
    "sum where none belongs": (
        [*CHAIN, SUM],
        ADD8,
        "expected no joining of accumulators, found 1 FADD, 0x0090",
    ),
    "no sum": (
        CHAIN,
        ADD8.model_copy(update={"reduction": "each_iteration"}),
        "expected a reduction into a sink in each iteration, found none",
    ),
    "an accumulator left out": (
        [*ffma("R10", "R11", "R12"), "FADD R13, R10, R11", "FADD R20, R20, R13"],
        Intent(opcode="FFMA", chains=[1, 1, 1], reduction="each_iteration"),
        "the reduction leaves out R12",
    ),
    "the sum is dropped": (
        [*ffma("R10", "R11"), "FADD R20, R10, R11"],
        Intent(opcode="FFMA", chains=[1, 1], reduction="each_iteration"),
        "the sum isn't kept from one iteration to the next",
    ),
    "local memory": ([*CHAIN, "STL [R1+0x8], R20"], ADD8, "local memory in the loop: 1 STL"),
    "two clock reads": (
        [*CHAIN, "CS2R R10, SR_CLOCKLO"],
        ADD8,
        "expected one clock read per iteration, found 2",
    ),
    "a stray instruction": (
        [*CHAIN, "SHF.L.U32 R21, R22, 0x1, RZ"],
        ADD8,
        "of use to neither body nor loop: 1 SHF, 0x0090",
    ),
    "work that feeds nothing": (
        [*CHAIN, *["S04 IMAD R21, R21, R22, R23"] * 20],
        ADD8,
        "of use to neither body nor loop: 20 IMAD, 0x0090, 0x00a0, 0x00b0, …",
    ),
    "multiplied": (
        [*CHAIN, "IMAD R21, R21, R22, RZ"],
        ADD8,
        "of use to neither body nor loop: 1 IMAD, 0x0090",
    ),
    "shifted": (
        [*CHAIN, "LEA R21, R21, R22, 0x2"],
        ADD8,
        "of use to neither body nor loop: 1 LEA, 0x0090",
    ),
    "another counter": (
        [*CHAIN, "IADD3 R21, R21, 0x1, RZ"],
        ADD8,
        "of use to neither body nor loop: 1 IADD3, 0x00a0",
    ),
    "a store": ([*CHAIN, "STG.E [R22.64], R14"], ADD8, "neither body nor loop: 1 STG, 0x0090"),
    "a load": (
        ["LDS R21, [R22]", *CHAIN[:7], "S04 FFMA R14, R14, 1, R21"],
        ADD8,
        "FFMA at 0x0090 reads what LDS at 0x0010 makes",
    ),
    "a load from constant memory": (
        ["LDC R21, c[0x3][R22]", *ffma("R14")[:1], "FADD R14, R14, R21"],
        Intent(opcode="FFMA", chains=[1], setup="allowed"),
        "FADD at 0x0030 reads what LDC at 0x0010 makes",
    ),
    "reads the clock": (
        [*CHAIN[:7], "FADD R14, R14, R4"],
        ADD8,
        "FADD at 0x0080 reads what IADD3 at 0x00c0 makes",
    ),
    "reads the counter": (
        [*CHAIN[:7], "FADD R14, R14, R6"],
        ADD8,
        "FADD at 0x0080 reads what IADD3 at 0x0090 makes",
    ),
    "copies for later": (
        [*CHAIN, "MOV R21, R14"],
        ADD8,
        "of use to neither body nor loop: 1 MOV, 0x0090",
    ),
    "a longer sum": (
        [*ffma("R10", "R11"), *["FADD R20, R20, R10"] * 2, "FADD R20, R20, R11"],
        Intent(opcode="FFMA", chains=[1, 1], reduction="each_iteration"),
        "a sum of 2 and the sink takes 2 instructions, found 3 FADD",
    ),
    "an inner loop": (
        [*CHAIN, "@P3 BRA 0x30"],
        ADD8,
        "another loop, at 0x0030, lies on the path",
    ),
    "another back-edge": (
        [*CHAIN[:4], "@!P4 BRA 0x80", "NOP", "BRA 0x10", *CHAIN[4:]],
        ADD8,
        "expected one back-edge, found 2: 0x0070, 0x0120",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_each_difference_is_one_clear_finding(case: str) -> None:
    body, intent, finding = BROKEN[case]
    shape = role(timed(*body), intent)
    assert any(finding in one for one in shape.findings), shape.findings
    assert all("\n" not in one for one in shape.findings)
    assert shape.status == "broken"
    assert verdict(timed(*body), intent).reason.startswith("role: ")


def test_sum_of_an_add_role_is_told_from_its_body() -> None:
    intent = ADD8.model_copy(update={"reduction": "each_iteration"})
    shape = role(timed(*CHAIN, SUM), intent)
    assert (shape.status, shape.chains, shape.reduction) == ("ok", [8], 1)


@pytest.mark.parametrize(
    "sums",
    [
        ["FADD R20, R20, R10", "FADD R20, R20, R11", "FADD R20, R20, R12", "FADD R20, R20, R13"],
        ["FADD R15, R10, R11", "FADD R15, R15, R12", "FADD R15, R15, R13", "FADD R20, R15, R20"],
        ["FADD R15, R10, R11", "FADD R16, R12, R13", "FADD R15, R15, R16", "FADD R20, R15, R20"],
    ],
    ids=["into the sink", "chain", "tree"],
)
def test_forms_of_a_reduction(sums: list[str]) -> None:
    names = ["R10", "R11", "R12", "R13", "R10", "R11", "R12"]
    body = [f"FADD {one}, {one}, R21" for one in names]
    intent = Intent(opcode="FADD", chains=[2, 2, 2, 1], reduction="each_iteration")
    shape = role(timed(*body, *sums), intent)
    assert (shape.status, shape.findings, shape.reduction) == ("ok", [], 4)


def test_regions_cover_each_instruction_once() -> None:
    body = [*ALTERNATING, "FADD R20, R20, R14", "NOP"]
    shape = role(timed(*body), Intent(opcode="FFMA", chains=[5], setup="allowed"))
    assert shape.instructions == 18
    assert (shape.setup, shape.reduction, shape.loop_control, shape.other) == (4, 1, 7, 1)
    assert [step.region for step in shape.path].count("body") == 5


def test_clock_reads_at_both_ends() -> None:
    text = timed(*CHAIN, before=("NOP",))
    assert "no clock read before the timed loop" in role(text, ADD8).findings
    text = timed(*CHAIN).replace("CS2R R8, SR_CLOCKLO", "NOP")
    assert "no clock read after the timed loop" in role(text, ADD8).findings


def test_no_timed_loop_is_broken() -> None:
    text = timed(*CHAIN).replace("CS2R R4, SR_CLOCKLO", "CS2R R4, SRZ")
    row = verdict(text, ADD8)
    assert (row.status, row.id) == ("broken", "")
    assert row.reason == "role: no timed loop: no loop has a clock read inside"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ([*CHAIN, "BRX R8 -0x40"], "no timed loop"),
        ([*CHAIN, "CALL.REL.NOINC 0x0"], "CALL.REL.NOINC at 0x0090 can't be followed"),
        (["@P1 BRA 0x30", "FADD R14, R14, 1", *CHAIN], "the branch at 0x0010 makes several ways"),
        (["@P1 FADD R14, R14, 1", *CHAIN[1:]], "it isn't known whether @P1 FADD R14"),
    ],
)
def test_what_cannot_be_followed_is_not_checked(body: list[str], reason: str) -> None:
    shape = role(timed(*body), ADD8)
    assert shape.status == ("broken" if reason == "no timed loop" else "not checked")
    assert shape.findings[0].startswith(reason)


def test_a_role_without_intent_is_described_but_not_checked() -> None:
    row = verdict(timed(*CHAIN), None)
    assert row.status == "not checked"
    (shape,) = row.roles
    assert shape.findings == ["no intent is declared for this role"]
    assert shape.description == "single-register FADD chain of 8 with immediates"
    assert shape.path
