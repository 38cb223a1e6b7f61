"""What has no figure, or fewer repeats than were run, and why."""

from collections import defaultdict
from collections.abc import Sequence

from probelab.report import naming
from probelab.report.data import ProbeData, ReportData, Row, form_of
from probelab.report.markdown import code, first_line, table
from probelab.report.naming import NOT_PREDICTED, listed
from probelab.report.wording import quoted

_NO_RECORDING = "no recording of this kernel and launch"


def reason_of(row: Row, recorded: frozenset[str] = frozenset()) -> str:
    """Why a row has no figure, for each backend that was asked.

    Args:
        row: of the summary.
        recorded: architectures of which this run took recorded launches.
    """
    reason = str(row["reason"])
    if row["arch"] in recorded and f"{_NO_RECORDING} (" not in reason:
        reason = reason.replace(
            _NO_RECORDING,
            f"{_NO_RECORDING} (its code or its settings differ from what was recorded)",
        )
    if row["status"] == NOT_PREDICTED and NOT_PREDICTED not in reason and row["prediction_reason"]:
        reason = "; ".join(part for part in (reason, row["prediction_reason"]) if part)
    return reason


def missing_rows(rows: Sequence[Row]) -> list[Row]:
    """The rows without a figure."""
    return [row for row in rows if row["progress_mean"] is None]


def missing_table(data: ReportData) -> str:
    """Rows without figures by reason: how many launches, in which probes and forms."""
    grouped: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in missing_rows(data.rows):
        why = first_line(reason_of(row, data.recorded)).removeprefix(f"{row['status']}: ")
        grouped[row["status"], why].append(row)
    cells = []
    for (status, why), members in sorted(grouped.items()):
        launches = len({row["launch"] for row in members})
        count = naming.count(launches, "launch", "launches")
        cells.append([status, quoted(why), count, _where(members)])
    return table(["what", "why", "how many", "where"], cells)


def _where(rows: Sequence[Row], limit: int = 4) -> str:
    """`probe (sm_86): isolated, 256 threads; …`, at most `limit` forms per probe."""
    forms: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    for row in rows:
        forms[row["probe"], row["arch"]][form_of(row).label] = None
    # Probes that miss the same forms share them.
    alike: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for (probe, arch), names in sorted(forms.items()):
        alike[tuple(sorted(names))].append(f"{probe} ({arch})")
    parts = []
    for shown, probes in alike.items():
        more = [f"{len(shown) - limit} more forms"] if len(shown) > limit else []
        parts.append(f"{listed(probes)}: {'; '.join([*shown[:limit], *more])}")
    return " · ".join(parts)


def without_figures(data: ProbeData) -> list[str]:
    """For each architecture the forms that have no figure at all."""
    found = []
    for arch in data.archs:
        forms = [form for form in data.forms if form.arch == arch and not data.with_figures(form)]
        if forms:
            found.append(f"{arch}: no figure for {'; '.join(form.label for form in forms)}.")
    return found


def unrecorded(data: ProbeData, recorded: frozenset[str]) -> list[str]:
    """Launches without a recording although this run took others of their architecture.

    Args:
        data: the probe.
        recorded: architectures of which this run took recorded launches.
    """
    found = []
    for arch in sorted(recorded):
        launches = {row["launch"]: row for row in data.rows if row["arch"] == arch}
        own = [
            row
            for row in launches.values()
            if row["backend"] == "model" or (not row["backend"] and _NO_RECORDING in row["reason"])
        ]
        if own:
            predicted = sum(1 for row in own if row["backend"] == "model")
            found.append(
                f"**{arch}: {naming.count(len(own), 'launch', 'launches')} of this probe "
                f"{'has' if len(own) == 1 else 'have'} no recording** (code or settings changed "
                f"since): {predicted} predicted instead, {len(own) - predicted} without a figure."
            )
    return found


def rejected_table(rows: Sequence[Row]) -> str:
    """Launches of which some repeats don't count."""
    launches = {row["launch"]: row for row in rows if row["rejection_reasons"]}
    cells = [
        [
            row["probe"],
            row["arch"],
            form_of(row).label,
            code(row["role"]) if row["placement"] == "isolated" else "all roles",
            f"{row['accepted_repeats']} of {row['repeats']} accepted",
            quoted("; ".join(row["rejection_reasons"])),
        ]
        for row in launches.values()
    ]
    return table(["probe", "arch", "form", "role", "repeats", "why the others don't count"], cells)


def failed_builds(report: ReportData) -> dict[str, list[str]]:
    """First error line → the variants whose build failed with it."""
    found: dict[str, list[str]] = defaultdict(list)
    for probe in report.probes:
        for variant in probe.variants:
            row = report.evidence.build.get(variant.id)
            if row is not None and row.status != "ok":
                found[first_line(row.reason) or "no reason given"].append(variant.id)
    return dict(sorted(found.items()))


def failed_lines(report: ReportData) -> list[str]:
    """Each failed build with its first error line."""
    return [
        f"{quoted(text)} ({listed([code(name) for name in names[:3]])}"
        f"{f' and {len(names) - 3} more' if len(names) > 3 else ''})"
        for text, names in failed_builds(report).items()
    ]
