"""The control word of a 128-bit instruction: what the compiler tells the scheduler.

Bit positions hold for sm_75 to sm_12x. They come from public notes on the encoding (CuAssembler's
`CuControlCode`, the sm_90 notes of CICUVC/nvidia-sass-document) and agree with what nvcc 13 emits
for sm_75, 80, 86, 90, 100 and 120: the `.reuse` marks that cuobjdump prints are bits 122 to 124.

| bits    | field           | neutral |
|---------|-----------------|---------|
| 108:105 | stall           | –       |
| 109     | keep (not yield)| 1       |
| 112:110 | write scoreboard| 7       |
| 115:113 | read scoreboard | 7       |
| 121:116 | wait mask       | 0       |
| 124:122 | reuse of A, B, C| 0       |
"""

from dataclasses import dataclass
from functools import lru_cache

#: Value of a scoreboard field that names no scoreboard.
NO_SCOREBOARD = 7
#: Scoreboards of a warp.
SCOREBOARDS = 6


@dataclass(frozen=True, slots=True)
class Control:
    """The decoded control word.

    Attributes:
        stall: cycles until the same warp may issue its next instruction, 0 to 15.
        yields: whether the warp offers the scheduler to another warp (bit 109 is 0).
        write_scoreboard: scoreboard that the result releases, 0 to 5, or None.
        read_scoreboard: scoreboard that the reading of the sources releases, 0 to 5, or None.
        waits: scoreboards that must be free before this instruction issues, ascending.
        reuse: whether operand A, B, C stays in the register reuse cache.
    """

    stall: int
    yields: bool
    write_scoreboard: int | None
    read_scoreboard: int | None
    waits: tuple[int, ...]
    reuse: tuple[bool, bool, bool]

    @property
    def notation(self) -> str:
        """CuAssembler's notation, for instance `[B0-----:R-:W1:Y:S04]`."""
        waits = "".join(str(i) if i in self.waits else "-" for i in range(SCOREBOARDS))
        read = "-" if self.read_scoreboard is None else str(self.read_scoreboard)
        write = "-" if self.write_scoreboard is None else str(self.write_scoreboard)
        return f"[B{waits}:R{read}:W{write}:{'Y' if self.yields else '-'}:S{self.stall:02d}]"


@lru_cache(maxsize=4096)
def _decode(field: int) -> Control:
    """Decode bits 124:105, shifted down to bit 0."""
    write = field >> 5 & 7
    read = field >> 8 & 7
    mask = field >> 11 & 63
    reuse = field >> 17 & 7
    return Control(
        stall=field & 15,
        yields=not field >> 4 & 1,
        write_scoreboard=None if write == NO_SCOREBOARD else write,
        read_scoreboard=None if read == NO_SCOREBOARD else read,
        waits=tuple(i for i in range(SCOREBOARDS) if mask >> i & 1),
        reuse=(bool(reuse & 1), bool(reuse & 2), bool(reuse & 4)),
    )


def decode_control(encoding: int) -> Control:
    """The control word of a 128-bit `encoding` (first printed word in the low half)."""
    return _decode(encoding >> 105 & 0xFFFFF)
