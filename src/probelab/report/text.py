"""Sentences computed from the data. Each says where its figures come from."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np

from probelab.report import naming
from probelab.report.data import Form, ProbeData, ReportData, Row, Sweep, row_sign
from probelab.report.markdown import code
from probelab.report.naming import count, is_measured, is_predicted, listed, source_label
from probelab.report.published import PublishedFigure

#: Probes of so few roles show their orderings at the report's beginning.
_FEW_ROLES = 5


def _sources(rows: Iterable[Row]) -> list[str]:
    return list(dict.fromkeys(source_label(row) for row in rows if row["backend"]))


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
    statuses = Counter(
        data.evidence.shape_status(variant.id)
        for probe in data.probes
        for variant in probe.variants
    )
    total = sum(statuses.values())
    rest = [f"{number} {status}" for status, number in sorted(statuses.items()) if status != "ok"]
    tail = f"; {listed(rest)}" if rest else ""
    return (
        f"The SASS of {statuses['ok']} of {total} kernels has the shape that its roles "
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


def _pairs_as_published(rows: Sequence[Row], published: Sequence[PublishedFigure]) -> str:
    """How many pairs of roles are in the published order."""
    given = {figure.role: figure.progress for figure in published if figure.progress is not None}
    own = {row["role"]: row["progress_mean"] for row in rows if row["shape_status"] != "broken"}
    same, all_pairs, other = 0, 0, []
    for left, right in combinations([role for role in given if role in own], 2):
        # What was published as about equal says nothing about order.
        if abs(given[left] / given[right] - 1) <= 0.001:
            continue
        all_pairs += 1
        if (given[left] > given[right]) == (own[left] > own[right]):
            same += 1
        else:
            other.append(f"{code(left)} and {code(right)}")
    if not all_pairs:
        return ""
    more = f"; {len(other) - 3} more" if len(other) > 3 else ""
    exceptions = f"; the other way round: {'; '.join(other[:3])}{more}" if other else ""
    return f"{same} of {all_pairs} pairs of roles stand in the published order{exceptions}"


def published_sentences(data: ProbeData, published: Sequence[PublishedFigure]) -> list[str]:
    """Whether the published order of roles comes out in the notes' own form."""
    found = []
    for form in data.forms:
        if form.notes and published:
            rows = data.with_figures(form)
            for source in _sources(rows):
                agreement = _pairs_as_published(
                    [row for row in rows if source_label(row) == source], published
                )
                if agreement:
                    found.append(f"In the notes' form ({form.label}), {source}: {agreement}.")
    return found


def flips(data: ProbeData) -> dict[tuple[str, str], list[tuple[Form, Row]]]:
    """(role, source) → forms and rows of the roles whose standing depends on the form.

    That is: ahead of the reference role in one form and behind it in another.
    """
    grouped: dict[tuple[str, str], list[tuple[Form, Row]]] = defaultdict(list)
    for form in data.forms:
        for row in data.of_form(form):
            if row_sign(row):
                grouped[row["role"], source_label(row)].append((form, row))
    return {
        key: rows
        for key, rows in grouped.items()
        if {">", "<"} <= {row_sign(row) for _, row in rows}
    }


def flip_summary(data: ProbeData) -> list[str]:
    """How many roles' standing depends on the form, and the widest swing, for each source."""
    found = []
    changing = flips(data)
    for source in dict.fromkeys(source for _, source in changing):
        own = {role: rows for (role, name), rows in changing.items() if name == source}
        compared = sum(1 for role in data.probe.roles if role.reference)
        swings = {
            role: sorted(rows, key=lambda pair: float(pair[1]["progress_ratio"]))
            for role, rows in own.items()
        }
        widest = max(
            swings,
            key=lambda role: (
                swings[role][-1][1]["progress_ratio"] / swings[role][0][1]["progress_ratio"]
            ),
        )
        (low_form, low), (high_form, high) = swings[widest][0], swings[widest][-1]
        ratio = data.probe.ratio
        found.append(
            f"{source[:1].upper()}{source[1:]}: for {len(own)} of {count(compared, 'role')}, being "
            "ahead of or behind the reference role depends on the kernel form. The widest swing: "
            f"{code(widest)} against {code(low['reference_role'])}, from "
            f"{naming.ratio(low['progress_ratio'], ratio)} ({low_form.label}) to "
            f"{naming.ratio(high['progress_ratio'], ratio)} ({high_form.label}). So placement, "
            "dispatch and warps per sub-core belong to any conclusion."
        )
    return found


def _length_parts(rows: Sequence[Row], sweep: Sweep) -> list[str]:
    """`behind at 1–3`, `level at 4` for the lengths of one series."""
    by_sign: dict[str, list[int]] = defaultdict(list)
    for row in rows:
        by_sign[row_sign(row)].append(sweep.place[row["role"]][1])
    known = [length for lengths in by_sign.values() for length in lengths]
    return [
        f"{word} at {naming.ranges(by_sign[sign], known)}"
        for sign, word in (("<", "behind"), ("≈", "level"), (">", "ahead"))
        if by_sign[sign]
    ]


def length_sentences(data: ProbeData, only: str = "") -> list[str]:
    """At which lengths each series is ahead of its reference, level with it, behind it.

    Args:
        data: the probe.
        only: a source kind, "measured" or "predicted"; empty for both.
    """
    sweep = data.sweep
    if sweep is None:
        return []
    found = []
    for form in data.forms:
        if form.placement != "isolated":
            continue
        grouped: dict[tuple[str, str, str], list[Row]] = defaultdict(list)
        for row in data.of_form(form):
            wanted = {"": True, "measured": is_measured(row), "predicted": is_predicted(row)}[only]
            if row_sign(row) and wanted:
                series = sweep.place[row["role"]][0]
                reference = sweep.place[row["reference_role"]][0]
                grouped[series, reference, source_label(row)].append(row)
        # Series that stand alike share a sentence.
        alike: dict[tuple[str, str, str], dict[str, list[Row]]] = defaultdict(dict)
        for (series, reference, source), rows in grouped.items():
            alike[reference, source, "; ".join(_length_parts(rows, sweep))][series] = rows
        for (reference, source, standing), members in alike.items():
            largest = max(
                (row for rows in members.values() for row in rows),
                key=lambda row: abs(row["progress_ratio"] - 1),
            )
            found.append(
                f"{listed(code(series) for series in members)} against {code(reference)} of the "
                f"same length ({form.label}, {source}): {standing} instructions; largest "
                f"difference {naming.percent((largest['progress_ratio'] - 1) * 100)}, at "
                f"{sweep.place[largest['role']][1]}."
            )
    return found


def _orderings(data: ProbeData) -> list[str]:
    """The ordering of roles in each form."""
    return [
        f"Roles by progress ({form.label}, {source_label(row)}): {code(chain)}."
        for form in data.forms
        for row, chain in data.orderings(form)
    ]


def headline(data: ProbeData, published: Sequence[PublishedFigure]) -> list[str]:
    """What the report's beginning says of a probe."""
    sentences = published_sentences(data, published)
    if data.sweep is not None:
        sentences += length_sentences(data, "measured") or length_sentences(data, "predicted")
    elif len(data.probe.roles) <= _FEW_ROLES:
        sentences += _orderings(data)[:4]
    sentences += flip_summary(data)
    nothing = ["No role of this probe has a figure; its last section says why."]
    return sentences or _orderings(data)[:1] or nothing


def findings(data: ProbeData, published: Sequence[PublishedFigure]) -> list[str]:
    """What the probe's own section says beside its tables."""
    return published_sentences(data, published) + length_sentences(data) + flip_summary(data)


def reasons(rows: Iterable[Row]) -> list[str]:
    """The reasons why rows have no prediction, each once."""
    return list(dict.fromkeys(row["prediction_reason"] for row in rows if row["prediction_reason"]))


def assumptions(data: ReportData) -> list[tuple[str, str]]:
    """(architecture, what its predictions assume), each once."""
    found = {(row["arch"], text) for row in data.rows for text in row["prediction_assumptions"]}
    return sorted(found)
