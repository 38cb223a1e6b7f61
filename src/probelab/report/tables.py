"""The tables of figures: progress, cycles over length, published figures, what is missing."""

from collections import defaultdict
from collections.abc import Sequence

from probelab.report import naming
from probelab.report.data import Form, ProbeData, Row, Sweep, row_sign
from probelab.report.markdown import code, first_line, table
from probelab.report.naming import NOT_PREDICTED, is_predicted, source_label
from probelab.report.published import PublishedFigure


def predicted_cell(row: Row) -> str:
    """The prediction beside a measurement: cycles, or that there is none and the alone figure."""
    if row["predicted_cycles_per_iteration"] is not None:
        return naming.cycles(row["predicted_cycles_per_iteration"])
    alone = row["predicted_alone_cycles_per_iteration"]
    if alone is None:
        return NOT_PREDICTED
    return f"{NOT_PREDICTED}; alone: {naming.cycles(alone)} cycles (predicted)"


def accepted_cell(row: Row) -> str:
    """How many repeats count: `10`, or `7 of 10`."""
    if is_predicted(row):
        return ""
    accepted, repeats = row["accepted_repeats"], row["repeats"]
    return str(repeats) if accepted == repeats else f"{accepted} of {repeats}"


def _ratio_cell(row: Row, data: ProbeData) -> str:
    value = naming.ratio(row["progress_ratio"], data.probe.ratio)
    interval = naming.ratio_interval(
        row["progress_ratio_ci_low"], row["progress_ratio_ci_high"], data.probe.ratio
    )
    return f"{value} {interval}".strip()


def _reference_cell(row: Row, data: ProbeData) -> str:
    if row["reference_role"]:
        return code(row["reference_role"])
    referred = {role.reference for role in data.probe.roles}
    return "reference" if row["role"] in referred else ""


def _spread(value: float | None, digits: int) -> str:
    return "" if value is None else f"± {value:,.{digits}f}"


def progress_table(data: ProbeData, rows: Sequence[Row]) -> str:
    """A row per role: progress, spread, repeats, cycles, ratio, prediction, error, remark.

    Args:
        data: the probe.
        rows: roles with figures, all of one form.
    """
    sources = {source_label(row) for row in rows}
    launches = list(dict.fromkeys(row["launch"] for row in rows))
    several = rows[0]["placement"] == "coresident" and len(launches) > 1
    cells = []
    for row in rows:
        broken = row["shape_status"] == "broken"
        cells.append(
            [
                str(launches.index(row["launch"]) + 1) if several else "",
                code(row["role"]),
                source_label(row) if len(sources) > 1 else "",
                naming.progress(row["progress_mean"]),
                _spread(row["progress_std"], 1),
                accepted_cell(row),
                naming.cycles(row["cycles_per_iteration_mean"]),
                "" if is_predicted(row) else naming.cycles(row["warp_spread_cycles_per_iteration"]),
                _ratio_cell(row, data) or (row["progress_ratio_reason"] if not broken else ""),
                _reference_cell(row, data),
                "" if is_predicted(row) else predicted_cell(row),
                naming.percent(row["prediction_error_percent"]),
                first_line(row["reason"]) if broken else "",
            ]
        )
    header = [
        "set",
        "role",
        "source",
        "mean progress",
        "std",
        "repeats",
        "cycles per iteration",
        "warp spread",
        "progress against reference" + ("" if is_predicted(rows[0]) else " [95 % interval]"),
        "reference",
        "predicted cycles",
        "prediction error",
        "remark",
    ]
    return table(header, cells, right=(0, 3, 4, 5, 6, 7, 8, 10, 11))


def length_table(data: ProbeData, sweep: Sweep, rows: Sequence[Row]) -> str:
    """A row per chain length: cycles of each series, their predictions, ratios to the reference.

    Args:
        data: the probe.
        sweep: its roles over length.
        rows: roles with figures, all of one isolated form.
    """
    by_place = {sweep.place[row["role"]]: row for row in rows}
    measured = not is_predicted(rows[0])
    header = ["length"]
    header += [f"{name}: cycles" for name in sweep.series]
    header += [f"{name}: predicted" if measured else "" for name in sweep.series]
    header += [f"{name}: error" if measured else "" for name in sweep.series]
    header += [f"{name}: progress against reference" for name in sweep.series]
    cells = []
    for length in sweep.lengths:
        own = [by_place.get((name, length)) for name in sweep.series]
        line = [str(length)]
        line += [naming.cycles(row["cycles_per_iteration_mean"]) if row else "" for row in own]
        line += [_short_prediction(row) if row and measured else "" for row in own]
        line += [naming.percent(row["prediction_error_percent"], 1) if row else "" for row in own]
        line += [
            naming.ratio(row["progress_ratio"], data.probe.ratio) if row else "" for row in own
        ]
        cells.append(line)
    return table(header, cells, right=range(len(header)))


def _short_prediction(row: Row) -> str:
    if row["predicted_cycles_per_iteration"] is not None:
        return naming.cycles(row["predicted_cycles_per_iteration"])
    alone = row["predicted_alone_cycles_per_iteration"]
    return "" if alone is None else f"alone: {naming.cycles(alone)}"


def alone_table(data: ProbeData, forms: Sequence[Form]) -> str:
    """The figures of single warps in forms that have no prediction; empty if there are none.

    One row per role, one column per form.
    """
    alone: dict[str, dict[Form, float]] = defaultdict(dict)
    for form in forms:
        for row in data.of_form(form):
            if row["predicted_alone_cycles_per_iteration"] is not None:
                alone[row["role"]][form] = row["predicted_alone_cycles_per_iteration"]
    cells = [
        [
            code(role),
            *(
                f"alone: {naming.cycles(alone[role][form])} cycles (predicted)"
                if form in alone[role]
                else ""
                for form in forms
            ),
        ]
        for role in data.probe.role_names
        if role in alone
    ]
    return table(["role", *(form.label for form in forms)], cells, right=range(1, len(forms) + 1))


def _by_source(rows: Sequence[Row], data: ProbeData) -> dict[str, dict[Form, dict[str, list[Row]]]]:
    """Rows by source, form and role; a role that is in several launches of a form has several."""
    found: dict[str, dict[Form, dict[str, list[Row]]]] = defaultdict(dict)
    wanted = {id(row) for row in rows}
    for form in data.forms:
        for row in data.of_form(form):
            if id(row) in wanted:
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
    by_source = _by_source([row for row in data.rows if row["progress_mean"] is not None], data)
    found = []
    for source, forms in (by_source or {"no figure of this lab": {}}).items():
        header = ["role", "published progress", "published, against reference"]
        columns: list[dict[str, str]] = []
        for form, own in forms.items():
            if form.notes:
                header.append(f"progress, {form.label}")
                columns.append(
                    {
                        role: " / ".join(naming.progress(row["progress_mean"]) for row in rows)
                        for role, rows in own.items()
                    }
                )
            header.append(f"against reference, {form.label}")
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


def standing_tables(data: ProbeData) -> list[tuple[str, str]]:
    """(source, each role's standing against its reference in every form) for each source.

    Only sources with several forms, and only roles that have a ratio in more forms than one
    placement gives: it is about what depends on the form.
    """
    by_source = _by_source([row for row in data.rows if row_sign(row)], data)
    found = []
    for source, forms in by_source.items():
        if len(forms) < 2:
            continue
        together = {
            role for form, own in forms.items() if form.placement == "coresident" for role in own
        }
        cells = []
        for role in data.probe.roles:
            rows = [own.get(role.name, []) for own in forms.values()]
            if not any(rows) or (data.sweep is not None and role.name not in together):
                continue
            signs = {row_sign(row) for several in rows for row in several}
            cells.append(
                [
                    code(role.name),
                    code(role.reference or ""),
                    *("; ".join(_standing(row, data) for row in several) for several in rows),
                    "**yes**" if {">", "<"} <= signs else "no",
                ]
            )
        header = ["role", "against", *(form.label for form in forms), "depends on the form?"]
        found.append((source, table(header, cells, right=range(2, 2 + len(forms)))))
    return [(source, text) for source, text in found if text]


def _standing(row: Row, data: ProbeData) -> str:
    word = {">": "ahead", "<": "behind", "≈": "level"}[row_sign(row)]
    return f"{word}, {naming.ratio(row['progress_ratio'], data.probe.ratio)}"


def orderings_table(data: ProbeData, longest: int = 12) -> str:
    """The ordering of roles in each form; chains of more than `longest` roles are left out."""
    cells = []
    for form in data.forms:
        for row, chain in data.orderings(form):
            if chain.count(" ") <= 2 * (longest - 1):
                cells.append([form.label, source_label(row), code(chain)])
    return table(["form", "source", "roles by progress"], cells)


def missing_rows(rows: Sequence[Row]) -> list[Row]:
    """The rows without a figure."""
    return [row for row in rows if row["progress_mean"] is None]


def missing_table(rows: Sequence[Row]) -> str:
    """Rows without figures by reason: how many launches, in which probes and forms."""
    grouped: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in missing_rows(rows):
        why = first_line(reason_of(row)).removeprefix(f"{row['status']}: ")
        grouped[row["status"], why].append(row)
    cells = []
    for (status, why), members in sorted(grouped.items()):
        launches = len({row["launch"] for row in members})
        cells.append([status, why, naming.count(launches, "launch", "launches"), _where(members)])
    return table(["what", "why", "how many", "where"], cells)


def _where(rows: Sequence[Row], limit: int = 4) -> str:
    """`probe (sm_86): isolated, 256 threads; …`, at most `limit` forms per probe."""
    forms: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    for row in rows:
        forms[row["probe"], row["arch"]][form_text(row)] = None
    parts = []
    for (probe, arch), names in sorted(forms.items()):
        shown = sorted(names)
        more = [f"{len(shown) - limit} more forms"] if len(shown) > limit else []
        parts.append(f"{probe} ({arch}): {'; '.join([*shown[:limit], *more])}")
    return " · ".join(parts)


def form_text(row: Row) -> str:
    """The form of a row without its architecture."""
    return Form(*(row[name] for name in Form._fields)).label


def reason_of(row: Row) -> str:
    """Why a row has no figure: for what isn't predicted, the prediction's own reason."""
    if row["status"] == NOT_PREDICTED and row["prediction_reason"]:
        return str(row["prediction_reason"])
    return str(row["reason"])


def rejected_table(rows: Sequence[Row]) -> str:
    """Launches of which some repeats don't count."""
    launches = {row["launch"]: row for row in rows if row["rejection_reasons"]}
    cells = [
        [
            row["probe"],
            row["arch"],
            form_text(row),
            code(row["role"]) if row["placement"] == "isolated" else "all roles",
            f"{row['accepted_repeats']} of {row['repeats']} accepted",
            "; ".join(row["rejection_reasons"]),
        ]
        for row in launches.values()
    ]
    return table(["probe", "arch", "form", "role", "repeats", "why the others don't count"], cells)
