"""Which charts the report has, and the rows that go into each."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from probelab.report import charts
from probelab.report.data import Form, ProbeData, ReportData, Row
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


def _by_source(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Rows that have figures, by the label of their source."""
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if row["progress_mean"] is not None:
            found[source_label(row)].append(row)
    return dict(found)


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
        for label, rows in _by_source(data.with_figures(form)).items():
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
    """The ratio to the reference role across forms."""
    panels: dict[str, Values] = defaultdict(list)
    labels: dict[str, None] = {}
    for form in data.forms:
        for label, rows in _by_source(data.with_figures(form)).items():
            for row in rows:
                if row["progress_ratio"] is not None:
                    labels[form.label] = None
                    fields = _ratio_fields(row, data.probe.ratio)
                    panels[label].append({"role": row["role"], "form": form.label, **fields})
    given = [figure for figure in published if figure.ratio is not None]
    given = [figure for figure in given if figure.reference != figure.role]
    if not panels:
        return None
    forms = sorted(labels, key=[form.label for form in data.forms].index)
    note = ""
    if given and data.probe.published:
        note = f"{_PUBLISHED}: {data.probe.published.source}"
        forms.append(_PUBLISHED)
        panels[next(iter(panels))] += [
            {
                "role": figure.role,
                "form": _PUBLISHED,
                "ratio": _percent(figure.ratio, data.probe.ratio),
                "low": None,
                "high": None,
            }
            for figure in given
        ]
    roles = [role.name for role in data.probe.roles if role.reference]
    title = f"{data.probe.title}: progress against the reference role, by kernel form"
    chart = charts.ratio_by_form(list(panels.items()), roles, forms, data.probe.ratio, title, note)
    return Figure(f"{data.probe.name}_forms", title, chart)


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
    chart = charts.cycles_over_length(panels, sweep.series, title)
    return Figure(f"{data.probe.name}_cycles", title, chart)


def _ratio_over_length(data: ProbeData) -> Figure | None:
    sweep = data.sweep
    if sweep is None:
        return None
    panels: list[tuple[str, Values]] = []
    for form, rows in _sweep_panels(data):
        for label, sourced in _by_source(rows).items():
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
    chart = charts.ratio_over_length(panels, series, data.probe.ratio, title)
    return Figure(f"{data.probe.name}_ratio", title, chart)


def probe_figures(data: ProbeData, published: Sequence[PublishedFigure]) -> list[Figure]:
    """The charts of a probe: over chain length if it is about length, else by role and form."""
    if data.sweep is not None:
        found = [_cycles_over_length(data), _ratio_over_length(data)]
    else:
        found = [_progress(data, published), _forms(data, published)]
    return [figure for figure in found if figure is not None]


def prediction_figure(data: ReportData) -> Figure | None:
    """The error of every prediction that has a measurement beside it."""
    values: Values = []
    groups: dict[str, None] = {}
    sources: dict[str, None] = {}
    for probe in data.probes:
        for form in probe.forms:
            for row in probe.of_form(form):
                if row["prediction_error_percent"] is not None:
                    group = f"{probe.probe.name}, {form.label}"
                    groups[group] = None
                    sources[source_label(row)] = None
                    values.append({"group": group, "error": row["prediction_error_percent"]})
    if not values:
        return None
    title = f"Predicted from SASS against {' / '.join(sources)}"
    return Figure("prediction_error", title, charts.prediction_error(values, list(groups), title))
