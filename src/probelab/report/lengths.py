"""Sentences about probes whose roles run over chain length."""

from collections import defaultdict
from collections.abc import Sequence

from probelab.report import naming
from probelab.report.data import Form, ProbeData, Row, Sweep, row_sign
from probelab.report.markdown import code
from probelab.report.naming import listed, source_label
from probelab.report.standing import measured_first, short_label, standings

_WORDS = {">": "ahead", "≈": "level", "<": "behind"}


def _standing(rows: Sequence[Row], sweep: Sweep) -> str:
    """`level at 1; behind at 2; ahead at 3–64`, or `level at every length, 1–64`."""
    by_sign: dict[str, list[int]] = defaultdict(list)
    for row in rows:
        by_sign[row_sign(row)].append(sweep.place[row["role"]][1])
    known = [length for lengths in by_sign.values() for length in lengths]
    if len(by_sign) == 1:
        word = _WORDS[next(iter(by_sign))]
        return f"{word} at every length, {naming.ranges(known, known)}"
    return "; ".join(
        f"{_WORDS[sign]} at {naming.ranges(lengths, known)}"
        for sign, lengths in sorted(by_sign.items(), key=lambda item: min(item[1]))
    )


def _grouped(data: ProbeData, sweep: Sweep, form: Form) -> dict[tuple[str, str, str], list[Row]]:
    """(series, reference series, source) → rows that have a ratio."""
    grouped: dict[tuple[str, str, str], list[Row]] = defaultdict(list)
    for row in data.of_form(form):
        if row_sign(row):
            series, reference = (sweep.place[row[key]][0] for key in ("role", "reference_role"))
            grouped[series, reference, source_label(row)].append(row)
    return grouped


def _of_form(data: ProbeData, sweep: Sweep, form: Form) -> list[tuple[str, str]]:
    """(source, sentence) for each series; series that stand alike share a sentence."""
    alike: dict[tuple[str, str, str], dict[str, list[Row]]] = defaultdict(dict)
    for (series, reference, source), rows in _grouped(data, sweep, form).items():
        alike[reference, source, _standing(rows, sweep)][series] = rows
    found = []
    for (reference, source, standing), members in alike.items():
        rows = [row for own in members.values() for row in own]
        largest = max(rows, key=lambda row: abs(row["progress_ratio"] - 1))
        size = ""
        if any(row_sign(row) != "≈" for row in rows):
            size = (
                f"; largest difference {naming.percent((largest['progress_ratio'] - 1) * 100)}, at "
                f"{sweep.place[largest['role']][1]}"
            )
        names = listed(code(series) for series in members)
        sentence = (
            f"{names} against {code(reference)} of the same length ({form.label}, {source}): "
            f"{standing} instructions{size}."
        )
        found.append((source, sentence))
    return found


def length_sentences(data: ProbeData, measured_only: bool = False) -> list[str]:
    """At which lengths each series is ahead of its reference, level with it, behind it.

    Args:
        data: the probe.
        measured_only: leave predictions out where something was measured.
    """
    sweep = data.sweep
    if sweep is None:
        return []
    found = [
        pair
        for form in data.forms
        if form.placement == "isolated"
        for pair in _of_form(data, sweep, form)
    ]
    sources = list(dict.fromkeys(source for source, _ in found))
    wanted = measured_first(sources, data) if measured_only else sources
    return [sentence for source, sentence in found if source in wanted]


def form_sentences(data: ProbeData) -> list[str]:
    """Lengths that were run in both placements: how they stand in every form."""
    sweep = data.sweep
    if sweep is None:
        return []
    found = []
    by_source = standings(data)
    for source in measured_first(list(by_source), data):
        by_series: dict[tuple[str, str], list[tuple[Form, Row]]] = defaultdict(list)
        for role, rows in by_source[source].items():
            reference = sweep.place[rows[0][1]["reference_role"]][0]
            by_series[sweep.place[role][0], reference] += rows
        for (series, reference), rows in by_series.items():
            by_form: dict[Form, list[Row]] = defaultdict(list)
            for form, row in rows:
                by_form[form].append(row)
            level = any(all(row_sign(row) == "≈" for row in own) for own in by_form.values())
            text = _by_form(data, sweep, by_form) if level else _by_length(data, sweep, rows)
            found.append(
                f"{code(series)} against {code(reference)}, lengths that were also run coresident "
                f"({source}): {text}."
            )
    return found


def _ratio(data: ProbeData, row: Row) -> str:
    """With one decimal: the tables have more."""
    value = naming.ratio_value(row["progress_ratio"], data.probe.ratio)
    return f"{value:.1f} %" if data.probe.ratio == "percent" else naming.percent(value, 1)


def _by_form(data: ProbeData, sweep: Sweep, by_form: dict[Form, list[Row]]) -> str:
    """Form by form the lowest and the highest ratio, with their lengths."""
    forms = sorted(by_form, key=data.forms.index)
    parts = []
    for form in forms:
        rows = sorted(by_form[form], key=lambda row: float(row["progress_ratio"]))
        label = short_label(form, forms)
        if all(row_sign(row) == "≈" for row in rows):
            parts.append(f"{label}, level at all")
            continue
        ends = [
            f"{_ratio(data, row)} (at {sweep.place[row['role']][1]})" for row in (rows[0], rows[-1])
        ]
        parts.append(f"{label}, {' to '.join(dict.fromkeys(ends))}")
    return "; ".join(parts)


def _by_length(data: ProbeData, sweep: Sweep, rows: Sequence[tuple[Form, Row]]) -> str:
    """Length by length the ratio in every form."""
    forms = sorted({form for form, _ in rows}, key=data.forms.index)
    by_length: dict[int, dict[Form, list[str]]] = defaultdict(lambda: defaultdict(list))
    for form, row in rows:
        by_length[sweep.place[row["role"]][1]][form].append(_ratio(data, row))
    parts = []
    for length, own in sorted(by_length.items()):
        ratios = [
            f"{short_label(form, forms)} {' / '.join(own[form])}" for form in forms if form in own
        ]
        parts.append(f"at **{length}** {', '.join(ratios)}")
    return "; ".join(parts)
