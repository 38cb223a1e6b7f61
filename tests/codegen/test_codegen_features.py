"""Features against figures that were counted by hand in the listing."""

import pytest

from probelab.codegen.features import Features, features, latencies, read_excerpt
from probelab.errors import DataError
from probelab.predict.constants import load_constants
from probelab.schema.manifests import RoleShape
from tests.codegen.loops import shapes

CONSTANTS = load_constants("sm_90")
LATENCY = {"FFMA": 4, "FADD": 4}

#: Two accumulators, three FMAs and their sum, from the second note's shape with invented stalls.
REDUCED = [
    "B /*0100*/ [B------:R-:W-:-:S01] FFMA R10, R10, R4.reuse, R5.reuse ;",
    "B /*0110*/ [B------:R-:W-:Y:S03] FFMA R11, R11, R4, R5 ;",
    "B /*0120*/ [B------:R-:W-:Y:S04] FFMA R10, R10, R4, R5 ;",
    "R /*0130*/ [B------:R-:W-:Y:S04] FADD R10, R10, R11 ;",
    "R /*0140*/ [B------:R-:W-:-:S01] FADD R12, R12, R10 ;",
    "C /*0150*/ [B------:R-:W-:Y:S06] CS2R R2, SR_CLOCKLO ;",
    "C /*0160*/ [B------:R-:W-:-:S05] @!P0 BRA 0x100 ;  -> taken",
]


def of(shape: RoleShape, warps: float = 1) -> Features:
    return features(shape, read_excerpt(shape.excerpt), warps, LATENCY, CONSTANTS)


def shape(lines: list[str]) -> RoleShape:
    return RoleShape(role="r", status="ok", excerpt=lines, chains=[2, 1], live_registers=4)


def test_the_compiler_keeps_four_cycles_between_dependent_fmas_and_adds() -> None:
    # Fixed latency 4 on sm_90: an FFMA or FADD chain needs stall 4.
    assert latencies(read_excerpt(one.excerpt) for one in shapes().values()) == LATENCY


def test_a_single_chain_waits_three_cycles_a_step() -> None:
    found = of(shapes()["fma_7_1acc"], 1)
    assert (found.operations, found.chain_steps, found.chain_cycles) == (7, 7, 24)
    assert (found.chain_latency_cycles, found.ilp_filled_cycles) == (18, 0)
    assert (found.instructions, found.tail_imbalance, found.live_registers) == (14, 0, 3)


def test_four_accumulators_fill_what_their_longest_chain_waits() -> None:
    found = of(shapes()["fma_7_4acc"], 1)
    # 2 + 2 + 2 + 1: one step of latency, five other instructions to fill it.
    assert (found.chain_steps, found.chain_cycles, found.tail_imbalance) == (2, 4, 1)
    assert (found.chain_latency_cycles, found.ilp_filled_cycles) == (3, 3)
    # IADD3, FFMA ×7 and all but the last stalls of the listing: 9 issues until the clock read.
    assert found.burst_instructions == 9
    # CS2R 6, IADD3 5, IMAD.X 1, ISETP 4, ISETP 13, BRA 5 and the counter's 1.
    assert found.loop_control_cycles == 35


@pytest.mark.parametrize(
    ("kernel", "warps", "ports", "issue"),
    [
        ("fma_64_1acc", 1, 0, 0),
        # Each FFMA of the single chain reads one bank twice: another warp waits 64 cycles and more.
        ("fma_64_1acc", 2, 66, 0),
        ("add_64_1acc", 2, 2, 0),
        # 64 issues back to back leave the other warp none.
        ("add_64_4acc", 2, 2, 64),
    ],
)
def test_what_warps_cost_each_other(kernel: str, warps: int, ports: int, issue: int) -> None:
    found = of(shapes()[kernel], warps)
    assert found.register_port_cycles == pytest.approx(ports, abs=2)
    assert found.issue_contention_cycles == pytest.approx(issue, abs=1)


def test_a_reduction_lengthens_the_longest_path() -> None:
    found = of(shape(REDUCED), 1)
    assert (found.operations, found.reduction_instructions) == (3, 2)
    # Body: one step of 4 cycles, 3 of them empty, one filled by the other accumulator.
    assert (found.chain_cycles, found.chain_latency_cycles, found.ilp_filled_cycles) == (4, 3, 1)
    # Behind it two dependent additions: 8 cycles more, 6 of them empty.
    assert found.reduction_latency_cycles == 6
    # 13 cycles of stalls for 5 instructions: 8 beyond issue, which 2 + 6 explain.
    assert found.stall_excess_cycles == 0
    assert found.loop_control_cycles == 11


def test_the_second_line_of_a_loop_comes_late_from_the_last_slots_on() -> None:
    # On the H200: loop head in slot 6 of a 128-byte line +1 cycle, slot 7 +2, slots 0 to 5 nothing.
    late = []
    for slot in range(8):
        lines = [
            f"B /*{16 * (slot + place):04x}*/ [B------:R-:W-:-:S01] FADD {name}, {name}, R2 ;"
            for place, name in enumerate(f"R{number}" for number in range(4, 16))
        ]
        late.append(of(shape(lines), 1).loop_head_cycles)
    assert late == [0, 0, 0, 0, 0, 0, 1, 2]


def test_no_path_and_no_excerpt_are_said() -> None:
    with pytest.raises(DataError, match="path wasn't followed"):
        of(RoleShape(role="r", status="not checked"))
    with pytest.raises(DataError, match="not a line of an excerpt"):
        read_excerpt(["FFMA R1, R2, R3, R4"])
