"""The charts: small functions from rows to Altair charts.

Each panel's title names the source of its figures. Intervals are drawn where there are any; a
prediction has none. Positions are compared, not lengths, so axes needn't begin at zero.
"""

from collections.abc import Sequence
from typing import Any

import altair as alt

from probelab.report import naming
from probelab.report.naming import RatioForm
from probelab.report.render import GREY, PALETTE, SHAPES

Values = list[dict[str, Any]]

_ROW_HEIGHT = 30
_WIDTH = 380


def _data(values: Values) -> alt.InlineData:
    return alt.InlineData(values=values)


def _title(title: str, *lines: str) -> alt.TitleParams:
    return alt.TitleParams(title, subtitle=[line for line in lines if line])


def _panel_title(text: str) -> alt.TitleParams:
    return alt.TitleParams(text, fontSize=12, fontWeight="bold", frame="group", offset=8)


def _roles_axis(roles: Sequence[str], shown: bool = True) -> alt.Y:
    axis = alt.Axis(title=None, grid=True, ticks=False, domain=False, labels=shown)
    return alt.Y("role:N", sort=list(roles), axis=axis, scale=alt.Scale(domain=list(roles)))


def _colours(number: int) -> list[str]:
    return [PALETTE[place % len(PALETTE)] for place in range(number)]


def _shapes(number: int) -> list[str]:
    """Symbols that with `_colours` tell up to 49 things apart."""
    return [SHAPES[(place + place // len(PALETTE)) % len(SHAPES)] for place in range(number)]


def progress_by_role(
    panels: Sequence[tuple[str, Values]], roles: Sequence[str], title: str, published: str = ""
) -> alt.TopLevelMixin:
    """Mean progress of each role, one panel per source.

    Args:
        panels: (title that names the source, rows with role, progress, low, high, published).
            low, high and published may be None.
        roles: all roles in order.
        title: of the whole chart.
        published: what the hollow diamonds are; empty for none.
    """
    known = [
        value
        for _, values in panels
        for row in values
        for value in (row["progress"], row["low"], row["high"], row["published"])
        if value is not None
    ]
    margin = (max(known) - min(known)) * 0.06 or max(known) * 0.01 or 1.0
    domain = [min(known) - margin, max(known) + margin]
    x = alt.Scale(domain=domain, nice=False, zero=False)
    charts = []
    for place, (panel, values) in enumerate(panels):
        labelled = [
            {
                **row,
                "label": naming.progress(row["progress"]),
                "given": naming.progress(row["published"]),
            }
            for row in values
        ]
        base = alt.Chart(_data(labelled)).encode(y=_roles_axis(roles))
        axis = alt.Axis(title="mean progress (iterations)", tickCount=6)
        where = alt.X("progress:Q", scale=x, axis=axis)
        layers = [
            base.mark_rule(strokeWidth=2.5, color=PALETTE[0])
            .encode(x=alt.X("low:Q", scale=x), x2="high:Q")
            .transform_filter("isValid(datum.low)"),
            base.mark_point(filled=True, size=90, opacity=1, color=PALETTE[0]).encode(x=where),
            base.mark_text(align="left", fontSize=12).encode(
                x=alt.value(_WIDTH + 10), text="label:N"
            ),
        ]
        if published:
            layers += [
                base.mark_point(
                    shape="diamond", size=110, color=GREY, strokeWidth=2, opacity=1, filled=False
                )
                .encode(x=alt.X("published:Q", scale=x))
                .transform_filter("isValid(datum.published)"),
                base.mark_text(align="left", fontSize=12, color=GREY).encode(
                    x=alt.value(_WIDTH + 75), text="given:N"
                ),
            ]
        charts.append(
            alt.layer(*layers).properties(
                width=_WIDTH,
                height=_ROW_HEIGHT * len(roles),
                title=_panel_title(panel),
                name=f"panel_{place}",
            )
        )
    notes = (
        "filled: this run, with 95 % interval where measured; the axis does not begin at zero",
        f"hollow diamonds, grey figures: {published}" if published else "",
    )
    return alt.vconcat(*charts).properties(title=_title(title, *notes))


def ratio_by_form(
    panels: Sequence[tuple[str, Values]],
    roles: Sequence[str],
    forms: Sequence[str],
    ratio: RatioForm,
    title: str,
    note: str = "",
) -> alt.TopLevelMixin:
    """Progress against the reference role in each kernel form, one panel per source.

    Args:
        panels: (title that names the source, rows with role, form, ratio, low, high in percent
            as `ratio` says; low and high may be None).
        roles: the roles that have a reference, in order.
        forms: all forms in order; they get colour and symbol.
        ratio: percent of the reference, or difference from it.
        title: of the whole chart.
        note: a second line below the title.
    """
    neutral = naming.ratio_value(1.0, ratio)
    axis_title = (
        "progress, % of the reference role"
        if ratio == "percent"
        else "progress, % above or below the reference role"
    )
    known = [row[key] for _, values in panels for row in values for key in ("ratio", "low", "high")]
    present = [value for value in known if value is not None] + [neutral]
    margin = (max(present) - min(present)) * 0.05 or 1.0
    x = alt.Scale(domain=[min(present) - margin, max(present) + margin], nice=False, zero=False)
    colour = alt.Color(
        "form:N",
        sort=list(forms),
        scale=alt.Scale(domain=list(forms), range=_colours(len(forms))),
        legend=alt.Legend(title="kernel form", orient="bottom", columns=2),
    )
    shape = alt.Shape(
        "form:N",
        sort=list(forms),
        scale=alt.Scale(domain=list(forms), range=_shapes(len(forms))),
        legend=alt.Legend(title="kernel form", orient="bottom", columns=2),
    )
    charts = []
    for place, (panel, values) in enumerate(panels):
        own = {row["form"] for row in values}
        lines = [form for form in forms if form in own]
        base = alt.Chart(_data(values)).encode(
            y=_roles_axis(roles),
            # Forms have lines of their own, so that equal ratios don't hide each other.
            yOffset=alt.YOffset("form:N", sort=lines, scale=alt.Scale(domain=lines)),
        )
        where = alt.X("ratio:Q", scale=x, title=axis_title)
        charts.append(
            alt.layer(
                alt.Chart(_data([{"at": neutral}]))
                .mark_rule(color=GREY, strokeDash=[4, 3], strokeWidth=1.5)
                .encode(x=alt.X("at:Q", scale=x)),
                base.mark_rule(strokeWidth=2.5)
                .encode(x=alt.X("low:Q", scale=x), x2="high:Q", color=colour)
                .transform_filter("isValid(datum.low)"),
                base.mark_point(filled=True, size=75, opacity=1).encode(
                    x=where, color=colour, shape=shape
                ),
            ).properties(
                width=_WIDTH + 60,
                height=(14 + 8 * len(lines)) * len(roles),
                title=_panel_title(panel),
                name=f"panel_{place}",
            )
        )
    right = "right of the dashed line: more progress than the reference role in the same form"
    stacked: alt.TopLevelMixin = alt.vconcat(
        *charts,
        title=_title(title, right, note),
        resolve=alt.Resolve(scale=alt.ScaleResolveMap(yOffset="independent")),
    )
    return stacked


def _grid(charts: Sequence[alt.LayerChart | alt.FacetChart], columns: int = 2) -> alt.TopLevelMixin:
    rows = [charts[start : start + columns] for start in range(0, len(charts), columns)]
    return alt.vconcat(*(alt.hconcat(*row) for row in rows))


def _series(series: Sequence[str]) -> alt.Color:
    return alt.Color(
        "series:N",
        sort=list(series),
        scale=alt.Scale(domain=list(series), range=_colours(len(series))),
        legend=alt.Legend(title="roles", orient="bottom"),
    )


def _line_widths(series: Sequence[str]) -> dict[str, float]:
    """Later series are drawn thinner, so that equal ones don't hide each other."""
    return {name: 2.0 + 3.0 * (len(series) - 1 - place) for place, name in enumerate(series)}


def _nested(series: Sequence[str]) -> str:
    """How to read lines that coincide."""
    return "lines that coincide lie inside one another" if len(series) > 1 else ""


def cycles_over_length(
    panels: Sequence[tuple[str, Values]], series: Sequence[str], title: str
) -> alt.TopLevelMixin:
    """Cycles per iteration over chain length, one panel per source and form.

    Args:
        panels: (title that names the sources, rows with series, length, cycles, low, high,
            predicted: whether it is a prediction).
        series: all series in order.
        title: of the whole chart.
    """
    kinds = ["measured", "predicted"]
    dash = alt.StrokeDash(
        "kind:N",
        sort=kinds,
        scale=alt.Scale(domain=kinds, range=[[1, 0], [5, 4]]),
        legend=alt.Legend(title="source", orient="bottom", symbolSize=600),
    )
    charts = []
    for place, (panel, values) in enumerate(panels):
        rows = [{**row, "kind": kinds[row["predicted"]]} for row in values]
        base = alt.Chart(_data(rows)).encode(
            x=alt.X("length:Q", title="chain length (instructions)"), color=_series(series)
        )
        where = alt.Y("cycles:Q", title="cycles per iteration")
        charts.append(
            alt.layer(
                base.mark_rule(strokeWidth=2)
                .encode(y=alt.Y("low:Q"), y2="high:Q")
                .transform_filter("isValid(datum.low)"),
                *(
                    base.mark_line(strokeWidth=width)
                    .encode(y=where, strokeDash=dash)
                    .transform_filter(alt.datum.series == name)
                    for name, width in _line_widths(series).items()
                ),
                base.mark_point(filled=True, size=30, opacity=1)
                .encode(y=where)
                .transform_filter("datum.kind == 'measured'"),
                base.mark_point(filled=False, size=80, opacity=1, shape="square", strokeWidth=1.2)
                .encode(y=where)
                .transform_filter("datum.kind == 'predicted'"),
            ).properties(width=_WIDTH, height=240, title=_panel_title(panel), name=f"panel_{place}")
        )
    note = "filled circles and solid lines: measured; hollow squares and dashed lines: predicted"
    return _grid(charts).properties(title=_title(title, note, _nested(series)))


def ratio_over_length(
    panels: Sequence[tuple[str, Values]], series: Sequence[str], ratio: RatioForm, title: str
) -> alt.TopLevelMixin:
    """Progress against the reference role over chain length, one panel per source and form.

    Args:
        panels: (title that names the source, rows with series, length, ratio, low, high in
            percent as `ratio` says, predicted: whether it is a prediction).
        series: the series that have a reference, in order.
        ratio: percent of the reference, or difference from it.
        title: of the whole chart.
    """
    neutral = naming.ratio_value(1.0, ratio)
    axis_title = "% of the reference role" if ratio == "percent" else "% against the reference role"
    known = [row[key] for _, rows in panels for row in rows for key in ("ratio", "low", "high")]
    present = [value for value in known if value is not None]
    # One scale for all panels, and never so narrow that noise looks like a result.
    scale = alt.Scale(
        domain=[min([*present, neutral - 2]), max([*present, neutral + 2])], zero=False, nice=True
    )
    charts = []
    for place, (panel, rows) in enumerate(panels):
        base = alt.Chart(_data(rows)).encode(
            x=alt.X("length:Q", title="chain length (instructions)"), color=_series(series)
        )
        where = alt.Y("ratio:Q", title=f"progress, {axis_title}", scale=scale)
        predicted = all(row["predicted"] for row in rows)
        charts.append(
            alt.layer(
                alt.Chart(_data([{"at": neutral}]))
                .mark_rule(color=GREY, strokeDash=[2, 2], strokeWidth=1.5)
                .encode(y=alt.Y("at:Q", scale=scale)),
                base.mark_rule(strokeWidth=2)
                .encode(y=alt.Y("low:Q", scale=scale), y2="high:Q")
                .transform_filter("isValid(datum.low)"),
                *(
                    base.mark_line(strokeDash=[5, 4] if predicted else [1, 0], strokeWidth=width)
                    .encode(y=where)
                    .transform_filter(alt.datum.series == name)
                    for name, width in _line_widths(series).items()
                ),
                base.mark_point(
                    filled=not predicted,
                    size=80 if predicted else 42,
                    opacity=1,
                    shape="square" if predicted else "circle",
                ).encode(y=where),
            ).properties(width=_WIDTH, height=220, title=_panel_title(panel), name=f"panel_{place}")
        )
    note = "above the dotted line: more progress than the reference role of the same length"
    return _grid(charts).properties(title=_title(title, note, _nested(series)))


def prediction_error(values: Values, groups: Sequence[str], title: str) -> alt.TopLevelMixin:
    """Prediction error of each role, one line per probe and form.

    Args:
        values: rows with group, error (percent of the measured cycles).
        groups: the lines in order.
        title: names both sources.
    """
    axis = alt.Axis(title=None, grid=True, ticks=False, domain=False)
    errors = [value["error"] for value in values]
    scale = alt.Scale(domain=[min([*errors, -1]), max([*errors, 1])], nice=True)
    zero = (
        alt.Chart(_data([{"at": 0}]))
        .mark_rule(color=GREY, strokeDash=[4, 3], strokeWidth=1.5)
        .encode(x=alt.X("at:Q", scale=scale))
    )
    ticks = (
        alt.Chart(_data(values))
        .mark_tick(thickness=2, size=18, opacity=0.55, color=PALETTE[0])
        .encode(
            x=alt.X(
                "error:Q",
                scale=scale,
                title="predicted against measured cycles per iteration (%)",
            ),
            y=alt.Y("group:N", sort=list(groups), axis=axis, scale=alt.Scale(domain=list(groups))),
        )
    )
    return (
        alt.layer(zero, ticks)
        .properties(width=_WIDTH + 60, height=_ROW_HEIGHT * len(groups))
        .properties(title=_title(title, "one tick per role; right of zero: predicted too slow"))
    )
