"""For which architecture a cubin is, from its ELF header."""

import struct

from probelab.errors import DataError

_EM_CUDA = 190
#: Values of the header's OS ABI byte: the older layout of `e_flags` has the architecture in its
#: lowest byte, the one that CUDA 13's tools write has it in the next.
_ABI_OLD, _ABI_NEW = 0x33, 0x41


def cubin_arch(data: bytes, where: str) -> str:
    """The architecture as `sm_90`, without the suffix of an architecture-specific feature set.

    Args:
        data: the file's content; the first 64 bytes are enough.
        where: name of the file, for the error.

    Raises:
        DataError: if it is no cubin.
    """
    if len(data) < 64 or data[:5] != b"\x7fELF\x02":
        raise DataError("not a cubin: no 64-bit ELF header", where=where)
    (machine,) = struct.unpack_from("<H", data, 18)
    (flags,) = struct.unpack_from("<I", data, 48)
    abi = data[7]
    if machine != _EM_CUDA or abi not in (_ABI_OLD, _ABI_NEW):
        raise DataError(f"not a cubin: ELF machine {machine}, ABI {abi:#x}", where=where)
    return f"sm_{(flags >> 8 if abi == _ABI_NEW else flags) & 0xFF}"
