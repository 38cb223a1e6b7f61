"""What a cubin says of a kernel: its machine code's identity and its parameters."""

import hashlib
import struct
from dataclasses import dataclass
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from probelab.errors import DataError

# .nv.info holds records of (format, attribute, …); the numbers are those that cuobjdump's
# `-elf` output names EIFMT_SVAL, EIATTR_KPARAM_INFO and EIATTR_KPARAM_INFO_V2.
_FORMAT_SIZED = 4
_KPARAM_INFO = 0x17
_KPARAM_INFO_V2 = 0x45


@dataclass(frozen=True)
class KernelImage:
    """One kernel of a cubin.

    Attributes:
        symbol: its name.
        digest: SHA-256 (hex) of what is timed: machine code, constant banks, relocations,
            register, shared memory and barrier use, architecture. Its name and the other kernels
            of the cubin don't count.
        text_bytes: size of its machine code.
        registers: registers per thread.
        parameter_bytes: size of each parameter, in order.
        module_data: whether the cubin has variables or constants that kernels share.
    """

    symbol: str
    digest: str
    text_bytes: int
    registers: int
    parameter_bytes: list[int]
    module_data: bool


def _parameters(info: bytes) -> list[int]:
    """Sizes (bytes) of a kernel's parameters, from its .nv.info section."""
    sizes: dict[int, int] = {}
    at = 0
    while at + 4 <= len(info):
        kind, attribute, value = struct.unpack_from("<BBH", info, at)
        at += 4
        if kind != _FORMAT_SIZED:
            continue
        payload = info[at : at + value]
        at += value
        if attribute == _KPARAM_INFO and len(payload) >= 12:
            _, ordinal, _, packed = struct.unpack_from("<IHHI", payload)
            sizes[ordinal] = packed >> 18
        elif attribute == _KPARAM_INFO_V2 and len(payload) >= 12:
            # The size outgrew its 14 bits here and got a half word of its own.
            _, ordinal, _, size = struct.unpack_from("<IHHH", payload)
            sizes[ordinal] = size
    return [sizes[ordinal] for ordinal in sorted(sizes)]


def read_kernels(path: Path) -> list[KernelImage]:
    """The kernels of a cubin, in the order of their sections.

    Raises:
        DataError: if the file is no cubin.
    """
    try:
        with path.open("rb") as stream:
            return _kernels(ELFFile(stream))
    except (OSError, ELFError, struct.error) as error:
        raise DataError(f"not a readable cubin: {error}", where=str(path)) from None


def _kernels(elf: ELFFile) -> list[KernelImage]:
    sections = {section.name: section for section in elf.iter_sections()}
    module_data = any(
        name in sections and sections[name]["sh_size"] for name in (".nv.global", ".nv.global.init")
    ) or any(name in sections for name in (".nv.constant3", ".nv.constant4"))
    kernels = []
    for name, section in sections.items():
        if not name.startswith(".text."):
            continue
        symbol = name.removeprefix(".text.")
        # ptxas keeps a kernel's register count in the top byte of sh_info, and its barriers in
        # the flags; both are part of how the code may run.
        registers = section["sh_info"] >> 24
        state = hashlib.sha256()
        parts = [
            (b"arch", str(elf["e_flags"]).encode()),
            (b"registers", str(registers).encode()),
            (b"flags", str(section["sh_flags"]).encode()),
            (b"text", section.data()),
        ]
        for other_name, other in sorted(sections.items()):
            if other_name.startswith(".nv.constant") and other_name.endswith(f".{symbol}"):
                bank = other_name.removesuffix(f".{symbol}")
                parts.append((bank.encode(), other.data()))
            elif other_name == f".nv.shared.{symbol}":
                parts.append((b"shared", str(other["sh_size"]).encode()))
            elif other_name in (f".rel{name}", f".rela{name}"):
                parts.append((b"relocations", _relocations(elf, other.data(), other_name, symbol)))
        for label, data in parts:
            state.update(label + len(data).to_bytes(8, "little") + data)
        info = sections.get(f".nv.info.{symbol}")
        kernels.append(
            KernelImage(
                symbol=symbol,
                digest=state.hexdigest(),
                text_bytes=section["sh_size"],
                registers=registers,
                parameter_bytes=_parameters(info.data()) if info is not None else [],
                module_data=module_data,
            )
        )
    return kernels


def _relocations(elf: ELFFile, data: bytes, section: str, symbol: str) -> bytes:
    """Relocations with their symbols by name, the kernel's own as 'self'."""
    table = elf.get_section_by_name(".symtab")
    names = (
        [entry.name for entry in table.iter_symbols()]
        if isinstance(table, SymbolTableSection)
        else []
    )
    size = 24 if section.startswith(".rela") else 16
    rows = []
    for at in range(0, len(data) - size + 1, size):
        offset, info = struct.unpack_from("<QQ", data, at)
        name = names[info >> 32] if info >> 32 < len(names) else str(info >> 32)
        addend = data[at + 16 : at + size].hex()
        rows.append(f"{offset}:{info & 0xFFFFFFFF}:{name.replace(symbol, 'self')}:{addend}")
    return "\n".join(rows).encode()
