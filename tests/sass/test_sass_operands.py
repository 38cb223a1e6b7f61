"""Operands: each odd form that listings are known to hold."""

import math

import pytest

from probelab.sass.operands import (
    Barrier,
    Constant,
    Immediate,
    Label,
    Memory,
    Operand,
    Predicate,
    Register,
    Scoreboard,
    SpecialRegister,
    Unknown,
    parse_operand,
    parse_operands,
)

CASES: list[tuple[str, Operand]] = [
    ("R7", Register(7)),
    ("RZ", Register(255)),
    ("URZ", Register(255, uniform=True)),
    ("UR12", Register(12, uniform=True)),
    ("-R0.reuse", Register(0, negated=True, reuse=True)),
    ("|R5|.reuse", Register(5, absolute=True, reuse=True)),
    ("-|R5.reuse|", Register(5, negated=True, absolute=True, reuse=True)),
    ("~R3", Register(3, inverted=True)),
    ("R4.H0_H0", Register(4, suffixes=("H0_H0",))),
    ("R4.F32x2.HI_LO", Register(4, suffixes=("F32x2", "HI_LO"))),
    ("P0", Predicate(0)),
    ("!PT", Predicate(7, negated=True)),
    ("!UP0", Predicate(0, uniform=True, negated=True)),
    ("0x1f", Immediate(31, "0x1f")),
    ("-0x20", Immediate(-32, "-0x20")),
    ("1", Immediate(1.0, "1")),
    ("5.9604644775390625e-08", Immediate(2**-24, "5.9604644775390625e-08")),
    ("+INF", Immediate(math.inf, "+INF")),
    ("-INF", Immediate(-math.inf, "-INF")),
    ("c[0x0][0x160]", Constant(0, 0x160)),
    ("-|c[0x0][0x168]|", Constant(0, 0x168, negated=True, absolute=True)),
    ("c[0x0][R2+0x174]", Constant(0, 0x174, (Register(2),))),
    ("c[0x4][RZ]", Constant(4, 0, (Register(255),))),
    ("cx[UR4][0x10]", Constant(Register(4, uniform=True), 0x10)),
    ("[R2.64+0x8]", Memory((Register(2, suffixes=("64",)),), 8)),
    ("[R1+-0x8]", Memory((Register(1),), -8)),
    (
        "desc[UR8][R16.64]",
        Memory((Register(16, suffixes=("64",)),), 0, Register(8, uniform=True), "desc"),
    ),
    ("[R4.X8+UR5+0x10]", Memory((Register(4, suffixes=("X8",)), Register(5, True)), 16)),
    ("a[0x80]", Memory((), 0x80, space="a")),
    ("SR_TID.X", SpecialRegister("SR_TID.X")),
    ("SRZ", SpecialRegister("SRZ")),
    ("PR", SpecialRegister("PR")),
    ("SB0", Scoreboard((0,))),
    ("{4,3}", Scoreboard((4, 3))),
    ("B1", Barrier(1)),
    ("`(.L_x_13)", Label(".L_x_13")),
    ("`($odd$_ZN2ns6helperEfd)", Label("$odd$_ZN2ns6helperEfd")),
]


@pytest.mark.parametrize(("text", "expected"), CASES, ids=[text for text, _ in CASES])
def test_operand(text: str, expected: Operand) -> None:
    assert parse_operand(text) == expected


@pytest.mark.parametrize("text", ["+QNAN", "-QNAN"])
def test_not_a_number_is_a_number_in_form_only(text: str) -> None:
    operand = parse_operand(text)
    assert isinstance(operand, Immediate)
    assert isinstance(operand.value, float)
    assert math.isnan(operand.value)


@pytest.mark.parametrize(
    "text", ["", "what is this", "R", "[R2", "c[0x0]", "|R3", "{9}", "desc[R2]x"]
)
def test_unknown_text_is_kept_and_never_an_error(text: str) -> None:
    assert parse_operand(text) == Unknown(text)


def test_commas_in_braces_and_operands_without_comma() -> None:
    assert parse_operands("SB0, 0x1, {4,3}") == (
        Scoreboard((0,)),
        Immediate(1, "0x1"),
        Scoreboard((4, 3)),
    )
    assert parse_operands("R16 `(odd)") == (Register(16), Label("odd"))
    assert parse_operands('R8 -0x1230 (*"BRANCH_TARGETS .L_x_1,.L_x_2"*)') == (
        Register(8),
        Immediate(-0x1230, "-0x1230"),
    )
    assert parse_operands("") == ()


def test_names() -> None:
    assert Register(255).name == "RZ"
    assert Register(255, uniform=True).name == "URZ"
    assert Predicate(7).name == "PT"
    assert Predicate(2, uniform=True).name == "UP2"
