"""Station *codegen*: cost model, rule, regret and verdicts of the sweeps, and what is exported."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from probelab import __version__
from probelab.canonical import write_atomically
from probelab.codegen.cost_model import Fit, fit
from probelab.codegen.export import header, rule_book
from probelab.codegen.points import Observation, Row, by_scope, observations
from probelab.codegen.regret import Regret, regrets
from probelab.codegen.rule import Rule, rules
from probelab.codegen.statements import STATEMENTS
from probelab.codegen.tables import (
    Files,
    points_table,
    regrets_table,
    terms_table,
    verdicts_table,
)
from probelab.codegen.verdicts import Verdict, verdicts
from probelab.config.sweeps import Point
from probelab.schema import tables
from probelab.schema.tidy import Evidence


@dataclass(frozen=True)
class Findings:
    """What the sweeps say."""

    observations: list[Observation]
    fits: list[Fit]
    rules: list[Rule]
    regrets: list[Regret]
    verdicts: list[Verdict]


def find(found: list[Observation]) -> Findings:
    """Cost model, rule, regret and verdicts from the points of the sweeps."""
    fits = [made for scope, own in by_scope(found) if (made := fit(scope, own)) is not None]
    return Findings(
        observations=found,
        fits=fits,
        rules=rules(found),
        regrets=regrets(found, fits),
        verdicts=verdicts(found, STATEMENTS),
    )


def _measured_at(measurements: pa.Table) -> dict[str, str]:
    """Time of measurement by launch; launches without one are left out."""
    known = measurements.select(["launch", "measured_at"])
    known = known.filter(pc.not_equal(known["measured_at"], ""))
    pairs = known.group_by("launch").aggregate([("measured_at", "min")])
    return dict(zip(pairs["launch"].to_pylist(), pairs["measured_at_min"].to_pylist(), strict=True))


def write_codegen(
    summary: Path,
    measurements: Path,
    evidence: Evidence,
    points: Mapping[str, Mapping[str, Point]],
    files: Files,
) -> Findings:
    """Write the datasets, `rule.json` and the C++ header; equal input gives equal bytes.

    Args:
        summary: `summary.parquet`.
        measurements: `measurements.parquet`; of it, when each launch was measured.
        evidence: the manifests of all chunks; of these, shape is used.
        points: for each sweep the point of each of its roles.
        files: where to write.

    Raises:
        DataError: if a dataset is missing or damaged.
    """
    rows = _rows(tables.read(summary, tables.SUMMARY), list(points))
    found = find(observations(rows, evidence, points))
    tables.write(points_table(found.observations, found.fits), files.points)
    tables.write(terms_table(found.fits), files.terms)
    tables.write(regrets_table(found.regrets), files.regrets)
    tables.write(verdicts_table(found.verdicts), files.verdicts)
    book = rule_book(
        found.rules,
        found.observations,
        found.regrets,
        _measured_at(tables.read(measurements, tables.MEASUREMENTS)),
        __version__,
    )
    write_atomically(files.rule, book.as_json())
    write_atomically(files.header, header(book))
    return found


def _rows(summary: pa.Table, sweeps: Sequence[str]) -> list[Row]:
    own = summary.filter(pc.is_in(summary["probe"], pa.array(sweeps, pa.string())))
    rows: list[Row] = own.to_pylist()
    return rows
