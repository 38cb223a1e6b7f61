"""The tables of figures: progress, cycles over length, published figures, orderings."""

from collections import defaultdict
from collections.abc import Sequence

from probelab.report import naming
from probelab.report.causes import costs
from probelab.report.data import Form, ProbeData, Row, Sweep
from probelab.report.markdown import code, first_line, table
from probelab.report.naming import is_predicted, source_label
from probelab.report.published import PublishedFigure
from probelab.report.standing import short_label
from probelab.report.wording import quoted

#: In a column of predictions: there is none; why stands below the table.
NONE = "–"
#: A warp spread (cycles per iteration) below this would print as zero.
_SPREAD = 0.01


def predicted_cell(row: Row) -> str:
    """The prediction beside a measurement; a dash if there is none."""
    return naming.cycles(row["predicted_cycles_per_iteration"]) or NONE


def alone_cell(row: Row) -> str:
    """What the warp would take alone, where that is all that is predicted."""
    if row["predicted_cycles_per_iteration"] is not None:
        return ""
    return naming.cycles(row["predicted_alone_cycles_per_iteration"])


def accepted_cell(row: Row) -> str:
    """How many repeats count: `10`, or `7 of 10`."""
    if is_predicted(row):
        return ""
    accepted, repeats = row["accepted_repeats"], row["repeats"]
    return str(repeats) if accepted == repeats else f"{accepted} of {repeats}"


def _interval(row: Row, data: ProbeData) -> str:
    """The interval of a row's ratio; empty if it has none or its ends print as the ratio does."""
    low, high = row["progress_ratio_ci_low"], row["progress_ratio_ci_high"]
    if low is None or high is None:
        return ""
    form = data.probe.ratio
    if {naming.ratio(value, form) for value in (low, high)} == {
        naming.ratio(row["progress_ratio"], form)
    }:
        return ""
    return naming.ratio_interval(low, high, form)


def _ratio_cell(row: Row, data: ProbeData) -> str:
    value = naming.ratio(row["progress_ratio"], data.probe.ratio)
    return f"{value} {_interval(row, data)}".strip()


def _reference_cell(row: Row, data: ProbeData) -> str:
    if row["reference_role"]:
        return code(row["reference_role"])
    referred = {role.reference for role in data.probe.roles}
    return "reference" if row["role"] in referred else ""


def _std(value: float | None) -> str:
    return "" if value is None else f"± {value:,.1f}"


def _warp_spread(row: Row) -> str:
    value = row["warp_spread_cycles_per_iteration"]
    return "" if is_predicted(row) or value is None or value < _SPREAD else naming.cycles(value)


def progress_table(data: ProbeData, rows: Sequence[Row]) -> str:
    """A row per role: progress, spread, repeats, cycles, ratio, prediction, error, remark.

    Args:
        data: the probe.
        rows: roles with figures, all of one form.
    """
    sources = {source_label(row) for row in rows}
    sets = {data.set_of(row["variant"]) for row in rows}
    cells = []
    for row in sorted(rows, key=lambda row: data.set_of(row["variant"])):
        broken = row["shape_status"] == "broken"
        cells.append(
            [
                str(data.set_of(row["variant"])) if len(sets) > 1 else "",
                code(row["role"]),
                source_label(row) if len(sources) > 1 else "",
                naming.progress(row["progress_mean"]),
                _std(row["progress_std"]),
                accepted_cell(row),
                naming.cycles(row["cycles_per_iteration_mean"]),
                _warp_spread(row),
                _ratio_cell(row, data) or (row["progress_ratio_reason"] if not broken else ""),
                _reference_cell(row, data),
                "" if is_predicted(row) else predicted_cell(row),
                "" if is_predicted(row) else alone_cell(row),
                naming.percent(row["prediction_error_percent"]),
                quoted(first_line(row["reason"])) if broken else "",
            ]
        )
    intervals = any(_interval(row, data) for row in rows)
    header = [
        "set",
        "role",
        "source",
        "mean progress",
        "std",
        "repeats",
        "cycles per iteration",
        "warp spread",
        "against reference" + (" [95 % interval]" if intervals else ""),
        "reference",
        "predicted",
        "alone (predicted)",
        "error",
        "remark",
    ]
    return table(header, cells, right=(0, 3, 4, 5, 6, 7, 8, 10, 11, 12))


def length_table(data: ProbeData, sweep: Sweep, rows: Sequence[Row]) -> str:
    """A row per chain length: cycles of each series, their predictions, ratios to the reference.

    Args:
        data: the probe.
        sweep: its roles over length.
        rows: roles with figures, all of one isolated form.
    """
    by_place = {sweep.place[row["role"]]: row for row in rows}
    measured = not is_predicted(rows[0])
    # Where nothing is predicted a column of dashes would say so twenty times; the line below does.
    some = measured and any(row["predicted_cycles_per_iteration"] is not None for row in rows)
    header = ["length"]
    header += [f"{name}: cycles" for name in sweep.series]
    header += [f"{name}: predicted" for name in sweep.series]
    header += [f"{name}: alone (predicted)" for name in sweep.series]
    header += [f"{name}: error" for name in sweep.series]
    header += [f"{name}: against reference" for name in sweep.series]
    cells = []
    for length in sweep.lengths:
        own = [by_place.get((name, length)) for name in sweep.series]
        line = [str(length)]
        line += [naming.cycles(row["cycles_per_iteration_mean"]) if row else "" for row in own]
        line += [predicted_cell(row) if row and some else "" for row in own]
        line += [alone_cell(row) if row and measured else "" for row in own]
        line += [naming.percent(row["prediction_error_percent"], 1) if row else "" for row in own]
        line += [
            naming.ratio(row["progress_ratio"], data.probe.ratio) if row else "" for row in own
        ]
        cells.append(line)
    return table(header, cells, right=range(len(header)))


def alone_table(data: ProbeData, arch: str) -> str:
    """The figures of single warps that no other table has; empty if there are none.

    That is: of roles that aren't broken down by cause and that no form of them is predicted for.
    """
    shown = {cost.role for cost in costs(data, arch)}
    forms = [form for form in data.forms if form.arch == arch]
    rows = [row for form in forms for row in data.of_form(form)]
    shown |= {row["role"] for row in rows if row["predicted_cycles_per_iteration"] is not None}
    alone: dict[str, dict[Form, float]] = defaultdict(dict)
    for form in forms:
        for row in data.of_form(form):
            value = row["predicted_alone_cycles_per_iteration"]
            if row["role"] not in shown and row["progress_mean"] is None and value is not None:
                alone[row["role"]][form] = value
    own = [form for form in forms if any(form in values for values in alone.values())]
    cells = [
        [code(role), *(naming.cycles(alone[role].get(form)) for form in own)]
        for role in data.probe.role_names
        if role in alone
    ]
    header = ["role", *(f"{short_label(form, own)}: alone (predicted)" for form in own)]
    return table(header, cells, right=range(1, len(header)))


def _by_form(data: ProbeData) -> dict[str, dict[Form, dict[str, list[Row]]]]:
    """Rows with figures by source, form and role; a role in several sets has several rows."""
    found: dict[str, dict[Form, dict[str, list[Row]]]] = defaultdict(dict)
    for form in data.forms:
        for row in data.with_figures(form):
            own = found[source_label(row)].setdefault(form, defaultdict(list))
            own[row["role"]].append(row)
    return dict(found)


def published_tables(
    data: ProbeData, published: Sequence[PublishedFigure]
) -> list[tuple[str, str]]:
    """(source, published figures beside the lab's own in each form) for each source.

    Progress and ratio where the form is the notes' own, else only the ratio to the reference.
    """
    ratio = data.probe.ratio
    found = []
    for source, forms in (_by_form(data) or {"no figure of this lab": {}}).items():
        header = ["role", "published", "published, against reference"]
        columns: list[dict[str, str]] = []
        for form, own in forms.items():
            label = short_label(form, list(forms))
            if form.notes:
                header.append(f"{label}: progress")
                columns.append(
                    {
                        role: " / ".join(naming.progress(row["progress_mean"]) for row in rows)
                        for role, rows in own.items()
                    }
                )
            header.append(f"{label}: against reference")
            columns.append(
                {
                    role: " / ".join(naming.ratio(row["progress_ratio"], ratio) for row in rows)
                    for role, rows in own.items()
                }
            )
        cells = [
            [
                code(figure.role),
                naming.progress(figure.progress),
                "reference"
                if figure.reference == figure.role
                else naming.ratio(figure.ratio, ratio),
                *(column.get(figure.role, "") for column in columns),
            ]
            for figure in published
        ]
        found.append((source, table(header, cells, right=range(1, len(header)))))
    return found if published else []


def orderings(data: ProbeData, longest: int = 12) -> list[str]:
    """The ordering of roles in each form; chains of more than `longest` roles are left out."""
    return [
        f"{form.label}, {source_label(row)}: {code(chain)}"
        for form in data.forms
        for row, chain in data.orderings(form)
        if chain.count(" ") <= 2 * (longest - 1)
    ]
