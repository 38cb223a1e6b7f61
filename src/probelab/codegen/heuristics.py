"""The second note's heuristic, and others to set beside it, as functions of the chain length.

The note (section 13) says: two to three accumulators for a short to middle chain; no four-way split
of a small odd tail; four and more for a large chain; not too many. It measured lengths 7, 8 and 29
and leaves open where a chain becomes large, so both ends of that gap are tried: a chain is large
from 9 on, or from 29 on. Made precise:

* a chain of one instruction has nothing to split;
* below the bound: two accumulators, the note's best at 7, or three where they split the chain
  evenly and two don't;
* from the bound on: four, the one number that the note measured for a large chain. "Or more" has no
  number in it, and "too many" warns of it.
"""

from collections.abc import Callable
from typing import TypeAlias

Heuristic: TypeAlias = Callable[[int], int]

#: Between the longest chain for which the note found four accumulators too many or merely level
#: (8), and the one for which it found them far ahead (29).
LARGE_FROM = (9, 29)
#: Chains below this are short to middle in the statements that the data judge.
MIDDLE_BELOW = 16


def note(length: int, large_from: int) -> int:
    """What the second note advises for a chain of that length."""
    if length < 2:
        return 1
    if length >= large_from:
        return 4
    return 3 if length % 3 == 0 and length % 2 else 2


def always(number: int) -> Heuristic:
    """The same number for every chain that has so many instructions."""
    return lambda length: min(number, length)


def _note(large_from: int) -> Heuristic:
    return lambda length: min(note(length, large_from), length)


#: By the name that tables show.
HEURISTICS: dict[str, Heuristic] = {
    "always 1": always(1),
    "always 2": always(2),
    "always 4": always(4),
    "always 8": always(8),
    **{f"notes, large from {bound}": _note(bound) for bound in LARGE_FROM},
}
