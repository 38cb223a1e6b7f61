"""Sentences computed from the data. Each says where its figures come from."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from probelab.report import naming
from probelab.report.agreement import premises, published_sentences
from probelab.report.causes import dispatch_sentence
from probelab.report.data import ProbeData, ReportData, Row, by_source
from probelab.report.lengths import form_sentences, length_sentences
from probelab.report.markdown import code
from probelab.report.missing import unrecorded
from probelab.report.naming import count, listed, source_label
from probelab.report.published import PublishedFigure
from probelab.report.standing import answers, flip_summary

#: Roles of a probe without comparisons whose figures are told at the report's beginning.
_FEW_ROLES = 5
#: Forms that are told there.
_FORMS = 4


def scale_sentence(data: ReportData) -> str:
    """How much was built, measured and predicted."""
    variants = sum(len(probe.variants) for probe in data.probes)
    archs = list(dict.fromkeys(arch for probe in data.probes for arch in sorted(probe.archs)))
    launches = data.launches
    with_figures = [row for row in launches if row["progress_mean"] is not None]
    parts = [
        f"{number} {source}"
        for source, number in sorted(Counter(source_label(row) for row in with_figures).items())
    ]
    without = len(launches) - len(with_figures)
    if without:
        parts.append(f"{without} without a figure (see the last section)")
    return (
        f"{count(len(data.probes), 'probe')}, {count(variants, 'kernel')} for {listed(archs)}, "
        f"{count(len(launches), 'launch', 'launches')}: {listed(parts) or 'none'}."
    )


def shape_sentence(data: ReportData) -> str:
    """How many kernels have the SASS that was meant."""
    declared = {
        (probe.probe.name, role.name)
        for probe in data.probes
        for role in probe.probe.roles
        if role.intent
    }
    statuses: Counter[str] = Counter()
    for probe in data.probes:
        for variant in probe.variants:
            meant = any((probe.probe.name, role) in declared for role in variant.roles)
            statuses[data.evidence.shape_status(variant.id) if meant else "undeclared"] += 1
    undeclared = statuses.pop("undeclared", 0)
    total = sum(statuses.values())
    none = f"no shape is declared for {count(undeclared, 'kernel')}"
    if not total:
        return f"{none[:1].upper()}{none[1:]}."
    rest = [f"{number} {status}" for status, number in sorted(statuses.items()) if status != "ok"]
    rest += [none] if undeclared else []
    tail = f"; {'; '.join(rest)}" if rest else ""
    return (
        f"The SASS of {statuses['ok']} of {count(total, 'kernel')} has the shape that its roles "
        f"declare{tail}."
    )


def prediction_sentences(data: ReportData) -> list[str]:
    """How near the predictions are to the measurements, for each source."""
    grouped: dict[str, list[Row]] = defaultdict(list)
    for row in data.rows:
        if row["prediction_error_percent"] is not None:
            grouped[source_label(row)].append(row)
    found = []
    for source, rows in grouped.items():
        errors = np.abs([row["prediction_error_percent"] for row in rows])
        worst = rows[int(errors.argmax())]
        within = int((errors <= 1).sum())
        found.append(
            f"Predicted cycles per iteration against those {source}: median error "
            f"{np.median(errors):.2f} %, within 1 % for {within} of {count(len(rows), 'role')}, "
            f"largest {naming.percent(worst['prediction_error_percent'])} "
            f"({code(worst['role'])} of {worst['probe']})."
        )
    return found


def _orderings(data: ProbeData) -> list[str]:
    """The ordering of roles in each form."""
    return [
        f"Roles by progress ({form.label}, {source_label(row)}): {code(chain)}."
        for form in data.forms
        for row, chain in data.orderings(form)
    ]


def _cycles(data: ProbeData) -> list[str]:
    """The plain figures of a probe that compares nothing."""
    found = []
    for form in data.forms:
        for source, rows in by_source(data.with_figures(form)).items():
            shown = [
                f"{code(row['role'])} {naming.cycles(row['cycles_per_iteration_mean'])}"
                for row in rows[:_FEW_ROLES]
                if row["cycles_per_iteration_mean"] is not None
            ]
            more = [f"{len(rows) - _FEW_ROLES} more"] if len(rows) > _FEW_ROLES else []
            if shown:
                found.append(
                    f"Cycles per iteration ({form.label}, {source}): {listed([*shown, *more])}."
                )
    return found


def headline(
    data: ProbeData, published: Sequence[PublishedFigure], recorded: frozenset[str]
) -> list[str]:
    """What the report's beginning says of a probe: the answer, its reason, what is to know."""
    if data.sweep is not None:
        found = length_sentences(data, measured_only=True) + form_sentences(data)
    else:
        found = premises(data, published) + answers(data)
    found = found or _orderings(data)[:_FORMS] or _cycles(data)[:_FORMS]
    found = unrecorded(data, recorded) + found
    found += dispatch_sentence(data) + published_sentences(data, published)
    return found or ["No role of this probe has a figure; the last section says why."]


def findings(data: ProbeData) -> list[str]:
    """What the probe's own section says beside its tables and beyond the report's beginning."""
    return length_sentences(data) + flip_summary(data)


def reasons(rows: Iterable[Row]) -> list[str]:
    """The reasons why rows have no prediction, each once."""
    return list(dict.fromkeys(row["prediction_reason"] for row in rows if row["prediction_reason"]))


def assumptions(data: ReportData) -> list[tuple[str, str]]:
    """(architecture, what its predictions assume), each once."""
    found = {(row["arch"], text) for row in data.rows for text in row["prediction_assumptions"]}
    return sorted(found)
