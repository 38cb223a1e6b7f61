"""Just enough of a SASS reader for these tests: instructions, timed loops, chains.

It stands apart from the project's own reader on purpose: a mistake there must not hide one in the
kernels.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

_FUNCTION = re.compile(r"^\s*Function : (\S+)")
_INSTRUCTION = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;\s*/\* 0x([0-9a-f]{16}) \*/")
_HIGH_WORD = re.compile(r"^\s*/\* 0x([0-9a-f]{16}) \*/")
_TARGET = re.compile(r"\bBRA\S*\s.*?(0x[0-9a-f]+)$")
_REGISTER = re.compile(r"\bR(\d+)\b")


@dataclass
class Instruction:
    address: int
    text: str
    encoding: tuple[str, str]

    @property
    def guard(self) -> str:
        return self.text.split()[0] if self.text.startswith("@") else ""

    @property
    def opcode(self) -> str:
        return self.text.split()[1 if self.guard else 0]

    @property
    def operands(self) -> list[str]:
        return [operand.strip() for operand in self.text.split(self.opcode, 1)[1].split(",")]

    @property
    def base(self) -> str:
        return self.opcode.split(".")[0]

    @property
    def stall(self) -> int:
        return int(self.encoding[1], 16) >> 41 & 0xF

    @property
    def target(self) -> int | None:
        match = _TARGET.search(self.text)
        return int(match[1], 16) if match else None


Kernel = list[Instruction]


def parse(listing: str) -> dict[str, Kernel]:
    kernels: dict[str, Kernel] = {}
    pending: tuple[int, str, str] | None = None
    for line in listing.splitlines():
        if match := _FUNCTION.match(line):
            kernel = kernels.setdefault(match[1], [])
        elif match := _INSTRUCTION.match(line):
            pending = (int(match[1], 16), match[2], match[3])
        elif pending and (match := _HIGH_WORD.match(line)):
            kernel.append(Instruction(pending[0], pending[1], (pending[2], match[1])))
            pending = None
    return kernels


def timed_loops(kernel: Kernel) -> list[Kernel]:
    """The bodies of the conditional backward branches; the self-branch behind EXIT is none."""
    loops = []
    for instruction in kernel:
        if instruction.target is not None and instruction.target < instruction.address:
            loops.append(
                [i for i in kernel if instruction.target <= i.address <= instruction.address]
            )
    return loops


def role_bodies(kernel: Kernel, loop: Kernel, roles: int) -> list[Kernel]:
    """The blocks of an in_loop kernel's loop, in the order of the rungs; the rest comes last.

    Each rung is a compare for "not this role" and a branch that is taken when it fails. The first
    rung's compare stands in front of the loop. Raises AssertionError for anything but a ladder.
    """
    at = {instruction.address: index for index, instruction in enumerate(loop)}
    (first,) = [i for i in kernel if i.address < loop[0].address and i.opcode == "ISETP.NE.AND"]
    compare: Instruction | None = first
    starts: list[int] = []
    index = 0
    while len(starts) < roles - 1:
        instruction = loop[index]
        if instruction.base == "BRA":
            assert compare is not None, f"a branch without a compare: {instruction.text}"
            assert instruction.guard == f"@!{compare.operands[0]}", instruction.text
            assert compare.operands[3] == ("RZ" if not starts else hex(len(starts))), compare.text
            assert instruction.target is not None
            starts.append(at[instruction.target])
            compare = None
        elif instruction.base == "ISETP":
            assert instruction.opcode == "ISETP.NE.AND", instruction.text
            compare = instruction
        else:
            assert not starts and instruction.base in {"BSSY", "ULDC", "LDCU"}, instruction.text
        index += 1
    starts.append(index)
    bodies = []
    for start in starts:
        end = next(i for i in range(start, len(loop)) if loop[i].base in {"BRA", "BSYNC"})
        bodies.append(loop[start:end])
    return bodies


def arithmetic(instructions: Kernel) -> Counter[str]:
    return Counter(
        i.base
        for i in instructions
        if i.base in {"FFMA", "FADD", "FMUL", "FFMA2", "FADD2", "FMUL2"}
    )


def registers(operand: str) -> str | None:
    match = _REGISTER.search(operand)
    return match[0] if match else None


def chains(instructions: Kernel, opcode: str) -> list[int]:
    """Lengths of the chains that the instructions of one opcode form, in order of appearance."""
    length_at: dict[str, tuple[int, int]] = {}
    lengths: list[int] = []
    for instruction in instructions:
        if instruction.base != opcode:
            continue
        sources = [registers(operand) for operand in instruction.operands[1:]]
        continued = [source for source in sources if source in length_at]
        if continued:
            chain, _ = length_at.pop(continued[0])
            lengths[chain] += 1
        else:
            chain = len(lengths)
            lengths.append(1)
        destination = registers(instruction.operands[0])
        assert destination is not None
        length_at[destination] = (chain, lengths[chain])
    return lengths
