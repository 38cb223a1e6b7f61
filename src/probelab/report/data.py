"""What the report is made of: the datasets' rows, by probe, form and source."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from probelab.analyse.ordering import chain, sign
from probelab.analyse.statistics import Interval
from probelab.config.models import Claim, Probe
from probelab.report.naming import is_measured, source_label
from probelab.schema import tables
from probelab.schema.plan import Chunk, TimingSettings, Variant
from probelab.schema.tidy import Evidence

Row = dict[str, Any]

_SWEPT = re.compile(r"(?P<series>.+)_(?P<length>[0-9]+)")


class Form(NamedTuple):
    """The kernel form that roles are compared in."""

    arch: str
    placement: str
    dispatch: str
    threads_per_block: int
    blocks: int
    clock_budget_cycles: int
    seed: float

    @property
    def kind(self) -> tuple[Any, ...]:
        """The form without its architecture."""
        return self[1:]

    @property
    def label(self) -> str:
        """`coresident, in_loop, 256 threads`."""
        dispatch = [] if self.dispatch == "none" else [self.dispatch]
        blocks = [] if self.blocks == 1 else [f"{self.blocks} blocks"]
        parts = [self.placement, *dispatch, f"{self.threads_per_block} threads", *blocks]
        return ", ".join(parts)

    @property
    def notes(self) -> bool:
        """Whether this is the notes' own form: the role is selected inside the timed loop."""
        return self.placement == "coresident" and self.dispatch == "in_loop"


def form_of(row: Row) -> Form:
    """The form of a row of any of the datasets."""
    return Form(*(row[name] for name in Form._fields))


def _form_order(form: Form) -> tuple[Any, ...]:
    """The notes' form first, isolated last; the order of everything in the report."""
    place = 2 if form.placement == "isolated" else 0 if form.dispatch == "in_loop" else 1
    return (place, form.threads_per_block, *form.kind)


@dataclass(frozen=True)
class Sweep:
    """Roles that are named `<series>_<length>`."""

    place: dict[str, tuple[str, int]]  #: role → (series, length)
    series: list[str]
    lengths: list[int]


def sweep_of(probe: Probe) -> Sweep | None:
    """The probe's roles as series over chain length; None if it isn't about length.

    A role belongs to a series if its name ends in the number of instructions that it means to
    have; at least three lengths make a sweep.
    """
    place: dict[str, tuple[str, int]] = {}
    for role in probe.roles:
        match = _SWEPT.fullmatch(role.name)
        if not match or (role.intent and role.intent.count != int(match["length"])):
            return None
        place[role.name] = (match["series"], int(match["length"]))
    series = list(dict.fromkeys(name for name, _ in place.values()))
    lengths = sorted({length for _, length in place.values()})
    return Sweep(place, series, lengths) if len(lengths) >= 3 else None


def by_source(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Rows that have figures, by the label of their source."""
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if row["progress_mean"] is not None:
            found[source_label(row)].append(row)
    return dict(found)


def row_sign(row: Row) -> str:
    """What a row's ratio to its reference role says; empty if it has none."""
    if row["progress_ratio"] is None:
        return ""
    low, high = row["progress_ratio_ci_low"], row["progress_ratio_ci_high"]
    return sign(row["progress_ratio"], None if low is None else Interval(low, high))


@dataclass(frozen=True)
class ProbeData:
    """One probe's configuration and rows."""

    probe: Probe
    rows: list[Row]
    comparisons: list[Row]
    variants: list[Variant]
    archs: list[str]

    @cached_property
    def sweep(self) -> Sweep | None:
        """Roles over chain length, if that is what the probe is about."""
        return sweep_of(self.probe)

    @cached_property
    def _sets(self) -> dict[str, int]:
        sets = self.probe.coresident_sets
        return {
            variant.id: sets.index(variant.roles) + 1
            for variant in self.variants
            if variant.placement == "coresident" and variant.roles in sets
        }

    def set_of(self, variant: str) -> int:
        """The number of a coresident variant's set of roles, from 1; 0 for any other variant."""
        return self._sets.get(variant, 0)

    @cached_property
    def forms(self) -> list[Form]:
        """All forms, by architecture, the notes' own first."""
        found = {form_of(row) for row in self.rows}
        order = {arch: place for place, arch in enumerate(self.archs)}
        return sorted(found, key=lambda form: (order[form.arch], _form_order(form)))

    @cached_property
    def _by_form(self) -> dict[Form, list[Row]]:
        order = {name: place for place, name in enumerate(self.probe.role_names)}
        grouped: dict[Form, list[Row]] = defaultdict(list)
        for row in self.rows:
            grouped[form_of(row)].append(row)
        for rows in grouped.values():
            if rows[0]["placement"] == "isolated":
                rows.sort(key=lambda row: order[row["role"]])
        return dict(grouped)

    def of_form(self, form: Form) -> list[Row]:
        """The rows of a form, in the probe's order of roles (coresident: launch by launch)."""
        return self._by_form[form]

    def with_figures(self, form: Form) -> list[Row]:
        """The rows of a form that have progress."""
        return [row for row in self.of_form(form) if row["progress_mean"] is not None]

    def orderings(self, form: Form) -> list[tuple[Row, str]]:
        """(a row that names the source, the chain `a > b ≈ c`) for each group of the form."""
        grouped: dict[tuple[str, ...], list[Row]] = defaultdict(list)
        for row in self.comparisons:
            if row["purpose"] == "ordering" and form_of(row) == form:
                grouped[row["group"], row["backend"], row["recording"]].append(row)
        found = []
        for key in sorted(grouped):
            rows = sorted(grouped[key], key=lambda row: int(row["position"]))
            links = [(row["left_role"], row["sign"], row["right_role"]) for row in rows]
            found.append((rows[0], chain(links)))
        return found

    def claim_rows(self, claim: Claim) -> list[Row]:
        """The pairs that a claim names, in the order of architecture, group and position."""
        order = {arch: place for place, arch in enumerate(self.archs)}
        rows = [
            row
            for row in self.comparisons
            if row["purpose"] == "claim" and row["claim"] == claim.id
        ]
        return sorted(rows, key=lambda row: (order[row["arch"]], row["group"], row["position"]))


@dataclass(frozen=True)
class ReportData:
    """Everything that the report says, before it is said."""

    probes: list[ProbeData]
    evidence: Evidence
    measurements: pa.Table
    settings: TimingSettings | None

    @cached_property
    def rows(self) -> list[Row]:
        """All rows of the summary, probe by probe."""
        return [row for probe in self.probes for row in probe.rows]

    @cached_property
    def recorded(self) -> frozenset[str]:
        """The architectures of which some launches were taken from a recording."""
        return frozenset(row["arch"] for row in self.rows if row["backend"] == "recorded")

    @cached_property
    def launches(self) -> list[Row]:
        """The first row of each launch of the summary."""
        return list({row["launch"]: row for row in reversed(self.rows)}.values())[::-1]

    @cached_property
    def runs(self) -> list[Row]:
        """What the measurements say of each launch: device, tools, dates, one row a launch."""
        names = [
            "probe", "arch", "backend", "recording", "device", "device_uuid", "compute_capability",
            "driver_version", "measured_at", "model_reason", "nvcc_version", "harness_version",
            "nvcc_flags", "launch",
        ]  # fmt: skip
        launches = self.measurements["launch"].combine_chunks()
        first = {name: place for place, name in reversed(list(enumerate(launches.to_pylist())))}
        places = pa.array(sorted(first.values()), type=pa.int64())
        part = self.measurements.select(names).take(places)
        return [dict(row) for row in part.to_pylist()]

    @cached_property
    def clocks(self) -> tuple[int, int] | None:
        """Smallest and largest SM clock of accepted repeats, MHz; None if none is known."""
        accepted = self.measurements.filter(self.measurements["accepted"])
        found = pc.min_max(accepted["sm_clock_mhz"]).as_py()
        return None if found["min"] is None else (found["min"], found["max"])

    @cached_property
    def throttle_reasons(self) -> list[str]:
        """Every throttle reason that a repeat reported."""
        lists = self.measurements["throttle_reasons"]
        return sorted(set(pc.list_flatten(lists).to_pylist()))


def load(
    plan: Sequence[Chunk],
    evidence: Evidence,
    probes: Iterable[Probe],
    *,
    measurements: Path,
    summary: Path,
    comparisons: Path,
    settings: TimingSettings | None = None,
) -> ReportData:
    """Read the datasets.

    Raises:
        DataError: if one of them is missing or damaged.
    """
    rows: dict[str, list[Row]] = defaultdict(list)
    for row in tables.read(summary, tables.SUMMARY).to_pylist():
        rows[row["probe"]].append(row)
    pairs: dict[str, list[Row]] = defaultdict(list)
    for row in tables.read(comparisons, tables.COMPARISONS).to_pylist():
        pairs[row["probe"]].append(row)
    variants: dict[str, list[Variant]] = defaultdict(list)
    for chunk in plan:
        variants[chunk.probe] += chunk.variants
    found = []
    for probe in probes:
        own = rows[probe.name]
        planned = dict.fromkeys(variant.arch for variant in variants[probe.name])
        measured = {row["arch"] for row in own if is_measured(row)}
        # Measured architectures first, then in the plan's order.
        archs = [arch for arch in planned if arch in measured]
        archs += [arch for arch in planned if arch not in measured]
        found.append(
            ProbeData(
                probe=probe,
                rows=own,
                comparisons=pairs[probe.name],
                variants=sorted(variants[probe.name], key=lambda variant: variant.id),
                archs=archs,
            )
        )
    return ReportData(
        probes=found,
        evidence=evidence,
        measurements=tables.read(measurements, tables.MEASUREMENTS),
        settings=settings,
    )
