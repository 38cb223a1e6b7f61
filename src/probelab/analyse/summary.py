"""From measurements to `summary.parquet`: a row per launch × role, also for what has no time."""

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from probelab.analyse import outcome
from probelab.analyse.groups import Groups, same_source, settings_columns, source_columns
from probelab.analyse.ordering import relations
from probelab.analyse.samples import Sample
from probelab.analyse.statistics import Summary, summaries
from probelab.config.models import Probe
from probelab.schema import tables
from probelab.schema.plan import Launch, Variant
from probelab.schema.tidy import Evidence, launches, role_slots

Row = dict[str, Any]


def _figure(name: str, figure: Summary | None) -> Row:
    interval = figure.interval if figure else None
    return {
        f"{name}_mean": figure.mean if figure else None,
        f"{name}_median": figure.median if figure else None,
        f"{name}_std": figure.std if figure else None,
        f"{name}_ci_low": interval.low if interval else None,
        f"{name}_ci_high": interval.high if interval else None,
    }


def _row(
    variant: Variant,
    launch: Launch,
    role: str,
    slots: list[int],
    sample: Sample | None,
    evidence: Evidence,
    missing: dict[str, str],
) -> Row:
    """A row but for its statistics and its ratio."""
    build = evidence.build.get(variant.id)
    predicted = outcome.prediction(evidence.predict.get(launch.id), slots)
    if sample is None:
        found = outcome.without_time(variant, launch, evidence, missing)
    else:
        found = outcome.with_time(
            variant,
            launch,
            evidence,
            sample.repeats,
            len(sample.progress),
            sample.rejection_reasons,
        )
    return {
        "variant": variant.id,
        "launch": launch.id,
        **settings_columns(variant, launch),
        "role": role,
        "warp_slots": slots,
        **source_columns(sample.source if sample else None),
        "status": found.status,
        "reason": found.reason,
        "shape_status": evidence.shape_status(variant.id),
        "repeats": sample.repeats if sample else 0,
        "accepted_repeats": len(sample.progress) if sample else 0,
        "rejection_reasons": sample.rejection_reasons if sample else [],
        "warp_spread_cycles_per_iteration": sample.warp_spread if sample else None,
        "predicted_cycles_per_iteration": predicted.cycles,
        "predicted_alone_cycles_per_iteration": predicted.alone,
        "predicted_alone_cycles_by_cause": predicted.alone_by_cause,
        "prediction_reason": predicted.reason,
        "prediction_assumptions": predicted.assumptions,
        "kernel_digest": sample.kernel_digest if sample else build.kernel_digest if build else "",
        "nvcc_version": sample.nvcc_version if sample else build.nvcc_version if build else "",
    }


def _add_statistics(rows: list[Row], found: list[Sample | None]) -> None:
    timed = [place for place, sample in enumerate(found) if sample is not None]
    present = [sample for sample in found if sample is not None]
    progress = dict(zip(timed, summaries([s.progress for s in present]), strict=True))
    cycles = dict(zip(timed, summaries([s.cycles_per_iteration for s in present]), strict=True))
    for place, row in enumerate(rows):
        row.update(_figure("progress", progress.get(place)))
        row.update(_figure("cycles_per_iteration", cycles.get(place)))
        measured, predicted = (
            row["cycles_per_iteration_mean"],
            row["predicted_cycles_per_iteration"],
        )
        comparable = measured and predicted is not None and row["backend"] != "model"
        row["prediction_error_percent"] = (
            (predicted - measured) / measured * 100 if comparable else None
        )


def _no_ratio(sample: Sample | None, reference: Sample | None, groups: Groups) -> str:
    """Why a role's progress isn't set against its reference's; empty if it can be."""
    if sample is None or not sample.usable:
        return "no progress of this role"
    if groups.broken(sample):
        return "this role's kernel has a broken shape"
    if reference is None or not reference.usable:
        return "no progress of the reference role in this form"
    if groups.broken(reference):
        return "the reference role's kernel has a broken shape"
    return same_source(sample, reference)


def _add_ratios(
    rows: list[Row], found: list[Sample | None], references: list[str], groups: Groups
) -> None:
    pairs: dict[int, tuple[Sample, Sample]] = {}
    for place, (row, sample, name) in enumerate(zip(rows, found, references, strict=True)):
        row["reference_role"] = name
        row["progress_ratio"] = row["progress_ratio_ci_low"] = row["progress_ratio_ci_high"] = None
        row["progress_ratio_method"] = row["progress_ratio_reason"] = ""
        if not name or name == row["role"]:
            continue
        reference = groups.companion(sample, name) if sample else None
        row["progress_ratio_reason"] = _no_ratio(sample, reference, groups)
        if sample and reference and not row["progress_ratio_reason"]:
            pairs[place] = (sample, reference)
    for place, relation in zip(pairs, relations(list(pairs.values())), strict=True):
        row = rows[place]
        row["progress_ratio"] = relation.ratio
        row["progress_ratio_method"] = relation.method
        if relation.interval:
            row["progress_ratio_ci_low"] = relation.interval.low
            row["progress_ratio_ci_high"] = relation.interval.high


def summary_table(
    groups: Groups, evidence: Evidence, probes: Iterable[Probe], missing: dict[str, str]
) -> pa.Table:
    """A row per launch × role, ordered by launch, then by the variant's order of roles.

    The unit is the repeat: of each accepted repeat the mean over the role's warps and blocks.
    A ratio is mean progress over the reference role's, within the launch if coresident (repeats
    paired), else over the launch of the reference with the same settings (repeats independent).
    A variant whose shape is broken keeps its figures and gets no ratio.
    """
    reference_of = {
        (probe.name, role.name): role.reference or "" for probe in probes for role in probe.roles
    }
    rows: list[Row] = []
    found: list[Sample | None] = []
    for variant, launch in launches(groups.plan):
        for role, slots in role_slots(variant, launch).items():
            sample = groups.samples.get((launch.id, role))
            found.append(sample)
            rows.append(_row(variant, launch, role, slots, sample, evidence, missing))
    _add_statistics(rows, found)
    references = [reference_of.get((row["probe"], row["role"]), "") for row in rows]
    _add_ratios(rows, found, references, groups)
    return pa.Table.from_pylist(rows, schema=tables.SUMMARY)
