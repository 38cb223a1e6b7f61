"""Which charts the report has, and the rows that go into each."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from probelab.report import charts, length_charts
from probelab.report.causes import cause_label, cause_place, causes_of, costs
from probelab.report.data import Form, ProbeData, ReportData, Row, by_source, row_sign
from probelab.report.naming import (
    RatioForm,
    is_measured,
    is_predicted,
    ratio_value,
    source_label,
)
from probelab.report.published import PublishedFigure
from probelab.report.render import Figure

Values = list[dict[str, Any]]

_PUBLISHED = "as published"
#: A chart with a line for each of more roles than this is no picture any more.
_MOST_ROLES = 64


def shown_form(data: ProbeData) -> tuple[Any, ...] | None:
    """The form (without architecture) of the progress chart: the notes' own if it has figures."""
    with_figures = [form for form in data.forms if data.with_figures(form)]
    notes = [form for form in with_figures if form.notes]
    return (notes or with_figures)[0].kind if with_figures else None


def _progress(data: ProbeData, published: Sequence[PublishedFigure]) -> Figure | None:
    kind = shown_form(data)
    if kind is None:
        return None
    forms = [form for form in data.forms if form.kind == kind]
    given = {figure.role: figure.progress for figure in published} if forms[0].notes else {}
    panels: list[tuple[str, Values]] = []
    present: set[str] = set()
    for form in forms:
        for label, rows in by_source(data.with_figures(form)).items():
            present.update(row["role"] for row in rows)
            panels.append(
                (
                    label,
                    [
                        {
                            "role": row["role"],
                            "progress": row["progress_mean"],
                            "low": row["progress_ci_low"],
                            "high": row["progress_ci_high"],
                            "published": given.get(row["role"]),
                        }
                        for row in rows
                    ],
                )
            )
    roles = [role for role in data.probe.role_names if role in present]
    if len(roles) > _MOST_ROLES:
        return None
    title = f"{data.probe.title}: progress, {forms[0].label}"
    source = f"published, {data.probe.published.source}" if given and data.probe.published else ""
    return Figure(
        f"{data.probe.name}_progress",
        title,
        charts.progress_by_role(panels, roles, title, source),
    )


def _percent(value: float | None, form: RatioForm) -> float | None:
    return None if value is None else ratio_value(value, form)


def _ratio_fields(row: Row, form: RatioForm) -> dict[str, Any]:
    return {
        "ratio": _percent(row["progress_ratio"], form),
        "low": _percent(row["progress_ratio_ci_low"], form),
        "high": _percent(row["progress_ratio_ci_high"], form),
    }


def _forms(data: ProbeData, published: Sequence[PublishedFigure]) -> Figure | None:
    """The ratio to the reference role across forms; of a sweep, of roles that share a kernel."""
    together = {
        row["role"] for row in data.rows if row["placement"] == "coresident" and row_sign(row)
    }
    panels: dict[str, Values] = defaultdict(list)
    differing: set[str] = set()
    labels: dict[str, None] = {}
    for form in data.forms:
        for label, rows in by_source(data.with_figures(form)).items():
            sets = {data.set_of(row["variant"]) for row in rows}
            for row in rows:
                if row["progress_ratio"] is None or (data.sweep and row["role"] not in together):
                    continue
                number = f", set {data.set_of(row['variant'])}" if len(sets) > 1 else ""
                name = f"{form.label}{number}"
                labels[name] = None
                fields = _ratio_fields(row, data.probe.ratio)
                panels[label].append({"role": row["role"], "form": name, **fields})
                differing.update([label] if row_sign(row) != "≈" else [])
    if data.sweep is not None:
        # Level everywhere: a sentence says it.
        panels = {label: values for label, values in panels.items() if label in differing}
    if not panels:
        return None
    forms = list(labels)
    given = [figure for figure in published if figure.ratio is not None]
    given = [figure for figure in given if figure.reference != figure.role]
    note = ""
    if given and data.probe.published:
        note = f"published: {data.probe.published.source}"
        forms.append(_PUBLISHED)
        panels[f"{_PUBLISHED}, not measured here"] = [
            {
                "role": figure.role,
                "form": _PUBLISHED,
                "ratio": _percent(figure.ratio, data.probe.ratio),
                "low": None,
                "high": None,
            }
            for figure in given
        ]
    present = {row["role"] for values in panels.values() for row in values}
    roles = [role.name for role in data.probe.roles if role.name in present]
    if len(roles) > _MOST_ROLES:
        return None
    title = f"{data.probe.title}: progress against the reference role, by kernel form"
    chart = charts.ratio_by_form(list(panels.items()), roles, forms, data.probe.ratio, title, note)
    return Figure(f"{data.probe.name}_forms", title, chart)


def _causes(data: ProbeData) -> Figure | None:
    """Where the cycles of a warp that runs alone go, for the first architecture that has it."""
    for arch in data.archs:
        own = costs(data, arch)
        if not own or len({cost.label for cost in own}) > _MOST_ROLES:
            continue
        causes = causes_of(own)
        panels: dict[str, Values] = {}
        for cost in own:
            way = cost.way if cost.way == "isolated" else f"coresident, {cost.way}"
            panels.setdefault(way, []).extend(
                {
                    "role": cost.label,
                    "cause": cause_label(cause),
                    "cycles": cycles,
                    "place": causes.index(cause),
                }
                for cause, cycles in cost.by_cause.items()
            )
        title = f"{data.probe.title}: where the cycles of a warp that runs alone go"
        chart = charts.cycles_by_cause(
            list(panels.items()),
            list(dict.fromkeys(cost.label for cost in own)),
            [(cause_label(cause), cause_place(cause)) for cause in causes],
            title,
            f"predicted from SASS ({arch})",
        )
        return Figure(f"{data.probe.name}_causes", title, chart)
    return None


def _sweep_panels(data: ProbeData) -> list[tuple[Form, list[Row]]]:
    """Isolated forms with all their rows, those with figures or predictions."""
    return [
        (form, data.of_form(form))
        for form in data.forms
        if form.placement == "isolated" and data.with_figures(form)
    ]


def _cycles_over_length(data: ProbeData) -> Figure | None:
    sweep = data.sweep
    if sweep is None:
        return None
    panels: list[tuple[str, Values]] = []
    for form, rows in _sweep_panels(data):
        values: Values = []
        sources: dict[str, None] = {}
        for row in rows:
            series, length = sweep.place[row["role"]]
            place = {"series": series, "length": length}
            if row["cycles_per_iteration_mean"] is not None:
                sources[source_label(row)] = None
                values.append(
                    {
                        **place,
                        "cycles": row["cycles_per_iteration_mean"],
                        "low": row["cycles_per_iteration_ci_low"],
                        "high": row["cycles_per_iteration_ci_high"],
                        "predicted": is_predicted(row),
                    }
                )
            predicted = row["predicted_cycles_per_iteration"]
            if is_measured(row) and predicted is not None:
                values.append(
                    {**place, "cycles": predicted, "low": None, "high": None, "predicted": True}
                )
        panels.append((f"{form.label}: {' / '.join(sources)}", values))
    if not panels:
        return None
    title = f"{data.probe.title}: cycles per iteration over chain length"
    chart = length_charts.cycles_over_length(panels, sweep.series, title)
    return Figure(f"{data.probe.name}_cycles", title, chart)


def _ratio_over_length(data: ProbeData) -> Figure | None:
    sweep = data.sweep
    if sweep is None:
        return None
    if all(row_sign(row) in ("", "≈") for _, rows in _sweep_panels(data) for row in rows):
        return None  # level everywhere: a sentence says it
    panels: list[tuple[str, Values]] = []
    for form, rows in _sweep_panels(data):
        for label, sourced in by_source(rows).items():
            values = [
                {
                    "series": sweep.place[row["role"]][0],
                    "length": sweep.place[row["role"]][1],
                    "predicted": is_predicted(row),
                    **_ratio_fields(row, data.probe.ratio),
                }
                for row in sourced
                if row["progress_ratio"] is not None
            ]
            if values:
                panels.append((f"{form.label}: {label}", values))
    if not panels:
        return None
    present = {value["series"] for _, values in panels for value in values}
    series = [name for name in sweep.series if name in present]
    title = f"{data.probe.title}: progress against the reference role over chain length"
    chart = length_charts.ratio_over_length(panels, series, data.probe.ratio, title)
    return Figure(f"{data.probe.name}_ratio", title, chart)


def probe_figures(data: ProbeData, published: Sequence[PublishedFigure]) -> list[Figure]:
    """The charts of a probe: over chain length if it is about length, else by role."""
    if data.sweep is not None:
        found = [_cycles_over_length(data), _ratio_over_length(data), _forms(data, published)]
    else:
        found = [_progress(data, published), _forms(data, published)]
    return [figure for figure in [*found, _causes(data)] if figure is not None]


def prediction_figure(data: ReportData) -> Figure | None:
    """The error of every prediction that has a measurement beside it."""
    found: dict[tuple[str, float], int] = {}
    sources: dict[str, None] = {}
    for probe in data.probes:
        for form in probe.forms:
            for row in probe.of_form(form):
                if row["prediction_error_percent"] is not None:
                    # Rounded, so that errors that print alike share a mark; + 0.0 for no minus.
                    error = round(row["prediction_error_percent"], 2) + 0.0
                    key = (f"{probe.probe.name}, {form.label}", error)
                    found[key] = found.get(key, 0) + 1
                    sources[source_label(row)] = None
    if not found:
        return None
    values = [{"group": key[0], "error": key[1], "roles": number} for key, number in found.items()]
    groups = list(dict.fromkeys(group for group, _ in found))
    title = f"Predicted from SASS against {' / '.join(sources)}"
    return Figure("prediction_error", title, charts.prediction_error(values, groups, title))
