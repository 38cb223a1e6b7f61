"""A shape in words, and the excerpt that shows it."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from probelab.shape.chains import Chain
from probelab.shape.paths import Step
from probelab.shape.regions import Region

_NUMBERS = "no one two three four five six seven eight nine ten eleven twelve".split()

#: Letter in an excerpt's margin.
LETTERS: dict[Region, str] = {
    "body": "B",
    "setup": "S",
    "reduction": "R",
    "dispatch": "D",
    "loop_control": "C",
    "other": "?",
}


def number(count: int) -> str:
    """`four` for 4; digits beyond twelve."""
    return _NUMBERS[count] if count < len(_NUMBERS) else str(count)


def listed(items: Sequence[str]) -> str:
    """`a, b and c`."""
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} and {items[-1]}"


def _alternates(chain: Chain, written: Sequence[str]) -> bool:
    """Whether the chain goes to and fro between its two registers."""
    changes = sum(a != b for a, b in pairwise(written))
    return len(chain.registers) == 2 and changes > 1


def describe_chains(
    chains: Sequence[Chain],
    written: Sequence[Sequence[str]],
    opcode: str,
    *,
    immediates: bool,
    setup: int,
) -> str:
    """The shape of a body in words.

    Args:
        chains: longest first.
        written: for each chain, the register that each of its steps writes.
        opcode: of the body, for instance `FFMA`.
        immediates: whether each instruction of the body holds an immediate.
        setup: number of source-setup instructions.
    """
    if not chains:
        return f"no {opcode} chain"
    lengths = [len(chain.steps) for chain in chains]
    if len(chains) == 1:
        chain = chains[0]
        registers = listed(chain.registers)
        if len(chain.registers) == 1:
            text = f"single-register {opcode} chain of {lengths[0]}"
        elif _alternates(chain, written[0]):
            text = f"{opcode} chain of {lengths[0]} alternating over {registers}"
        else:
            text = f"{opcode} chain of {lengths[0]} over {registers}"
    elif len(set(lengths)) == 1:
        each = "one" if lengths[0] == 1 else str(lengths[0])
        kind = "live" if lengths[0] == 1 else "alternating"
        text = f"{number(len(chains))} {kind} accumulators, {each} {opcode} each"
    else:
        counts = listed([str(length) for length in lengths])
        text = f"{number(len(chains))} alternating accumulators, {counts} {opcode}"
    if immediates:
        text += " with immediates" if len(chains) == 1 else ", with immediates"
    if setup:
        text += f", {number(setup)} source setup instruction{'s' if setup > 1 else ''} among them"
    return text


def mnemonic_counts(steps: Sequence[Step]) -> dict[str, int]:
    """How often each mnemonic occurs on a path, most frequent first."""
    return dict(Counter(one.instruction.mnemonic for one in steps).most_common())


def excerpt(steps: Sequence[Step], regions: Sequence[Region]) -> list[str]:
    """Listing lines of a path, with the region's letter and the decoded control word."""
    return [
        f"{LETTERS[region]} {one.instruction}{'  -> taken' if one.taken else ''}"
        for one, region in zip(steps, regions, strict=True)
    ]
