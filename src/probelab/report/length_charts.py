"""Charts over chain length, one panel per source and form."""

from collections.abc import Sequence

import altair as alt

from probelab.analyse.statistics import EQUIVALENCE
from probelab.report import naming
from probelab.report.charts import WIDTH, Values, colours, heading, inline, panel_title
from probelab.report.naming import RatioForm
from probelab.report.render import GREY


def _grid(charts: Sequence[alt.LayerChart | alt.FacetChart], columns: int = 2) -> alt.TopLevelMixin:
    rows = [charts[start : start + columns] for start in range(0, len(charts), columns)]
    return alt.vconcat(*(alt.hconcat(*row) for row in rows))


def _series(series: Sequence[str]) -> alt.Color:
    return alt.Color(
        "series:N",
        sort=list(series),
        scale=alt.Scale(domain=list(series), range=colours(len(series))),
        legend=alt.Legend(title="roles", orient="bottom"),
    )


def _line_widths(series: Sequence[str]) -> dict[str, float]:
    """Later series are drawn thinner, so that equal ones don't hide each other."""
    return {name: 2.0 + 1.5 * (len(series) - 1 - place) for place, name in enumerate(series)}


def _nested(series: Sequence[str]) -> str:
    """How to read lines that coincide."""
    return "lines that coincide lie inside one another" if len(series) > 1 else ""


def _close(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return abs(one - other) <= EQUIVALENCE * max(abs(one), abs(other))


def merged(
    panels: Sequence[tuple[str, Values]], series: Sequence[str], value: str
) -> tuple[list[tuple[str, Values]], list[str]]:
    """Series that are equal in every panel, as one series that names them all.

    Args:
        panels: (title, rows with series, length, predicted and `value`).
        series: all series in order.
        value: the column that is drawn.
    """
    curves: dict[str, dict[tuple[int, int, bool], float]] = {name: {} for name in series}
    for place, (_, rows) in enumerate(panels):
        for row in rows:
            curves[row["series"]][place, row["length"], row["predicted"]] = row[value]
    groups: list[list[str]] = []
    for name in series:
        for group in groups:
            first, own = curves[group[0]], curves[name]
            if all(_close(first.get(key), own.get(key)) for key in first.keys() | own.keys()):
                group.append(name)
                break
        else:
            groups.append([name])
    names = {
        group[0]: f"{naming.listed(group)} (equal everywhere)" if len(group) > 1 else group[0]
        for group in groups
    }
    kept = [
        (title, [{**row, "series": names[row["series"]]} for row in rows if row["series"] in names])
        for title, rows in panels
    ]
    return kept, list(names.values())


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
    panels, series = merged(panels, series, "cycles")
    for place, (panel, values) in enumerate(panels):
        rows = [{**row, "kind": kinds[row["predicted"]]} for row in values]
        base = alt.Chart(inline(rows)).encode(
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
                # Dots on top, squares around them: neither hides the other.
                base.mark_point(filled=False, size=85, opacity=1, shape="square", strokeWidth=1)
                .encode(y=where)
                .transform_filter("datum.kind == 'predicted'"),
                base.mark_point(filled=True, size=26, opacity=1)
                .encode(y=where)
                .transform_filter("datum.kind == 'measured'"),
            ).properties(width=WIDTH, height=240, title=panel_title(panel), name=f"panel_{place}")
        )
    note = "filled circles and solid lines: measured; hollow squares and dashed lines: predicted"
    return _grid(charts).properties(title=heading(title, note, _nested(series)))


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
    panels, series = merged(panels, series, "ratio")
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
        base = alt.Chart(inline(rows)).encode(
            x=alt.X("length:Q", title="chain length (instructions)"), color=_series(series)
        )
        where = alt.Y("ratio:Q", title=f"progress, {axis_title}", scale=scale)
        predicted = all(row["predicted"] for row in rows)
        charts.append(
            alt.layer(
                alt.Chart(inline([{"at": neutral}]))
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
            ).properties(width=WIDTH, height=220, title=panel_title(panel), name=f"panel_{place}")
        )
    note = "above the dotted line: more progress than the reference role of the same length"
    return _grid(charts).properties(title=heading(title, note, _nested(series)))
