"""What a cubin says of a kernel: its machine code's identity and its parameters."""

import hashlib
import re
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import Section, SymbolTableSection

from probelab.errors import DataError

# .nv.info holds records of (format, attribute, …); the numbers are those that cuobjdump's
# `-elf` output names EIFMT_SVAL, EIATTR_KPARAM_INFO and EIATTR_KPARAM_INFO_V2.
_FORMAT_SIZED = 4
_KPARAM_INFO = 0x17
_KPARAM_INFO_V2 = 0x45

#: The ELF header's number for CUDA.
_EM_CUDA = 190
#: Sections with what all kernels of a module share: variables, constants, their addresses.
_MODULE_DATA = re.compile(r"\.nv\.(?:global(?:\.init)?|constant(?!0)\d+)")
_RELOCATION_BYTES = {".rel": 16, ".rela": 24}

Sections = Mapping[str, Section]
#: How a symbol is called in a digest, by its number in the symbol table.
Naming = Callable[[int], str]


@dataclass(frozen=True)
class KernelImage:
    """One kernel of a cubin.

    Attributes:
        symbol: its name.
        digest: SHA-256 (hex) of what is timed: machine code, constant banks, relocations,
            register, shared memory and barrier use, architecture, and the module's data and
            separate functions if there are any. Its name and the other kernels of the cubin
            don't count.
        text_bytes: size of its machine code.
        registers: registers per thread.
        parameter_bytes: size of each parameter, in order.
        module_data: whether the cubin has what kernels share: variables, constants, functions
            that aren't part of a kernel's code.
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
            elf = ELFFile(stream)
            if elf.header["e_machine"] not in (_EM_CUDA, "EM_CUDA"):
                raise DataError("this is no machine code for a GPU", where=str(path))
            return _kernels(elf)
    # ValueError and AttributeError come of damage that pyelftools doesn't expect.
    except (OSError, ELFError, struct.error, ValueError, AttributeError) as error:
        raise DataError(f"not a readable cubin: {error}", where=str(path)) from None


def _kernels(elf: ELFFile) -> list[KernelImage]:
    sections = {section.name: section for section in elf.iter_sections()}
    table = elf.get_section_by_name(".symtab")
    symbols = list(table.iter_symbols()) if isinstance(table, SymbolTableSection) else []
    order = [section.name for section in elf.iter_sections()]
    shared = [name for name in sections if _is_shared(name, sections)]

    def by_name(number: int) -> str:
        return symbols[number].name if number < len(symbols) else str(number)

    def by_place(number: int) -> str:
        # Names of what a file keeps to itself hold a hash of the file's path.
        if number >= len(symbols):
            return str(number)
        section = symbols[number]["st_shndx"]
        if not isinstance(section, int) or section >= len(order):
            return str(symbols[number].name)
        return f"{order[section]}+{symbols[number]['st_value']}"

    kernels = []
    for name, section in sections.items():
        if not name.startswith(".text.") or name in shared:
            continue
        symbol = name.removeprefix(".text.")
        parts = _own_parts(symbol, elf, sections, by_place if shared else by_name)
        for other in sorted(shared):
            parts += _shared_parts(other, symbol, sections, by_place)
        state = hashlib.sha256()
        for label, data in parts:
            state.update(label + len(data).to_bytes(8, "little") + data)
        info = sections.get(f".nv.info.{symbol}")
        kernels.append(
            KernelImage(
                symbol=symbol,
                digest=state.hexdigest(),
                text_bytes=section["sh_size"],
                registers=_registers(section),
                parameter_bytes=_parameters(info.data()) if info is not None else [],
                module_data=bool(shared),
            )
        )
    return kernels


def _is_shared(name: str, sections: Sections) -> bool:
    """Whether a section belongs to the module instead of one kernel."""
    if _MODULE_DATA.fullmatch(name):
        return bool(sections[name]["sh_size"])
    # Every kernel has a constant bank 0, for its parameters; a function has none.
    symbol = name.removeprefix(".text.")
    return symbol != name and f".nv.constant0.{symbol}" not in sections


def _registers(section: Section) -> int:
    # Up to sm_89, ptxas keeps a kernel's register count in the top byte of sh_info.
    return int(section["sh_info"]) >> 24


def _own_parts(
    symbol: str, elf: ELFFile, sections: Sections, naming: Naming
) -> list[tuple[bytes, bytes]]:
    """What belongs to one kernel, labelled."""
    text = f".text.{symbol}"
    section = sections[text]
    # Barriers are in the flags; both they and the registers are part of how the code may run.
    parts = [
        (b"arch", str(elf["e_flags"]).encode()),
        (b"registers", str(_registers(section)).encode()),
        (b"flags", str(section["sh_flags"]).encode()),
        (b"text", section.data()),
    ]
    for name, other in sorted(sections.items()):
        if name.startswith(".nv.constant") and name.endswith(f".{symbol}"):
            bank = name.removesuffix(f".{symbol}")
            parts.append((bank.encode(), other.data()))
        elif name == f".nv.shared.{symbol}":
            parts.append((b"shared", str(other["sh_size"]).encode()))
        elif name in (f".rel{text}", f".rela{text}"):
            parts.append((b"relocations", _relocations(other, symbol, naming)))
    return parts


def _shared_parts(
    name: str, symbol: str, sections: Sections, naming: Naming
) -> list[tuple[bytes, bytes]]:
    """What belongs to the module, as the kernel `symbol` sees it, labelled."""
    section = sections[name]
    # What starts as zero has a size but no content.
    content = b"" if section["sh_type"] == "SHT_NOBITS" or name == ".nv.global" else section.data()
    parts = [(f"{name} of {section['sh_size']}".encode(), content)]
    if name.startswith(".text."):
        parts.append((b"registers", str(_registers(section)).encode()))
    for kind in _RELOCATION_BYTES:
        if f"{kind}{name}" in sections:
            data = _relocations(sections[f"{kind}{name}"], symbol, naming)
            parts.append((f"{kind}{name}".encode(), data))
    return parts


def _relocations(section: Section, symbol: str, naming: Naming) -> bytes:
    """Relocations with their symbols by name or place, the kernel's own as 'self'."""
    data = section.data()
    size = _RELOCATION_BYTES[".rela" if section.name.startswith(".rela") else ".rel"]
    rows = []
    for at in range(0, len(data) - size + 1, size):
        offset, info = struct.unpack_from("<QQ", data, at)
        name = naming(info >> 32).replace(symbol, "self")
        addend = data[at + 16 : at + size].hex()
        rows.append(f"{offset}:{info & 0xFFFFFFFF}:{name}:{addend}")
    return "\n".join(rows).encode()
