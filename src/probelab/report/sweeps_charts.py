"""The charts of a sweep: over chain length and accumulators, of choices and of cost models."""

from collections.abc import Sequence

import altair as alt

from probelab.report.charts import WIDTH, Values, colours, heading, inline, panel_title
from probelab.report.render import GREY, PALETTE

#: Values that the legend of a heat map names.
_STEPS = [step * 10**power for power in range(4) for step in (1, 1.5, 2, 3, 5, 7)]

Panels = Sequence[tuple[str, Values]]


def _grid(charts: Sequence[alt.LayerChart | alt.FacetChart], columns: int = 2) -> alt.VConcatChart:
    rows = [charts[start : start + columns] for start in range(0, len(charts), columns)]
    return alt.vconcat(*(alt.hconcat(*row) for row in rows))


def _spread(panels: Panels, key: str) -> list[float]:
    known = [row[key] for _, values in panels for row in values]
    return [min(known), max(known)]


def heat_map(panels: Panels, title: str) -> alt.TopLevelMixin:
    """Cycles per operation by chain length and accumulators; dots: what the rule takes.

    Args:
        panels: (title that names the source, rows with length, accumulators, cycles: per
            operation, best: whether the rule takes it).
        title: of the whole chart.
    """
    low, high = _spread(panels, "cycles")
    steps = [step for step in _STEPS if low <= step <= high]
    colour = alt.Color(
        "cycles:Q",
        scale=alt.Scale(type="log", scheme="viridis", reverse=True, domain=[low, high]),
        # Not a gradient: the renderer numbers gradients, and equal charts would differ in bytes.
        legend=alt.Legend(
            title="cycles per operation",
            orient="bottom",
            type="symbol",
            symbolType="square",
            values=steps,
        ),
    )
    charts = []
    for place, (panel, values) in enumerate(panels):
        lengths = sorted({row["length"] for row in values}, reverse=True)
        numbers = sorted({row["accumulators"] for row in values})
        # Long axes name every other length, or every fourth.
        step = 1 + len(lengths) // 24
        shown = [length for at, length in enumerate(reversed(lengths)) if at % step == 0]
        base = alt.Chart(inline(values)).encode(
            x=alt.X(
                "accumulators:O",
                sort=numbers,
                axis=alt.Axis(title="accumulators", labelAngle=0, ticks=False, domain=False),
            ),
            y=alt.Y(
                "length:O",
                sort=lengths,
                axis=alt.Axis(
                    title="chain length (instructions)", values=shown, ticks=False, domain=False
                ),
            ),
        )
        charts.append(
            alt.layer(
                base.mark_rect().encode(color=colour),
                base.mark_point(filled=True, size=34, color="white", stroke="black", opacity=1)
                .transform_filter("datum.best")
                .encode(),
            ).properties(
                width=max(180, 26 * len(numbers)),
                height=max(140, 12 * len(lengths)),
                title=panel_title(panel),
                name=f"panel_{place}",
            )
        )
    note = "dot: fewest cycles at that length, of equal ones the fewest accumulators"
    return _grid(charts).properties(title=heading(title, note))


def knee(panels: Panels, lengths: Sequence[int], title: str) -> alt.TopLevelMixin:
    """Cycles per iteration over accumulators, a line per chain length, a panel per occupation.

    Args:
        panels: (title that names the source, rows with length, accumulators, cycles, low, high:
            None where there is no interval, knee: whether it is the fewest accumulators within 1 %
            of the best).
        lengths: the lines in order.
        title: of the whole chart.
    """
    names = [str(length) for length in lengths]
    colour = alt.Color(
        "line:N",
        sort=names,
        scale=alt.Scale(domain=names, range=colours(len(names))),
        legend=alt.Legend(title="chain length", orient="bottom"),
    )
    charts = []
    for place, (panel, values) in enumerate(panels):
        rows = [{**row, "line": str(row["length"])} for row in values]
        numbers = sorted({row["accumulators"] for row in rows})
        base = alt.Chart(inline(rows)).encode(
            x=alt.X(
                "accumulators:Q", axis=alt.Axis(title="accumulators", values=numbers, format="d")
            ),
            color=colour,
        )
        where = alt.Y("cycles:Q", title="cycles per iteration", scale=alt.Scale(zero=False))
        charts.append(
            alt.layer(
                base.mark_rule(strokeWidth=2)
                .encode(y=alt.Y("low:Q"), y2="high:Q")
                .transform_filter("isValid(datum.low)"),
                base.mark_line(strokeWidth=2).encode(y=where),
                base.mark_point(filled=True, size=24, opacity=1).encode(y=where),
                base.mark_point(filled=False, size=130, opacity=1, strokeWidth=2)
                .encode(y=where)
                .transform_filter("datum.knee"),
            ).properties(width=WIDTH, height=240, title=panel_title(panel), name=f"panel_{place}")
        )
    note = "ring: fewest accumulators within 1 % of the best of that length"
    return _grid(charts).properties(title=heading(title, note))


def regret(panels: Panels, ways: Sequence[str], title: str) -> alt.TopLevelMixin:
    """What each way to choose the number of accumulators loses, a panel per occupation.

    Args:
        panels: (title that names the source, rows with way, mean, worst: percent lost).
        ways: the lines in order.
        title: of the whole chart.
    """
    top = max(_spread(panels, "worst")[1], 1.0)
    # Losses run from a fraction of a percent to some hundred.
    scale = alt.Scale(type="symlog", constant=1, domain=[0, top * 1.1], nice=False)
    ticks = [tick for tick in (0, 1, 2, 5, 10, 20, 50, 100, 200, 500) if tick <= top * 1.1]
    charts = []
    for place, (panel, values) in enumerate(panels):
        own = {row["way"] for row in values}
        lines = [way for way in ways if way in own]
        rows = [{**row, "label": f"{row['mean']:.2f}"} for row in values]
        base = alt.Chart(inline(rows)).encode(
            y=alt.Y(
                "way:N",
                sort=lines,
                scale=alt.Scale(domain=lines),
                axis=alt.Axis(title=None, grid=True, ticks=False, domain=False, offset=8),
            )
        )
        axis = alt.Axis(title="cycles lost against the best point (%)", values=ticks)
        where = alt.X("mean:Q", scale=scale, axis=axis)
        worst = alt.X("worst:Q", scale=scale)
        charts.append(
            alt.layer(
                base.mark_rule(strokeWidth=1.5, color=GREY).encode(x=where, x2="worst:Q"),
                base.mark_point(filled=False, size=70, opacity=1, color=PALETTE[1]).encode(x=worst),
                base.mark_point(filled=True, size=80, opacity=1, color=PALETTE[0]).encode(x=where),
                base.mark_text(align="left", fontSize=11).encode(
                    x=alt.value(WIDTH + 8), text="label:N"
                ),
            ).properties(
                width=WIDTH, height=20 * len(lines), title=panel_title(panel), name=f"panel_{place}"
            )
        )
    note = "filled, and figures: mean over chain lengths and shapes; hollow: the worst of them"
    return alt.vconcat(*charts).properties(title=heading(title, note))


def model_errors(panels: Panels, models: Sequence[str], title: str) -> alt.TopLevelMixin:
    """How far each model is from the cycles, a panel per occupation.

    Args:
        panels: (title that names the source, rows with cycles, error: percent, model).
        models: both, in order.
        title: of the whole chart.
    """
    worst = max(abs(bound) for bound in _spread(panels, "error")) or 1.0
    scale = alt.Scale(type="symlog", constant=1, domain=[-worst, worst], nice=False)
    steps = [tick for tick in (2, 5, 10, 20, 50, 100, 200) if tick <= worst]
    axis = alt.Axis(
        title="model against the cycles (%)",
        labelOverlap=False,
        values=[-tick for tick in reversed(steps)] + [0, *steps],
    )
    names = list(models)
    colour = alt.Color(
        "model:N",
        sort=names,
        scale=alt.Scale(domain=names, range=[PALETTE[0], PALETTE[1]]),
        legend=alt.Legend(title="model", orient="bottom"),
    )
    shape = alt.Shape(
        "model:N",
        sort=names,
        scale=alt.Scale(domain=names, range=["circle", "triangle-up"]),
        legend=alt.Legend(title="model", orient="bottom"),
    )
    charts = []
    for place, (panel, values) in enumerate(panels):
        zero = alt.Chart(inline([{"at": 0}])).mark_rule(
            color=GREY, strokeDash=[4, 3], strokeWidth=1.5
        )
        # The naive model first: what is drawn later lies on top.
        rows = sorted(values, key=lambda row: -names.index(row["model"]))
        points = alt.Chart(inline(rows)).mark_point(filled=True, size=22, opacity=0.7)
        charts.append(
            alt.layer(
                zero.encode(y=alt.Y("at:Q", scale=scale)),
                points.encode(
                    x=alt.X(
                        "cycles:Q",
                        scale=alt.Scale(type="log", nice=False),
                        axis=alt.Axis(title="cycles per iteration", tickCount=6),
                    ),
                    y=alt.Y("error:Q", scale=scale, axis=axis),
                    color=colour,
                    shape=shape,
                ),
            ).properties(width=WIDTH, height=240, title=panel_title(panel), name=f"panel_{place}")
        )
    note = (
        "each point estimated without any of its chain length; above zero: estimated too slow; "
        "the scale is linear to 1 %, logarithmic beyond"
    )
    return _grid(charts).properties(title=heading(title, note))
