"""Station *analyse*: the summary of each role and the comparisons between them."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from probelab.analyse.comparisons import comparisons_table
from probelab.analyse.groups import Groups
from probelab.analyse.samples import samples
from probelab.analyse.summary import summary_table
from probelab.config.models import Probe
from probelab.schema import tables
from probelab.schema.plan import Chunk
from probelab.schema.tidy import Evidence


def summarise(
    measurements: pa.Table, plan: Sequence[Chunk], evidence: Evidence, probes: Sequence[Probe]
) -> pa.Table:
    """A row per launch × role (schema `SUMMARY`), also for launches without a time."""
    groups = Groups(plan, samples(measurements, plan), evidence)
    return summary_table(groups, evidence, probes, tables.missing(measurements))


def compare(
    measurements: pa.Table, plan: Sequence[Chunk], evidence: Evidence, probes: Sequence[Probe]
) -> pa.Table:
    """Orderings and the pairs that claims name (schema `COMPARISONS`)."""
    return comparisons_table(Groups(plan, samples(measurements, plan), evidence), probes)


def analyse(
    measurements: Path,
    plan: Sequence[Chunk],
    evidence: Evidence,
    probes: Sequence[Probe],
    *,
    summary: Path,
    comparisons: Path,
) -> None:
    """Write `summary.parquet` and `comparisons.parquet`; equal input gives equal bytes.

    Args:
        measurements: `measurements.parquet`.
        plan: all chunks.
        evidence: the manifests of all chunks; of these, build, shape, predict and timing are used.
        probes: the probes' configuration: reference roles and claims.
        summary: the Parquet file with a row per launch × role.
        comparisons: the Parquet file with a row per pair of roles that is set side by side.

    Raises:
        DataError: if the measurements are missing or damaged.
    """
    table = tables.read(measurements, tables.MEASUREMENTS)
    groups = Groups(plan, samples(table, plan), evidence)
    tables.write(summary_table(groups, evidence, probes, tables.missing(table)), summary)
    tables.write(comparisons_table(groups, probes), comparisons)
