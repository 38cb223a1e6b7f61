"""Whether a role is ahead of its reference or behind it, in each kernel form."""

from collections import defaultdict
from collections.abc import Sequence

from probelab.report import naming
from probelab.report.data import Form, ProbeData, Row, row_sign
from probelab.report.markdown import code, table
from probelab.report.naming import count, is_measured, listed, source_label

Standings = dict[str, list[tuple[Form, Row]]]

_WORDS = {">": "ahead", "≈": "level", "<": "behind"}
#: Reference roles whose standings are told at the report's beginning.
_REFERENCES = 3
#: So few roles set against one reference are told one by one.
_FEW = 2


def standings(data: ProbeData) -> dict[str, Standings]:
    """Source → role → its forms and rows, for roles whose forms can be compared.

    If the probe was run in both placements these are the roles that have a ratio in both, else
    those that have one in several forms, unless the probe is about length: its lengths tell.
    """
    found: dict[str, Standings] = defaultdict(lambda: defaultdict(list))
    for form in data.forms:
        for row in data.of_form(form):
            if row_sign(row):
                found[source_label(row)][row["role"]].append((form, row))
    return {
        source: comparable
        for source, roles in found.items()
        if (comparable := _comparable(data, roles))
    }


def _comparable(data: ProbeData, roles: Standings) -> Standings:
    def placements(role: str) -> set[str]:
        return {form.placement for form, _ in roles[role]}

    names = [name for name in data.probe.role_names if name in roles]
    if both := [name for name in names if len(placements(name)) > 1]:
        return {name: roles[name] for name in both}
    if data.sweep is not None:
        return {}
    return {name: roles[name] for name in names if len({form for form, _ in roles[name]}) > 1}


def _depends(rows: Sequence[tuple[Form, Row]]) -> bool:
    """Whether the forms don't all say the same of ahead, level and behind."""
    return len({row_sign(row) for _, row in rows}) > 1


def flip_summary(data: ProbeData) -> list[str]:
    """How many roles' standing depends on the form, and the widest swing, for each source."""
    found = []
    ratio = data.probe.ratio
    for source, roles in standings(data).items():
        own = {role: rows for role, rows in roles.items() if _depends(rows)}
        if not own:
            continue
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
        both = {form.placement for rows in roles.values() for form, _ in rows}
        run = "isolated and coresident" if len(both) > 1 else "in several forms"
        found.append(
            f"{source[:1].upper()}{source[1:]}: for {len(own)} of the {count(len(roles), 'role')} "
            f"that {'was' if len(roles) == 1 else 'were'} run {run}, being ahead of, level with or "
            "behind the reference role depends on the kernel form. The widest swing: "
            f"{code(widest)} against {code(low['reference_role'])}, from "
            f"{naming.ratio(low['progress_ratio'], ratio)} ({low_form.label}) to "
            f"{naming.ratio(high['progress_ratio'], ratio)} ({high_form.label}). So placement, "
            "dispatch and warps per sub-core belong to any conclusion."
        )
    return found


def standing_tables(data: ProbeData) -> list[tuple[str, str]]:
    """(source, each role's standing against its reference in every form) for each source."""
    found = []
    references = {role.name: role.reference or "" for role in data.probe.roles}
    for source, roles in standings(data).items():
        forms = [form for form in data.forms if any(
            form == own for rows in roles.values() for own, _ in rows
        )]  # fmt: skip
        cells = [
            [
                code(role),
                code(references[role]),
                *(
                    "; ".join(_standing(row, data) for own, row in rows if own == form)
                    for form in forms
                ),
                "**yes**" if _depends(rows) else "no",
            ]
            for role, rows in roles.items()
        ]
        header = ["role", "against", *(short_label(form, forms) for form in forms)]
        header.append("depends on the form?")
        found.append((source, table(header, cells, right=range(2, 2 + len(forms)))))
    return found


def _standing(row: Row, data: ProbeData) -> str:
    return f"{_WORDS[row_sign(row)]}, {naming.ratio(row['progress_ratio'], data.probe.ratio)}"


def short_label(form: Form, forms: Sequence[Form]) -> str:
    """A form's name among `forms`: `in_loop`, `isolated (128 threads)`; in full if it must be."""

    def way(one: Form) -> str:
        return one.placement if one.dispatch == "none" else one.dispatch

    alike = [one for one in forms if way(one) == way(form) and one.arch == form.arch]
    if len({one.threads_per_block for one in alike}) < len(alike):
        return form.label
    return way(form) if len(alike) == 1 else f"{way(form)} ({form.threads_per_block} threads)"


def measured_first(sources: Sequence[str], data: ProbeData) -> list[str]:
    """The sources that were measured; all of them if none was."""
    measured = {source_label(row) for row in data.rows if is_measured(row)}
    return [source for source in sources if source in measured] or list(sources)


def answers(data: ProbeData) -> list[str]:
    """How the roles stand against each reference role, form by form: what the probe asks."""
    by_source: dict[str, dict[str, list[tuple[Form, Row]]]] = defaultdict(lambda: defaultdict(list))
    for form in data.forms:
        for row in data.of_form(form):
            if row_sign(row):
                by_source[source_label(row)][row["reference_role"]].append((form, row))
    found = []
    for source in measured_first(list(by_source), data):
        references = by_source[source]
        for reference, pairs in list(references.items())[:_REFERENCES]:
            roles = list(dict.fromkeys(row["role"] for _, row in pairs))
            if len(roles) > _FEW:
                found.append(_counts(data, reference, pairs, source))
            else:
                found += [
                    _ratios(
                        data, [(form, row) for form, row in pairs if row["role"] == role], source
                    )
                    for role in roles
                ]
        if len(references) > _REFERENCES:
            found.append(
                f"Against {len(references) - _REFERENCES} more reference roles ({source}): "
                "see the table of standings."
            )
    return found


def _ratios(data: ProbeData, pairs: Sequence[tuple[Form, Row]], source: str) -> str:
    """One role's ratio in every form."""
    forms = list(dict.fromkeys(form for form, _ in pairs))
    parts = []
    for form in forms:
        ratios = [
            naming.ratio(row["progress_ratio"], data.probe.ratio)
            for own, row in pairs
            if own == form
        ]
        parts.append(f"{short_label(form, forms)} {' / '.join(ratios)}")
    signs = {row_sign(row) for _, row in pairs}
    word = "differs by form" if len(signs) > 1 else f"{_WORDS[signs.pop()]} in every form"
    row = pairs[0][1]
    what = word if len(forms) > 1 else word.removesuffix(" in every form")
    return (
        f"{code(row['role'])} against {code(row['reference_role'])}: {what}, "
        f"{', '.join(parts)} ({source})."
    )


def _counts(data: ProbeData, reference: str, pairs: Sequence[tuple[Form, Row]], source: str) -> str:
    """How many of a reference's roles are ahead and behind in every form."""
    forms = list(dict.fromkeys(form for form, _ in pairs))
    roles = {row["role"] for _, row in pairs}
    parts = [
        f"{short_label(form, forms)}, {_counted(data, [row for own, row in pairs if own == form])}"
        for form in forms
    ]
    return f"{len(roles)} roles against {code(reference)}: {'; '.join(parts)} ({source})."


def _counted(data: ProbeData, rows: Sequence[Row]) -> str:
    """`4 ahead (+12.70 % to +14.81 %), 1 behind (`x`, -1.56 %)`."""
    parts = []
    for sign, word in _WORDS.items():
        own = sorted(
            (row for row in rows if row_sign(row) == sign), key=lambda row: row["progress_ratio"]
        )
        if not own:
            continue
        ends = [naming.ratio(row["progress_ratio"], data.probe.ratio) for row in (own[0], own[-1])]
        sizes = " to ".join(dict.fromkeys(ends))
        name = f"{code(own[0]['role'])}, " if len(own) == 1 else ""
        parts.append(f"{len(own)} {word} ({name}{sizes})")
    return listed(parts)
