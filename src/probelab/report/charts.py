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
WIDTH = 380


def inline(values: Values) -> alt.InlineData:
    """Rows inside a chart."""
    return alt.InlineData(values=values)


def heading(title: str, *lines: str) -> alt.TitleParams:
    """The title of a chart with lines below it; empty ones are left out."""
    return alt.TitleParams(title, subtitle=[line for line in lines if line])


def panel_title(text: str) -> alt.TitleParams:
    """The title of a panel."""
    return alt.TitleParams(text, fontSize=12, fontWeight="bold", frame="group", offset=8)


def _roles_axis(roles: Sequence[str], shown: bool = True) -> alt.Y:
    axis = alt.Axis(title=None, grid=True, ticks=False, domain=False, labels=shown)
    return alt.Y("role:N", sort=list(roles), axis=axis, scale=alt.Scale(domain=list(roles)))


def colours(number: int) -> list[str]:
    """So many colours, repeated if need be."""
    return [PALETTE[place % len(PALETTE)] for place in range(number)]


def _shapes(number: int) -> list[str]:
    """Symbols that with `_colours` tell up to 49 things apart."""
    return [SHAPES[(place + place // len(PALETTE)) % len(SHAPES)] for place in range(number)]


def progress_by_role(
    panels: Sequence[tuple[str, Values]], roles: Sequence[str], title: str, published: str = ""
) -> alt.TopLevelMixin:
    """Mean progress of each role, one panel per source.

    What was published elsewhere is no part of a panel's source, and the panel's title says so.

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
        base = alt.Chart(inline(labelled)).encode(y=_roles_axis(roles))
        axis = alt.Axis(title="mean progress (iterations)", tickCount=6)
        where = alt.X("progress:Q", scale=x, axis=axis)
        layers = [
            base.mark_rule(strokeWidth=2.5, color=PALETTE[0])
            .encode(x=alt.X("low:Q", scale=x), x2="high:Q")
            .transform_filter("isValid(datum.low)"),
            base.mark_point(filled=True, size=90, opacity=1, color=PALETTE[0]).encode(x=where),
            base.mark_text(align="left", fontSize=12).encode(
                x=alt.value(WIDTH + 10), text="label:N"
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
                    x=alt.value(WIDTH + 75), text="given:N"
                ),
            ]
        charts.append(
            alt.layer(*layers).properties(
                width=WIDTH,
                height=_ROW_HEIGHT * len(roles),
                title=panel_title(
                    f"{panel}; hollow diamonds: as published, not measured here"
                    if any(row["published"] is not None for row in values)
                    else panel
                ),
                name=f"panel_{place}",
            )
        )
    notes = (
        "filled: this run, with 95 % interval where measured; the axis does not begin at zero",
        f"hollow diamonds, grey figures: {published}" if published else "",
    )
    return alt.vconcat(*charts).properties(title=heading(title, *notes))


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
        scale=alt.Scale(domain=list(forms), range=colours(len(forms))),
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
        base = alt.Chart(inline(values)).encode(
            y=_roles_axis(roles),
            # Forms have lines of their own, so that equal ratios don't hide each other.
            yOffset=alt.YOffset("form:N", sort=lines, scale=alt.Scale(domain=lines)),
        )
        where = alt.X("ratio:Q", scale=x, title=axis_title)
        charts.append(
            alt.layer(
                alt.Chart(inline([{"at": neutral}]))
                .mark_rule(color=GREY, strokeDash=[4, 3], strokeWidth=1.5)
                .encode(x=alt.X("at:Q", scale=x)),
                base.mark_rule(strokeWidth=2.5)
                .encode(x=alt.X("low:Q", scale=x), x2="high:Q", color=colour)
                .transform_filter("isValid(datum.low)"),
                base.mark_point(filled=True, size=75, opacity=1).encode(
                    x=where, color=colour, shape=shape
                ),
            ).properties(
                width=WIDTH + 60,
                height=(14 + 8 * len(lines)) * len(roles),
                title=panel_title(panel),
                name=f"panel_{place}",
            )
        )
    right = "right of the dashed line: more progress than the reference role in the same form"
    stacked: alt.TopLevelMixin = alt.vconcat(
        *charts,
        title=heading(title, right, note),
        resolve=alt.Resolve(scale=alt.ScaleResolveMap(yOffset="independent")),
    )
    return stacked


def cycles_by_cause(
    panels: Sequence[tuple[str, Values]],
    roles: Sequence[str],
    causes: Sequence[tuple[str, int]],
    title: str,
    note: str,
) -> alt.TopLevelMixin:
    """Where the predicted cycles of a warp that runs alone go, one panel per way of selection.

    Args:
        panels: (how the role is selected, rows with role, cause, cycles, place: of the cause in
            the stack).
        roles: all roles in order.
        causes: all causes in order, each with its place among all that may occur: the same cause
            has the same colour in every chart.
        title: of the whole chart.
        note: a line below the title that names the source.
    """
    sums: dict[tuple[int, str], float] = {}
    for place, (_, values) in enumerate(panels):
        for row in values:
            key = (place, row["role"])
            sums[key] = sums.get(key, 0.0) + row["cycles"]
    # One scale and one width per cycle in all panels, so that their bars can be compared.
    top = max(sums.values()) * 1.08
    colour = alt.Color(
        "cause:N",
        sort=[cause for cause, _ in causes],
        scale=alt.Scale(
            domain=[cause for cause, _ in causes],
            range=[PALETTE[place % len(PALETTE)] for _, place in causes],
        ),
        legend=alt.Legend(title="cause", orient="bottom", columns=4),
    )
    x = alt.X(
        "cycles:Q",
        scale=alt.Scale(domain=[0, top], nice=False),
        axis=alt.Axis(title="cycles per iteration", tickCount=6),
    )
    charts = []
    for place, (panel, values) in enumerate(panels):
        totals = [
            {"role": role, "cycles": total, "label": naming.cycles(total)}
            for (own, role), total in sums.items()
            if own == place
        ]
        bars = alt.Chart(inline(values)).mark_bar(stroke="white", strokeWidth=0.8, size=15)
        numbers = alt.Chart(inline(totals)).mark_text(align="left", dx=5, fontSize=12)
        charts.append(
            alt.layer(
                bars.encode(x=x, y=_roles_axis(roles), color=colour, order=alt.Order("place:Q")),
                numbers.encode(x=x, y=_roles_axis(roles), text="label:N"),
            ).properties(
                width=WIDTH + 60,
                height=22 * len(roles),
                title=panel_title(panel),
                name=f"panel_{place}",
            )
        )
    return alt.vconcat(*charts).properties(title=heading(title, note))


def prediction_error(values: Values, groups: Sequence[str], title: str) -> alt.TopLevelMixin:
    """Prediction error, one line per probe and form; equal errors share a mark with their number.

    Args:
        values: rows with group, error (percent of the measured cycles), roles: how many have it.
        groups: the lines in order.
        title: names both sources.
    """
    axis = alt.Axis(title=None, grid=True, ticks=False, domain=False)
    errors = [value["error"] for value in values]
    scale = alt.Scale(domain=[min([*errors, -1]), max([*errors, 1])], nice=True)
    zero = (
        alt.Chart(inline([{"at": 0}]))
        .mark_rule(color=GREY, strokeDash=[4, 3], strokeWidth=1.5)
        .encode(x=alt.X("at:Q", scale=scale))
    )
    labelled = [
        {**value, "label": f"×{value['roles']}" if value["roles"] > 1 else ""} for value in values
    ]
    base = alt.Chart(inline(labelled)).encode(
        x=alt.X(
            "error:Q", scale=scale, title="predicted against measured cycles per iteration (%)"
        ),
        y=alt.Y("group:N", sort=list(groups), axis=axis, scale=alt.Scale(domain=list(groups))),
    )
    ticks = base.mark_tick(thickness=2, size=18, opacity=0.8, color=PALETTE[0])
    numbers = base.mark_text(align="left", dx=5, dy=-5, fontSize=11, color=PALETTE[0])
    note = "one tick per error, ×n: n roles have it; right of zero: predicted too slow"
    return (
        alt.layer(zero, ticks, numbers.encode(text="label:N"))
        .properties(width=WIDTH + 60, height=34 * len(groups))
        .properties(title=heading(title, note))
    )
