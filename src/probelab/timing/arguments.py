"""The arguments of a probe kernel, packed as the driver wants them."""

import struct
from collections.abc import Sequence

from probelab.schema.plan import MAX_WARP_SLOTS

#: Bytes of each parameter of a complete probe kernel: records pointer, clock budget, seed,
#: role map (a struct of 32 bytes, by value).
PARAMETER_BYTES = (8, 8, 4, MAX_WARP_SLOTS)


class ArgumentError(ValueError):
    """The launch can't be expressed as arguments of this kernel."""


def check_parameters(parameter_bytes: Sequence[int]) -> None:
    """Check that a kernel's parameters are those of a probe kernel, or the first few of them.

    Raises:
        ArgumentError: if they aren't; the text names both lists.
    """
    count = len(parameter_bytes)
    if count == 0 or tuple(parameter_bytes) != PARAMETER_BYTES[:count]:
        raise ArgumentError(
            f"the kernel's parameters have {list(parameter_bytes)} bytes; a probe kernel takes "
            f"{list(PARAMETER_BYTES)} (records, clock budget, seed, role map), or the first of them"
        )


def pack_arguments(
    parameter_bytes: Sequence[int],
    records: int,
    clock_budget_cycles: int,
    seed: float,
    role_map: Sequence[int],
) -> bytes:
    """The kernel's parameter buffer, each parameter at its natural alignment.

    Args:
        parameter_bytes: size of each parameter that the kernel has.
        records: device address of the records.
        clock_budget_cycles: SM clock cycles that each warp's timed loop runs for.
        seed: passed as float32.
        role_map: role index for each warp slot; unnamed slots get role 0.

    Raises:
        ArgumentError: if the kernel has other parameters or a value doesn't fit.
    """
    check_parameters(parameter_bytes)
    if len(role_map) > MAX_WARP_SLOTS:
        raise ArgumentError(f"the role map has {len(role_map)} entries, at most {MAX_WARP_SLOTS}")
    count = len(parameter_bytes)
    # Natural alignment needs no padding: offsets are 0, 8, 16 and 20 (bytes of a struct of
    # unsigned char align to 1).
    formats = ("Q", "Q", "f", f"{MAX_WARP_SLOTS}s")
    try:
        values = (records, clock_budget_cycles, seed, bytes(role_map))
        return struct.pack("<" + "".join(formats[:count]), *values[:count])
    except (struct.error, ValueError, OverflowError) as error:
        raise ArgumentError(f"a launch setting doesn't fit its kernel parameter: {error}") from None
