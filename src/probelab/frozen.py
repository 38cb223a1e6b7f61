"""What a cluster run has planned, kept for its jobs, which start later and read everything anew.

Snakemake parses the workflow once more on the node, so a job that waited in a queue would work
with whatever config, code and kernels lie there by then, while the run that submitted it counts on
those that it saw. The run therefore writes down the digests of what each job depends on, and names
the file in an environment variable, which batch systems hand on; a job whose own digests differ
does nothing.
"""

import itertools
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from probelab.canonical import canonical_json, digest, write_atomically
from probelab.errors import DataError
from probelab.script import PLAN_VARIABLE
from probelab.workflow import STATIONS, Workflow

#: The environment variable that names a job's plan; empty: none.
VARIABLE = PLAN_VARIABLE
#: Where plans lie, relative to the working directory.
FOLDER = Path(".snakemake/probelab")

_DIGITS = 16


def _short(parts: Mapping[str, str]) -> dict[str, str]:
    return {name: value[:_DIGITS] for name, value in parts.items()}


def freeze(lab: Workflow) -> Path:
    """Write down what every job depends on; the file's path, relative to the working directory."""
    parts: dict[str, str] = {}
    for chunk in lab.chunks:
        for station in STATIONS:
            parts |= _short(lab.depends_on(station, chunk))
    path = FOLDER / f"{digest(parts)[:_DIGITS]}.json"
    write_atomically(path, canonical_json(parts) + "\n")
    return path


def jobs_of(arguments: Sequence[str]) -> list[tuple[str, str]]:
    """(station, chunk) of each job that Snakemake's command line for a node names.

    Snakemake itself has read them into no object yet when the workflow is parsed.
    """
    after = itertools.dropwhile(lambda argument: argument != "--target-jobs", arguments)
    named = itertools.takewhile(lambda argument: not argument.startswith("--"), list(after)[1:])
    found = []
    for job in named:
        station, _, wildcards = job.partition(":")
        if station in STATIONS:
            found.append((station, wildcards.removeprefix("chunk=")))
    return sorted(found, key=lambda job: STATIONS.index(job[0]))


def changed(lab: Workflow, jobs: Iterable[tuple[str, str]]) -> list[str]:
    """What has changed since the plan that this process belongs to was made, for some jobs.

    Args:
        lab: as it is now.
        jobs: (station, chunk) of each.

    Raises:
        DataError: if the plan is damaged.
    """
    path = Path(os.environ.get(VARIABLE, ""))
    # Without a common file system there is no plan here, and nobody edits the node's own copy.
    if not path.is_file():
        return []
    try:
        planned = dict[str, str](json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise DataError(f"can't be read: {error}", where=str(path)) from None
    found: list[str] = []
    for station, chunk in jobs:
        if chunk not in lab.chunks:
            found.append(f"the configuration (there is no {chunk} any more)")
            continue
        now = _short(lab.depends_on(station, chunk))
        found += [name for name, value in now.items() if planned.get(name) != value]
    return list(dict.fromkeys(found))


def refuse_if_changed(lab: Workflow, arguments: Sequence[str]) -> None:
    """Stop jobs whose config, code or kernels are not what they were when they were submitted.

    The reason also goes into the log of the first job, which is what the run shows.

    Args:
        lab: as it is now.
        arguments: of the Snakemake that is to run the jobs.

    Raises:
        DataError: if something has changed.
    """
    jobs = jobs_of(arguments)
    found = changed(lab, jobs)
    if not found:
        return
    station, chunk = jobs[0]
    error = DataError(
        f"changed after this job was submitted: {', '.join(found)}; nothing was done",
        where=f"{', '.join(station for station, _ in jobs)} of {chunk}",
        hint="let the run end, then start it again",
    )
    write_atomically(Path("logs") / station / f"{chunk}.log", f"probelab: {error}\n")
    raise error
