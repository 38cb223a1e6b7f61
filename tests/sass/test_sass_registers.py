"""What instructions read and write, held against nvdisasm's life ranges."""

from __future__ import annotations

from pathlib import Path

import pytest

from probelab.sass import Instruction, access, parse_listing
from tests.sass.sass_support import Compile, life_ranges
from tests.sass.test_sass_listing import listing, one

ODD = (Path(__file__).parent / "data" / "odd.cu").read_text()


def hides_descriptor(instruction: Instruction, arch: int) -> bool:
    """Up to sm_89 the text leaves out the uniform registers of a descriptor."""
    return 80 <= arch < 90 and "[R" in instruction.text


@pytest.mark.parametrize("arch", [75, 86, 90, 100, 120])
def test_agrees_with_nvdisasm(compile_cuda: Compile, arch: int) -> None:
    compiled = compile_cuda(ODD, arch)
    ranges = life_ranges(compiled.cubin)
    compared = 0
    for kernel in parse_listing(compiled.listing):
        for instruction in kernel:
            key = kernel.name, instruction.address
            # What a callee changes is no part of the instruction.
            if key not in ranges or instruction.opcode == "CALL":
                continue
            writes, reads = ranges[key]
            found = access(instruction)
            if hides_descriptor(instruction, arch):
                reads = {name for name in reads if not name.startswith("UR")}
            assert {*found.writes, *found.writes_predicates} == writes, instruction
            assert {*found.reads, *found.reads_predicates} == reads, instruction
            compared += 1
    assert compared > 400


@pytest.mark.parametrize(
    ("text", "writes", "reads"),
    [
        ("LDG.E.128 R4, desc[UR4][R2.64+0x10] ;", "R4 R5 R6 R7", "UR4 UR5 R2 R3"),
        ("STG.E.64 desc[UR6][R2.64], R4 ;", "", "UR6 UR7 R2 R3 R4 R5"),
        ("IMAD.WIDE.U32 R2, R11, 0x8, R8 ;", "R2 R3", "R11 R8 R9"),
        ("DFMA R6, R6, R8, R10 ;", "R6 R7", "R6 R7 R8 R9 R10 R11"),
        ("LDC.64 R2, c[0x4][RZ] ;", "R2 R3", ""),
        ("LDS R0, [RZ] ;", "R0", ""),
        ("CS2R R4, SR_CLOCKLO ;", "R4 R5", ""),
        ("CS2R.32 R4, SR_CLOCKLO ;", "R4", ""),
        ("IADD3.X R4, ~R3, R5, RZ, P0, !PT ;", "R4", "R3 R5 P0"),
        ("IADD3 R6, P0, -R2, R4, RZ ;", "R6 P0", "R2 R4"),
        ("ISETP.GE.U32.AND.EX P0, PT, R4, UR5, PT, P0 ;", "P0", "R4 UR5 P0"),
        ("LOP3.LUT P0, RZ, R0, 0x1f, RZ, 0xc0, !PT ;", "P0", "R0"),
        ("SHFL.IDX PT, R0, R1, R2, 0x1f ;", "R0", "R1 R2"),
        ("@!P1 FFMA R14, R14, R10.reuse, R11 ;", "R14", "P1 R14 R10 R11"),
        ("BRA.U !UP0, 0x10 ;", "", "UP0"),
        (
            "FFMA2 R4, R4.F32x2.HI_LO, R6.F32x2.HI_LO, R8.F32x2.HI_LO ;",
            "R4 R5",
            "R4 R5 R6 R7 R8 R9",
        ),
        ("MUFU.RSQ R3, |R2| ;", "R3", "R2"),
        ("R2P PR, R0, 0x7f ;", "P0 P1 P2 P3 P4 P5 P6", "R0"),
    ],
)
def test_tuples_carries_and_guards(text: str, writes: str, reads: str) -> None:
    found = access(next(iter(one(listing(text)))))
    assert [*found.writes, *found.writes_predicates] == writes.split()
    assert sorted([*found.reads, *found.reads_predicates]) == sorted(reads.split())
