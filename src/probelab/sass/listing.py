"""Read the text that `cuobjdump --dump-sass` prints.

A listing has, for each architecture of the file, a `code for sm_NN` line, and for each function a
`Function : name` line and two lines an instruction: address, text and the low 64 bits of the
encoding, then the high 64 bits.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from probelab.errors import DataError
from probelab.sass.control import decode_control
from probelab.sass.kernel import INSTRUCTION_BYTES, Instruction, Kernel
from probelab.sass.operands import Predicate, parse_operand, parse_operands

# Addresses have four digits, and more from 0x10000 on.
_INSTRUCTION = re.compile(
    r"\s*/\*([0-9a-f]{4,})\*/\s+(\S.*?)\s*;\s*/\* 0x([0-9a-f]{16}) \*/\s*", re.ASCII
)
_HIGH_WORD = re.compile(r"\s*/\* 0x([0-9a-f]{16}) \*/\s*", re.ASCII)
_FUNCTION = re.compile(r"\s*Function\s*:\s*(\S+)\s*")
_ARCHITECTURE = re.compile(r"\s*code for (sm_\w+)\s*", re.ASCII)
_TEXT = re.compile(r"(?:@(!?U?P[0-6T])\s+)?([A-Z_0-9][\w.]*)\s*(.*)", re.ASCII)


@dataclass
class _Section:
    """A function while it is read."""

    name: str
    arch: str
    line: int
    instructions: list[Instruction] = field(default_factory=list)

    def close(self) -> Kernel:
        if not self.instructions:
            raise _error(self.line, f"function {self.name} has no instructions")
        return Kernel(self.name, self.arch, tuple(self.instructions))


def _error(line: int, what: str) -> DataError:
    return DataError(
        what,
        where=f"SASS listing, line {line}",
        hint="expected the text of cuobjdump --dump-sass",
    )


def _instruction(address: int, text: str, encoding: int, line: int) -> Instruction:
    """One instruction from its two lines.

    Raises:
        DataError: if the text has no mnemonic.
    """
    match = _TEXT.fullmatch(text)
    if match is None:
        raise _error(line, f"not an instruction: {text[:60]!r}")
    guard_text, mnemonic, operands = match.groups()
    guard = parse_operand(guard_text) if guard_text else None
    opcode, *modifiers = mnemonic.split(".")
    return Instruction(
        address=address,
        guard=guard if isinstance(guard, Predicate) else None,
        opcode=opcode,
        modifiers=tuple(modifiers),
        operands=parse_operands(operands),
        text=text,
        encoding=encoding,
        control=decode_control(encoding),
    )


def parse_listing(text: str) -> list[Kernel]:
    """All functions of a listing, in its order.

    A file with several architectures has a function of the same name for each; `Kernel.arch` tells
    them apart.

    Raises:
        DataError: if the text holds no function, an instruction lacks one of its two encoding
            words, or addresses don't ascend by 16. The error names the line.
    """
    kernels: list[Kernel] = []
    section: _Section | None = None
    pending: tuple[int, str, int, int] | None = None
    arch = ""
    number = 0
    for number, line in enumerate(text.splitlines(), 1):
        match = _INSTRUCTION.fullmatch(line)
        if pending is not None:
            address, body, low, start = pending
            high = _HIGH_WORD.fullmatch(line)
            if high is None or section is None:
                raise _error(number, f"the second encoding word of /*{address:04x}*/ is missing")
            encoding = int(high[1], 16) << 64 | low
            section.instructions.append(_instruction(address, body, encoding, start))
            pending = None
        elif match is not None:
            if section is None:
                raise _error(number, "an instruction before the first 'Function :' line")
            address = int(match[1], 16)
            expected = len(section.instructions) * INSTRUCTION_BYTES
            if address != expected:
                raise _error(number, f"address {address:#x} where {expected:#x} should follow")
            pending = (address, match[2], int(match[3], 16), number)
        elif "/*" in line:
            raise _error(number, f"not an instruction with its encoding: {line.strip()[:60]!r}")
        elif (found := _FUNCTION.fullmatch(line)) is not None:
            if section is not None:
                kernels.append(section.close())
            section = _Section(found[1], arch, number)
        elif (found := _ARCHITECTURE.fullmatch(line)) is not None:
            if section is not None:
                kernels.append(section.close())
            section, arch = None, found[1]
    if pending is not None:
        raise _error(number, f"the second encoding word of /*{pending[0]:04x}*/ is missing")
    if section is not None:
        kernels.append(section.close())
    if not kernels:
        # cuobjdump ends with status 0 and prints no code for a .ptx and for a file without the
        # architecture that was asked for.
        raise DataError(
            "no function in this SASS listing",
            hint="is it a cubin, and does it hold code for the architecture that was asked for?",
        )
    return kernels


def _sections(text: str) -> Iterator[tuple[str, str, str]]:
    """Name, architecture and text of each function; the text starts with its section's header."""
    header: list[str] = []
    lines: list[str] = []
    name = arch = ""
    for line in text.splitlines():
        architecture = _ARCHITECTURE.fullmatch(line)
        function = _FUNCTION.fullmatch(line)
        if (architecture or function) and name:
            yield name, arch, "\n".join((*header, *lines)) + "\n"
            name, lines = "", []
        if architecture:
            header, arch = [line], architecture[1]
        elif function:
            name, lines = function[1], [line]
        elif name:
            lines.append(line)
        elif header:
            header.append(line)
    if name:
        yield name, arch, "\n".join((*header, *lines)) + "\n"


def split_listing(text: str) -> dict[str, str]:
    """The part of a listing that belongs to each function, by its name.

    Each part starts with the header of its architecture, so that it is a listing itself. If a name
    occurs for several architectures, its keys are `name` for the first and `name (sm_NN)` for the
    others.

    Raises:
        DataError: if the text holds no function.
    """
    parts: dict[str, str] = {}
    for name, arch, part in _sections(text):
        parts[f"{name} ({arch})" if name in parts else name] = part
    if not parts:
        raise DataError("no function in this SASS listing")
    return parts
