"""How long the stations took, a line for each job, from which a plan's time is estimated."""

import json
import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

JOBS = "jobs.jsonl"


@dataclass(frozen=True)
class Pace:
    """Of one station: seconds that a job takes at least, and for each piece of work made."""

    job_s: float
    piece_s: float

    def seconds(self, jobs: int, pieces: int) -> float:
        """Of so many jobs that make so many pieces together."""
        return self.job_s * jobs + self.piece_s * pieces


def note(root: Path, station: str, chunk: str, made: int, seconds: float) -> None:
    """Add a job to the log of the store below `root`."""
    line = json.dumps({"station": station, "chunk": chunk, "made": made, "seconds": seconds})
    with (root / JOBS).open("a", encoding="utf-8") as stream:
        stream.write(line + "\n")


def paces(root: Path) -> dict[str, Pace]:
    """The pace of each station in the jobs logged so far; damaged lines are passed over."""
    jobs: dict[str, list[tuple[int, float]]] = {}
    try:
        lines = (root / JOBS).read_text(encoding="utf-8").splitlines()
    except OSError:
        return {}
    for line in lines:
        try:
            job = json.loads(line)
            jobs.setdefault(job["station"], []).append((int(job["made"]), float(job["seconds"])))
        except (ValueError, KeyError, TypeError):
            continue
    return {station: _pace(own) for station, own in jobs.items()}


def _pace(jobs: Iterable[tuple[int, float]]) -> Pace:
    """Medians, so that a job on a busy machine doesn't count for more than the others."""
    own = list(jobs)
    idle = [seconds for made, seconds in own if made == 0]
    least = statistics.median(idle) if idle else min(seconds for _, seconds in own)
    each = [max(0.0, seconds - least) / made for made, seconds in own if made > 0]
    return Pace(least, statistics.median(each) if each else 0.0)
