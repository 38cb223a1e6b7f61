"""Loops, and which of them are timed."""

from __future__ import annotations

from pathlib import Path

import pytest

from probelab.errors import DataError
from probelab.sass import loops, parse_listing, timed_loop, timed_loops
from tests.sass.sass_support import Compile
from tests.sass.test_sass_listing import listing, one

ODD = (Path(__file__).parent / "data" / "odd.cu").read_text()
CLOCK = "CS2R R4, SR_CLOCKLO ;"


def test_the_branch_to_itself_behind_exit_is_no_loop() -> None:
    kernel = one(listing(CLOCK, "EXIT ;", "BRA 0x20;", "NOP;", "NOP;"))
    assert loops(kernel) == ()
    with pytest.raises(DataError, match="no timed loop"):
        timed_loop(kernel)


def test_a_clock_read_makes_the_loop() -> None:
    kernel = one(
        listing(CLOCK, "FADD R0, R0, 1 ;", CLOCK, "@!P0 BRA 0x10 ;", CLOCK, "EXIT ;", "BRA 0x60;")
    )
    loop = timed_loop(kernel)
    assert (loop.head, loop.back_edges, loop.clock_reads) == (0x10, (0x30,), (0x20,))
    assert loop.body == {0x10, 0x20, 0x30}


def test_a_loop_without_a_clock_read_is_none() -> None:
    kernel = one(listing(CLOCK, "FADD R0, R0, 1 ;", "@!P0 BRA 0x10 ;", CLOCK, "EXIT ;"))
    assert len(loops(kernel)) == 1
    assert timed_loops(kernel) == ()


def test_a_loop_around_the_timed_one_is_none_and_one_inside_is_none() -> None:
    kernel = one(
        listing(
            "NOP;",
            CLOCK,  # 0x10: outer head
            "FADD R0, R0, 1 ;",  # 0x20: timed head
            "FADD R0, R0, 1 ;",  # 0x30: inner head
            "@P1 BRA 0x30 ;",
            CLOCK,
            "@!P0 BRA 0x20 ;",
            "@!P2 BRA 0x10 ;",
            "EXIT ;",
        )
    )
    assert [loop.head for loop in loops(kernel)] == [0x10, 0x20, 0x30]
    assert timed_loop(kernel).head == 0x20


def test_several_timed_loops_are_named() -> None:
    part = (CLOCK, "@!P0 BRA {:#x} ;")
    texts = [part[0], part[1].format(0), part[0], part[1].format(0x20), "EXIT ;"]
    kernel = one(listing(*texts))
    assert len(timed_loops(kernel)) == 2
    with pytest.raises(DataError, match="2 timed loops, at 0x0000, 0x0020"):
        timed_loop(kernel)


def test_two_back_edges_to_one_head_are_one_loop() -> None:
    kernel = one(
        listing("@P1 BRA 0x30 ;", CLOCK, "@P0 BRA 0x0 ;", CLOCK, "@P0 BRA 0x0 ;", "EXIT ;")
    )
    assert timed_loop(kernel).back_edges == (0x20, 0x40)


@pytest.mark.parametrize(
    "read", ["CS2R.32 R4, SR_CLOCKLO ;", "S2UR UR4, SR_CLOCKLO ;", "CS2UR UR4, SR_CLOCKLO ;", CLOCK]
)
def test_every_opcode_that_reads_the_clock(read: str) -> None:
    assert timed_loop(one(listing(read, "BRA.U !UP0, 0x0 ;", "EXIT ;"))).clock_reads == (0,)


@pytest.mark.parametrize("arch", [75, 86, 90, 100, 120])
def test_clock_in_32_bits_on_each_architecture(compile_cuda: Compile, arch: int) -> None:
    kernels = {kernel.name: kernel for kernel in parse_listing(compile_cuda(ODD, arch).listing)}
    assert len(timed_loop(kernels["short_clock"]).clock_reads) == 1
    assert timed_loops(kernels["counted"]) == ()
