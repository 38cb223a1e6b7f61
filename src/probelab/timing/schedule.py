"""In which order the launches of a job run: a fresh random permutation per repeat."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from probelab.canonical import digest


@dataclass(frozen=True)
class Step:
    """One timed run of one launch.

    `order` is its place among all timed runs of the job, failed ones included, so that a failure
    moves nothing else.
    """

    launch: str
    repeat: int
    order: int


def plan_steps(name: str, launches: Sequence[str], repeats: int) -> list[Step]:
    """All timed runs in order; slow drift of the device hits all launches alike.

    Args:
        name: of the job; with the launches' ids it is the seed, so that the order of a job can be
            had again.
        launches: ids; their order doesn't matter.
        repeats: rounds, each of which runs every launch once.
    """
    ids = sorted(launches)
    # A digest rather than hash(), which differs from process to process.
    generator = random.Random(digest({"name": name, "launches": ids}))
    steps: list[Step] = []
    for repeat in range(repeats):
        permutation = generator.sample(ids, len(ids))
        steps += [
            Step(launch=launch, repeat=repeat, order=len(steps) + place)
            for place, launch in enumerate(permutation)
        ]
    return steps
