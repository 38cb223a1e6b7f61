"""Which registers and predicates an instruction reads and writes.

The rules follow the order of operands in the text: destinations come first, a carry or comparison
predicate stands beside them. Widths come from modifiers (`.64`, `.128`, `.WIDE`) and from opcodes
that work on pairs. `nvdisasm -plr` is the oracle against which the tests hold them. What the text
doesn't show is missing: the descriptor of global memory accesses on sm_80 to sm_89 and what a
called function changes. Tensor-core instructions have one register per operand here, too few.
"""

from dataclasses import dataclass

from probelab.sass.kernel import BRANCHES, INDIRECT, Instruction
from probelab.sass.operands import (
    TRUE,
    Constant,
    Memory,
    Operand,
    Predicate,
    Register,
    SpecialRegister,
)

#: Opcodes without any destination.
NO_DESTINATION = (
    BRANCHES
    | INDIRECT
    | frozenset(
        """ST STG STS STL RED REDG REDAS SUST SURED EXIT BSSY BSYNC BREAK BAR MEMBAR NOP DEPBAR
        WARPSYNC WARPGROUP WARPARRIVE WARPDEPBAR CCTL CCTLL CCTLT ERRBAR YIELD NANOSLEEP PREEXIT
        FENCE LDGDEPBAR LDGSTS ARRIVES BMOV R2B ACQBULK CGAERRBAR UCGABAR_ARV UCGABAR_WAIT
        USETMAXREG ENDCOLLECTIVE UTMASTG UTMALDG UTMACMDFLUSH UTMACCTL UTMAREDG UBLKCP UBLKRED
        UBLKPF""".split()
    )
)
#: Opcodes whose destinations are predicates only.
SETS_PREDICATES = frozenset(
    "ISETP FSETP DSETP HSETP2 PSETP PLOP3 UISETP UFSETP UPLOP3 UPSETP FCHK ISETP2 QSPC".split()
)
#: Opcodes on pairs of registers throughout.
PAIRED = frozenset("DADD DMUL DFMA DSETP DMNMX FADD2 FMUL2 FFMA2".split())
#: Memory instructions; only their data, not their address, has the width of `.64` or `.128`.
MEMORY_OPCODES = frozenset(
    """LD LDG LDS LDL LDC LDCU ULDC ST STG STS STL ATOM ATOMG ATOMS RED REDG LDGSTS SULD SUST
    LDSM STSM""".split()
)
_GLOBAL = frozenset("LD LDG ST STG ATOM ATOMG RED REDG CCTL".split())
_WIDTHS = {"64": 2, "128": 4, "256": 8, "U64": 2, "S64": 2, "F64": 2}
_DATA_WIDTHS = {"64": 2, "128": 4, "256": 8}


@dataclass(frozen=True, slots=True)
class Access:
    """Names of the registers (`R7`, `UR4`) and predicates (`P0`, `UP1`) of an instruction.

    The constants RZ, URZ, PT and UPT are in none of the sets. Tuples keep the order of the text.
    """

    writes: tuple[str, ...]
    reads: tuple[str, ...]
    writes_predicates: tuple[str, ...]
    reads_predicates: tuple[str, ...]


def _names(register: Register, width: int) -> tuple[str, ...]:
    """Names of the tuple of `width` registers that starts at `register`."""
    if register.is_zero:
        return ()
    prefix = "UR" if register.uniform else "R"
    return tuple(f"{prefix}{register.number + step}" for step in range(width))


def _modifier_width(modifiers: tuple[str, ...], widths: dict[str, int]) -> int:
    return max((widths.get(modifier, 1) for modifier in modifiers), default=1)


def _widths(instruction: Instruction) -> tuple[int, int, int]:
    """Registers of the destination, of sources A and B, and of source C."""
    opcode, modifiers = instruction.opcode, instruction.modifiers
    both = "64" in modifiers
    if opcode in MEMORY_OPCODES:
        data = _modifier_width(modifiers, _DATA_WIDTHS)
        return data, data, data
    if opcode in ("CS2R", "CS2UR"):
        width = 1 if "32" in modifiers else 2
        return width, 1, 1
    if opcode in PAIRED or opcode in INDIRECT or both:
        return 2, 2, 2
    if opcode in ("IMAD", "UIMAD") and "WIDE" in modifiers:
        return 2, 1, 2
    if opcode in ("IMAD", "UIMAD") and "HI" in modifiers:
        return 1, 1, 2
    if opcode in ("ISETP", "UISETP"):
        width = _modifier_width(modifiers, _WIDTHS)
        return 1, width, width
    if opcode in ("I2F", "F2F", "F2I", "FRND"):
        # F2F.F64.F32: the first type is the destination's.
        types = [item for item in modifiers if item[:1] in "FIUS" and item[1:].isdecimal()]
        destination = _WIDTHS.get(types[0], 1) if types else 1
        source = _WIDTHS.get(types[-1], 1) if types else 1
        if opcode == "I2F" and len(types) == 1:
            destination, source = (1, source) if types[0][0] != "F" else (destination, 1)
        return destination, source, source
    if opcode == "LEPC":
        return 2, 1, 1
    return 1, 1, 1


def _predicate_names(operands: tuple[Operand, ...]) -> tuple[str, ...]:
    return tuple(one.name for one in operands if isinstance(one, Predicate) and not one.is_true)


def _destinations(instruction: Instruction) -> int:
    """How many of the leading operands are destinations."""
    opcode, operands = instruction.opcode, instruction.operands
    if opcode in NO_DESTINATION or not operands:
        return 0
    if opcode in SETS_PREDICATES:
        count = 0
        while count < min(2, len(operands)) and isinstance(operands[count], Predicate):
            count += 1
        return count
    if isinstance(operands[0], Predicate):
        # SHFL.IDX PT, R0, …; LOP3.LUT P0, RZ, …; but VOTE.ANY P0, !P1
        return 1 if opcode in ("VOTE", "VOTEU") else min(2, len(operands))
    # IADD3 R6, P0, P1, R2, …: carries stand directly beside the destination. VOTE has only one.
    limit = 2 if opcode in ("VOTE", "VOTEU") else 3
    count = 1
    while count < min(limit, len(operands)) and isinstance(operands[count], Predicate):
        count += 1
    return count


def access(instruction: Instruction) -> Access:
    """What `instruction` reads and writes.

    A guarded instruction reads its guard. Its destinations count as written, though they keep
    their value where the guard is false.
    """
    opcode, operands = instruction.opcode, instruction.operands
    destinations = _destinations(instruction)
    to, ab, c = _widths(instruction)
    writes: list[str] = []
    reads: list[str] = []
    sources = operands[destinations:]
    for operand in operands[:destinations]:
        if isinstance(operand, Register):
            writes.extend(_names(operand, to))
    registers_seen = 0
    for operand in sources:
        match operand:
            case Register():
                width = c if registers_seen == 2 else ab
                reads.extend(_names(operand, width))
                registers_seen += 1
            case Memory():
                reads.extend(_address_registers(operand, instruction))
            case Constant():
                if isinstance(operand.bank, Register):
                    reads.extend(_names(operand.bank, 1))
                for register in operand.index:
                    reads.extend(_names(register, 1))
                registers_seen += 1
            case Predicate() | SpecialRegister():
                pass
            case _:
                registers_seen += 1
    every = tuple(f"P{number}" for number in range(TRUE))
    writes_predicates = _predicate_names(operands[:destinations])
    reads_predicates = _predicate_names(sources)
    if opcode == "R2P":
        writes_predicates = every
    elif any(isinstance(one, SpecialRegister) and one.name == "PR" for one in sources):
        reads_predicates += every
    guard = instruction.guard
    if guard is not None and not guard.is_true:
        reads_predicates = (guard.name, *reads_predicates)
    return Access(
        writes=tuple(dict.fromkeys(writes)),
        reads=tuple(dict.fromkeys(reads)),
        writes_predicates=tuple(dict.fromkeys(writes_predicates)),
        reads_predicates=tuple(dict.fromkeys(reads_predicates)),
    )


def _address_registers(memory: Memory, instruction: Instruction) -> tuple[str, ...]:
    """Registers of an address. Global addresses (`.E`) have 64 bits unless marked otherwise."""
    names: list[str] = []
    if memory.descriptor is not None:
        names.extend(_names(memory.descriptor, 2))
    wide = instruction.opcode in _GLOBAL and "E" in instruction.modifiers
    for register in memory.registers:
        pair = (
            "64" in register.suffixes
            or memory.space == "gdesc"
            or (register.uniform and wide and len(memory.registers) > 1)
            or (wide and "U32" not in register.suffixes and memory.descriptor is None)
        )
        names.extend(_names(register, 2 if pair else 1))
    return tuple(names)
