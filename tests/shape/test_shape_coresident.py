"""Kernels that mix roles: each role's path through the code that selects it."""

from __future__ import annotations

import pytest

from probelab.sass import Kernel, parse_listing
from probelab.schema.intent import Intent
from probelab.schema.manifests import ShapeRow
from probelab.shape import check
from tests.sass.sass_support import TAIL, program

ROLES = ["add_1", "add_2", "mul_1"]
INTENTS = {
    "add_1": Intent(opcode="FADD", chains=[1]),
    "add_2": Intent(opcode="FADD", chains=[2]),
    "mul_1": Intent(opcode="FMUL", chains=[1]),
}
LOAD = "[B------:R-:W0:-:S01] LDC.U8 R25, c[0x0][R2+0x174]"
ADD, MUL = "S04 FADD R14, R14, 1", "S04 FMUL R14, R14, R15"


def kernel(*lines: str) -> Kernel:
    (found,) = parse_listing(program(*lines))
    return found


def in_loop(ladder: list[str], before: list[str] | None = None, load: str = LOAD) -> Kernel:
    """A ladder in the timed loop. `{one}`, `{two}`, `{three}`, `{end}` are places in it."""
    start = [load, "CS2R R2, SR_CLOCKLO", *(before or [])]
    head = len(start)
    one = head + len(ladder)
    places = {"head": head, "one": one, "two": one + 2, "three": one + 5, "end": one + 7}
    bodies = [ADD, "BRA {end}", ADD, ADD, "BRA {end}", MUL, "NOP"]
    lines = [*start, *ladder, *bodies, *TAIL, "S05 @!P0 BRA {head}", "CS2R R8, SR_CLOCKLO", "EXIT"]
    addresses = {name: f"{16 * place:#x}" for name, place in places.items()}
    # `c[0x0]` and SB sets have no braces here, so every brace is a place.
    return kernel(*(line.format(**addresses) for line in lines))


LADDER = [
    "BSSY B0, {end}",
    "S13 ISETP.NE.AND P1, PT, R25, RZ, PT",
    "@!P1 BRA {one}",
    "S13 ISETP.NE.AND P1, PT, R25, 0x1, PT",
    "@!P1 BRA {two}",
    "BRA {three}",
]


def checked(found: Kernel, dispatch: str = "in_loop") -> ShapeRow:
    return check(found, ROLES, "coresident", dispatch, INTENTS)


def test_a_ladder_of_compares() -> None:
    row = checked(in_loop(LADDER))
    assert (row.status, row.reason) == ("ok", "")
    assert [shape.chains for shape in row.roles] == [[1], [2], [1]]
    assert [shape.dispatch for shape in row.roles] == [4, 6, 6]
    # The role that comes last in the ladder has the longest way to its body.
    assert [sum(step.taken for step in shape.path) for shape in row.roles] == [3, 3, 2]
    for shape in row.roles:
        counted = shape.setup + shape.reduction + shape.dispatch + shape.loop_control + shape.other
        assert counted + sum(shape.chains) == shape.instructions == len(shape.path)


SELECTIONS = {
    "uniform registers": [
        "R2UR UR6, R25",
        "UISETP.NE.AND UP0, UPT, UR6, URZ, UPT",
        "BRA.U !UP0, {one}",
        "UISETP.NE.AND UP1, UPT, UR6, 0x1, UPT",
        "BRA.U !UP1, {two}",
        "BRA {three}",
    ],
    "the low byte, through moves": [
        "LOP3.LUT R20, R25, 0xff, RZ, 0xc0, !PT",
        "IMAD.MOV.U32 R21, RZ, RZ, R20",
        "ISETP.EQ.AND P1, PT, R21, RZ, PT",
        "@P1 BRA {one}",
        "ISETP.EQ.U32.AND P1, PT, R20, 0x1, PT",
        "@P1 BRA {two}",
        "BRA {three}",
    ],
    "a difference, compared without sign": [
        "IADD3 R20, R25, -0x1, RZ",
        "ISETP.GT.U32.AND P1, PT, R20, 0x1, PT",
        "@P1 BRA {one}",
        "ISETP.NE.AND P1, PT, R25, 0x2, PT",
        "@P1 BRA {two}",
        "BRA {three}",
    ],
    "predicate logic": [
        "ISETP.EQ.AND P1, PT, R25, 0x1, PT",
        "ISETP.EQ.AND P2, PT, R25, 0x2, PT",
        "PLOP3.LUT P3, PT, P1, P2, PT, 0xfc, 0x0",
        "@!P3 BRA {one}",
        "@P1 BRA {two}",
        "BRA {three}",
    ],
    "a compare that takes another one along": [
        "ISETP.NE.AND P1, PT, R25, 0x1, PT",
        "ISETP.NE.AND P2, PT, R25, 0x2, P1",
        "@P2 BRA {one}",
        "@!P1 BRA {two}",
        "BRA {three}",
    ],
    "branch with a predicate operand": [
        "ISETP.LT.AND P1, PT, R25, 0x2, PT",
        "ISETP.LT.AND P2, PT, R25, 0x1, PT",
        "@P1 BRA P2, {one}",
        "@P1 BRA {two}",
        "BRA {three}",
    ],
}


@pytest.mark.parametrize("form", SELECTIONS)
def test_forms_of_selection(form: str) -> None:
    row = checked(in_loop(SELECTIONS[form]))
    assert (row.status, row.reason) == ("ok", "")


def test_a_selection_that_takes_more_than_compares_is_broken() -> None:
    assert checked(in_loop([LOAD, *LADDER])).status == "ok"
    row = checked(in_loop(["LDG.E.U8 R25, [R20.64]", *LADDER]))
    assert row.status == "broken"
    assert row.reason == "selection of a role also takes 1 LDG, 0x0020"


def test_a_compare_before_the_loop() -> None:
    before = ["S13 ISETP.NE.AND P1, PT, R25, RZ, PT", "S13 ISETP.NE.AND P2, PT, R25, 0x1, PT"]
    row = checked(in_loop(["@!P1 BRA {one}", "@!P2 BRA {two}", "BRA {three}"], before))
    assert row.status == "ok"


def test_roles_in_another_order_are_broken() -> None:
    row = check(in_loop(LADDER), ROLES[::-1], "coresident", "in_loop", INTENTS)
    assert row.status == "broken"
    assert "mul_1: expected 1 FMUL on the path, found 0 (beside 1 FADD)" in row.reason


NOT_FOLLOWED = {
    "two values decide": (
        [
            "ISETP.NE.AND P1, PT, R25, RZ, PT",
            "@!P1 BRA {one}",
            "ISETP.NE.AND P1, PT, R9, 0x1, PT",
            "@!P1 BRA {two}",
            "BRA {three}",
        ],
        "depend on more than one value",
    ),
    "a value of unknown origin": (
        ["ISETP.NE.AND P1, PT, R9, RZ, PT", "@!P1 BRA {one}", "BRA {two}"],
        "depend on a value of unknown origin",
    ),
    "a value that the loop changes": (
        ["ISETP.NE.AND P1, PT, R4, RZ, PT", "@!P1 BRA {one}", "BRA {two}"],
        "depend on a value of unknown origin",
    ),
    "a jump table": (["BRX R8 -0x40"], "no loop has a clock read inside"),
    "no selection": (["BRA {two}"], "no branch in the timed loop selects a role"),
}


@pytest.mark.parametrize("case", NOT_FOLLOWED)
def test_what_cannot_be_followed_has_its_reason(case: str) -> None:
    ladder, reason = NOT_FOLLOWED[case]
    row = checked(in_loop(ladder))
    assert row.status == ("broken" if case == "a jump table" else "not checked")
    assert reason in row.reason
    assert all(not shape.path for shape in row.roles)


def hoisted(*ladder: str) -> Kernel:
    """Three timed loops behind a ladder; `{one}`, `{two}`, `{three}` are their places."""
    start = [LOAD, "CS2R R2, SR_CLOCKLO"]
    bodies = [[ADD], [ADD, ADD], [MUL]]
    places: list[int] = []
    lines = [*start, *ladder]
    for body in bodies:
        places.append(len(lines))
        lines += [*body, *TAIL, f"S05 @!P0 BRA {16 * len(lines):#x}", "BRA {end}"]
    names = dict(zip(("one", "two", "three"), places, strict=True)) | {"end": len(lines)}
    addresses = {name: f"{16 * place:#x}" for name, place in names.items()}
    return kernel(*(line.format(**addresses) for line in [*lines, "CS2R R8, SR_CLOCKLO", "EXIT"]))


HOISTED = [
    "S13 ISETP.NE.AND P1, PT, R25, RZ, PT",
    "@!P1 BRA {one}",
    "S13 ISETP.NE.AND P1, PT, R25, 0x1, PT",
    "@!P1 BRA {two}",
    "BRA {three}",
]


def test_a_loop_of_its_own_for_each_role() -> None:
    row = checked(hoisted(*HOISTED), "hoisted")
    assert (row.status, row.reason) == ("ok", "")
    assert [shape.dispatch for shape in row.roles] == [0, 0, 0]
    assert len({shape.path[0].address for shape in row.roles}) == 3


def test_a_guard_that_skips_the_loop_does_not_disturb() -> None:
    guard = ["ISETP.GE.AND P4, PT, R6, c[0x0][0x168], PT", "@P4 BRA {end}", "@P5 EXIT"]
    assert checked(hoisted(*guard, *HOISTED), "hoisted").status == "ok"


def test_roles_that_share_a_loop_are_broken() -> None:
    ladder = ["ISETP.LT.AND P1, PT, R25, 0x2, PT", "@P1 BRA {one}", "BRA {three}"]
    row = checked(hoisted(*ladder), "hoisted")
    assert row.status == "broken"
    assert "add_2: expected 2 FADD on the path, found 1" in row.reason
    assert "shares its timed loop with add_1" in row.reason


def test_dispatch_that_the_compiler_moved_out_of_the_loop_is_broken() -> None:
    row = checked(hoisted(*HOISTED), "in_loop")
    assert row.status == "broken"
    assert "expected one timed loop, found 3" in row.reason


def test_dispatch_that_stayed_in_the_loop_is_noticed() -> None:
    row = checked(in_loop(LADDER), "hoisted")
    assert row.status == "not checked"
    assert "no branch before the timed loops selects a role" in row.reason
