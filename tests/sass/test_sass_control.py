"""Control words, decoded by hand from the bit positions that the encoding notes give."""

import pytest

from probelab.sass import decode_control

CASES = [
    # FADD R9, R14, R12: the second word that cuobjdump prints is 0x000fe20000000000.
    (0x000FE20000000000, "[B------:R-:W-:-:S01]", (False, False, False)),
    # CS2R R4, SR_CLOCKLO: stall 6, bit 109 clear.
    (0x000FCC0000015000, "[B------:R-:W-:Y:S06]", (False, False, False)),
    # FFMA R14, R14, R10.reuse, R11.reuse: waits for scoreboard 0.
    (0x181FE2000000000B, "[B0-----:R-:W-:-:S01]", (False, True, True)),
    # FADD R14, R12.reuse, 1
    (0x040FE20000000000, "[B------:R-:W-:-:S01]", (True, False, False)),
    # S2R R0, SR_TID.X sets scoreboard 0; LDC.64 R10 sets 1.
    (0x000E220000002100, "[B------:R-:W0:-:S01]", (False, False, False)),
    (0x000E620000000A00, "[B------:R-:W1:-:S01]", (False, False, False)),
    # STG.E sets read scoreboard 0.
    (0x0001E2000C101906, "[B------:R0:W-:-:S01]", (False, False, False)),
    # ISETP.GE.U32.AND.EX: stall 13.
    (0x000FDA000BF06100, "[B------:R-:W-:Y:S13]", (False, False, False)),
    # The branch to itself behind EXIT: stall 0, yield.
    (0x000FC0000383FFFF, "[B------:R-:W-:Y:S00]", (False, False, False)),
    # All scoreboards awaited: bits 121:116 set.
    (0x03FFCC0000000000, "[B012345:R-:W-:Y:S06]", (False, False, False)),
]


@pytest.mark.parametrize(("high", "notation", "reuse"), CASES)
def test_notation_and_reuse(high: int, notation: str, reuse: tuple[bool, bool, bool]) -> None:
    control = decode_control(high << 64)
    assert control.notation == notation
    assert control.reuse == reuse


def test_each_field_alone() -> None:
    for stall in range(16):
        assert decode_control(stall << 105).stall == stall
    assert decode_control(0).yields
    assert not decode_control(1 << 109).yields
    assert decode_control(5 << 110).write_scoreboard == 5
    assert decode_control(7 << 110).write_scoreboard is None
    assert decode_control(3 << 113).read_scoreboard == 3
    assert decode_control(0b100010 << 116).waits == (1, 5)
    assert decode_control((1 << 128) - 1 ^ (0xFFFFF << 105)) == decode_control(0)
