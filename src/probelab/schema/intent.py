"""What a role says its SASS must show."""

from typing import Literal

from pydantic import Field, StrictInt

from probelab.schema.base import Record


class Intent(Record):
    """The declared dependency shape of one role, per iteration of the timed loop.

    `chains` holds the number of `opcode` instructions on each accumulator, in descending
    order: `[7]` is a dependent chain of 7, `[2, 2, 2, 1]` is 7 instructions split over four
    accumulators with a short tail.
    """

    opcode: str = Field(description="opcode family of the body without modifiers: FFMA, FADD, FMUL")
    chains: list[StrictInt] = Field(description="instructions per accumulator and iteration")
    registers: Literal["single", "alternating", "any"] = Field(
        default="any",
        description="single: each chain in one register; alternating: over two; any: reported",
    )
    operands: Literal["register", "immediate", "constant", "any"] = Field(
        default="any",
        description="register: sources are registers only; immediate: each instruction holds one; "
        "constant: each reads one from the constant bank or a uniform register",
    )
    setup: Literal["none", "allowed", "required"] = Field(
        default="none", description="MOV (source setup) instructions among the body"
    )
    reduction: Literal["none", "each_iteration"] = Field(
        default="none",
        description="whether the accumulators are summed into a sink in each iteration",
    )
    sums: StrictInt = Field(default=1, ge=1, description="how often in an iteration")

    @property
    def accumulators(self) -> int:
        """Number of accumulators."""
        return len(self.chains)

    @property
    def count(self) -> int:
        """Number of `opcode` instructions in the body."""
        return sum(self.chains)
