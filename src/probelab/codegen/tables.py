"""The datasets that the codegen station writes: their columns, and rows from the findings."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pyarrow as pa

from probelab.codegen.cost_model import NAIVE, Fit
from probelab.codegen.doubts import doubts
from probelab.codegen.features import Features
from probelab.codegen.points import Observation, Scope, Shape
from probelab.codegen.regret import Regret
from probelab.codegen.verdicts import Verdict
from probelab.schema import tables

COST_MODEL = "cost model"
NAIVE_MODEL = "number_of_ops alone"

_TEXT, _COUNT, _FIGURE = pa.string(), pa.int32(), pa.float64()


def _fields(kind: pa.DataType, *names: str, nullable: bool = False) -> list[pa.Field]:
    return [pa.field(name, kind, nullable=nullable) for name in names]


_SCOPE = [
    *_fields(_TEXT, "sweep", "arch"),
    *_fields(_FIGURE, "warps_per_sub_core"),
    *_fields(_TEXT, "source"),
]
_SHAPE = [*_fields(_TEXT, "op", "reduction", "operands"), *_fields(_COUNT, "unroll")]

#: A row per point: features, figure, and what both models say without points of its length.
POINTS = pa.schema(
    [
        *_SCOPE,
        *_fields(_TEXT, "backend", "device", "role"),
        *_SHAPE,
        *_fields(_COUNT, "length", "accumulators"),
        *_fields(_TEXT, "tail"),
        *_fields(_FIGURE, "cycles_per_iteration"),
        *_fields(
            _FIGURE,
            *("cycles_per_iteration_ci_low", "cycles_per_iteration_ci_high"),
            *("predicted_cycles_per_iteration", "cost_model_cycles", "number_of_ops_cycles"),
            nullable=True,
        ),
        *_fields(_COUNT, *(field.name for field in fields(Features))),
        *_fields(_TEXT, "doubts", "launch", "kernel_digest"),
    ]
)
#: A row per scope, model and feature; the errors are those of the whole model.
TERMS = pa.schema(
    [
        *_SCOPE,
        *_fields(_TEXT, "model", "term", "feature"),
        *_fields(_FIGURE, "cycles_per_unit"),
        *_fields(
            _FIGURE,
            *("ci_low", "ci_high", "mean_cycles", "largest_cycles"),
            "mean_error_without_term_percent",
            nullable=True,
        ),
        *_fields(_COUNT, "points", "lengths"),
        *_fields(_FIGURE, "mean_error_percent", "median_error_percent", "worst_error_percent"),
    ]
)
#: A row per scope, shape, way to choose and length.
REGRETS = pa.schema(
    [
        *_SCOPE,
        *_SHAPE,
        *_fields(_TEXT, "way"),
        *_fields(_COUNT, "length", "wanted_accumulators", "accumulators", "best_accumulators"),
        *_fields(_FIGURE, "cycles_per_iteration", "best_cycles_per_iteration"),
        *_fields(_FIGURE, "lost_cycles", "lost_percent"),
    ]
)
#: A row per statement, scope and shape; `op` is empty where a statement is about several shapes.
VERDICTS = pa.schema(
    [
        *_SCOPE,
        *_SHAPE,
        *_fields(_TEXT, "statement", "status"),
        *_fields(pa.list_(_COUNT), "held_at_lengths", "refuted_at_lengths", "open_at_lengths"),
        *_fields(_TEXT, "figures"),
        *_fields(pa.list_(_TEXT), "launches"),
    ]
)


@dataclass(frozen=True)
class Files:
    """Where the station's outputs lie."""

    points: Path
    terms: Path
    regrets: Path
    verdicts: Path
    rule: Path
    header: Path

    @classmethod
    def below(cls, folder: Path) -> "Files":
        """All of them in one folder, under their usual names."""
        return cls(
            points=folder / "cost_points.parquet",
            terms=folder / "cost_model.parquet",
            regrets=folder / "regret.parquet",
            verdicts=folder / "verdicts.parquet",
            rule=folder / "rule.json",
            header=folder / "probelab_accumulators.hpp",
        )


def _scope(scope: Scope, source: str) -> dict[str, Any]:
    return {
        "sweep": scope.sweep,
        "arch": scope.arch,
        "warps_per_sub_core": scope.warps_per_sub_core,
        "source": source,
    }


def _shape(shape: Shape | None) -> dict[str, Any]:
    shape = shape or Shape("", "", "", 0)
    return {
        "op": shape.op,
        "reduction": shape.reduction,
        "operands": shape.operands,
        "unroll": shape.unroll,
    }


def points_table(found: Sequence[Observation], fits: Sequence[Fit]) -> pa.Table:
    """Schema `POINTS`."""
    estimates: dict[int, tuple[float, float, str]] = {}
    for fit in fits:
        for one, cost, naive in zip(
            fit.observations, fit.estimates, fit.naive_estimates, strict=True
        ):
            estimates[id(one)] = (float(cost), float(naive), "; ".join(doubts(one, fit)))
    rows = []
    for one in found:
        cost, naive, remark = estimates.get(id(one), (None, None, ""))
        rows.append(
            {
                **_scope(one.scope, one.source),
                "backend": one.backend,
                "device": one.device,
                "role": one.role,
                **_shape(one.shape),
                "length": one.point.length,
                "accumulators": one.point.accumulators,
                "tail": one.point.tail,
                "cycles_per_iteration": one.cycles,
                "cycles_per_iteration_ci_low": one.low,
                "cycles_per_iteration_ci_high": one.high,
                "predicted_cycles_per_iteration": one.predicted,
                "cost_model_cycles": cost,
                "number_of_ops_cycles": naive,
                **one.features.as_row(),
                "doubts": remark,
                "launch": one.launch,
                "kernel_digest": one.kernel_digest,
            }
        )
    return pa.Table.from_pylist(rows, POINTS)


def terms_table(fits: Sequence[Fit]) -> pa.Table:
    """Schema `TERMS`."""
    rows: list[dict[str, Any]] = []
    for fit in fits:
        scope = _scope(fit.scope, fit.source)
        size = {
            "points": len(fit.observations),
            "lengths": len({one.point.length for one in fit.observations}),
        }
        errors, naive = fit.errors, fit.naive_errors
        for one in fit.sizes:
            without = fit.without.get(one.term)
            rows.append(
                {
                    **scope,
                    "model": COST_MODEL,
                    "term": one.term,
                    "feature": one.feature,
                    "cycles_per_unit": one.coefficient,
                    "ci_low": one.low,
                    "ci_high": one.high,
                    "mean_cycles": one.mean_cycles,
                    "largest_cycles": one.largest_cycles,
                    "mean_error_without_term_percent": without.mean if without else None,
                    **size,
                    "mean_error_percent": errors.mean,
                    "median_error_percent": errors.median,
                    "worst_error_percent": errors.worst,
                }
            )
        rows += [
            {
                **scope,
                "model": NAIVE_MODEL,
                "term": "base" if name == NAIVE[0] else "number_of_ops",
                "feature": name,
                "cycles_per_unit": value,
                **size,
                "mean_error_percent": naive.mean,
                "median_error_percent": naive.median,
                "worst_error_percent": naive.worst,
            }
            for name, value in fit.naive.items()
        ]
    return pa.Table.from_pylist(rows, TERMS)


def regrets_table(regrets: Sequence[Regret]) -> pa.Table:
    """Schema `REGRETS`."""
    rows = [
        {
            **_scope(one.scope, one.source),
            **_shape(one.shape),
            "way": one.way,
            "length": one.length,
            "wanted_accumulators": one.wanted,
            "accumulators": one.accumulators,
            "best_accumulators": one.best,
            "cycles_per_iteration": one.cycles,
            "best_cycles_per_iteration": one.best_cycles,
            "lost_cycles": one.lost_cycles,
            "lost_percent": one.lost_percent,
        }
        for one in regrets
    ]
    return pa.Table.from_pylist(rows, REGRETS)


def verdicts_table(verdicts: Sequence[Verdict]) -> pa.Table:
    """Schema `VERDICTS`."""
    rows = [
        {
            **_scope(one.scope, one.source),
            **_shape(one.shape),
            "statement": one.statement,
            "status": one.status,
            "held_at_lengths": list(one.held_at),
            "refuted_at_lengths": list(one.refuted_at),
            "open_at_lengths": list(one.open_at),
            "figures": one.figures,
            "launches": list(one.launches),
        }
        for one in verdicts
    ]
    return pa.Table.from_pylist(rows, VERDICTS)


def read(files: Files) -> dict[str, list[dict[str, Any]]]:
    """The rows of all four datasets: points, terms, regrets, verdicts.

    Raises:
        DataError: if one of them is missing or damaged.
    """
    return {
        "points": tables.read(files.points, POINTS).to_pylist(),
        "terms": tables.read(files.terms, TERMS).to_pylist(),
        "regrets": tables.read(files.regrets, REGRETS).to_pylist(),
        "verdicts": tables.read(files.verdicts, VERDICTS).to_pylist(),
    }
