"""A probe's section as the template wants it: texts and tables, no logic left."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from probelab.report import causes, claims, missing, provenance, rules, sass, standing, tables, text
from probelab.report.data import ProbeData, ReportData
from probelab.report.figures import probe_figures
from probelab.report.markdown import code, table
from probelab.report.naming import is_predicted, listed, source_label
from probelab.report.published import PublishedFigure
from probelab.report.render import Figure
from probelab.report.wording import quoted

#: A form with more roles than this is shown over chain length, if the probe is about length.
_LONG = 16


@dataclass(frozen=True)
class Place:
    """Where the report and what it links to lie."""

    base: Path  #: the report's folder
    results: Path
    charts: Path


def _progress_sections(data: ProbeData) -> list[dict[str, Any]]:
    """One entry per form with figures: title, table, remarks below it."""
    found = []
    for form in data.forms:
        rows = data.with_figures(form)
        if not rows:
            continue
        sources = list(dict.fromkeys(source_label(row) for row in rows))
        long = data.sweep is not None and form.placement == "isolated" and len(rows) > _LONG
        body = (
            tables.length_table(data, data.sweep, rows)
            if long and data.sweep is not None
            else tables.progress_table(data, rows)
        )
        found.append(
            {
                "title": f"{form.label}: {' / '.join(sources)}",
                "table": body,
                "reasons": [
                    quoted(reason)
                    for reason in text.reasons(row for row in rows if not is_predicted(row))
                ],
            }
        )
    return found


def _variants_table(data: ProbeData) -> str:
    cells = []
    for role in data.probe.roles:
        intent = role.intent
        shape = ""
        if intent is not None:
            split = " + ".join(str(length) for length in intent.chains)
            noun = "accumulator" if intent.accumulators == 1 else "accumulators"
            shape = f"{intent.count}× {intent.opcode}, {intent.accumulators} {noun}"
            shape += f" ({split})" if intent.accumulators > 1 else ""
            shape += ", sink reduction in each iteration" if intent.reduction != "none" else ""
        cells.append([code(role.name), shape or "not declared", code(role.reference or "")])
    return table(["role", "intended body of the timed loop", "reference role"], cells)


def _sass(data: ProbeData, report: ReportData, place: Place) -> dict[str, Any]:
    return {
        "verdict": sass.verdict_sentence(data, report.evidence),
        "problems": sass.problems(data, report.evidence),
        "archs": [
            {
                "arch": arch,
                "table": sass.evidence_table(
                    data, report.evidence, arch, place.base, place.results
                ),
                "coresident": sass.coresident_links(
                    data, report.evidence, arch, place.base, place.results
                ),
                "excerpts": sass.excerpts(data, report.evidence, arch),
            }
            for arch in sorted(data.archs)
        ],
    }


def _causes(data: ProbeData) -> list[tuple[str, str]]:
    """(architecture, table): all architectures, of a probe about length the first that has one."""
    tables_ = [(arch, causes.cause_table(data, arch)) for arch in data.archs]
    found = [(arch, text_) for arch, text_ in tables_ if text_]
    return found if data.sweep is None else found[:1]


def _published(data: ProbeData, published: Sequence[PublishedFigure]) -> dict[str, Any]:
    given = data.probe.published
    return {
        "title": quoted(given.title) if given else "",
        "source": quoted(given.source) if given else "",
        "tables": tables.published_tables(data, published),
        "notes": [
            f"{code(figure.role)}: {quoted(figure.note)}" for figure in published if figure.note
        ],
    }


def probe_section(
    data: ProbeData, report: ReportData, published: Sequence[PublishedFigure], place: Place
) -> tuple[dict[str, Any], list[Figure]]:
    """What the template says of a probe, and its charts."""
    figures = probe_figures(data, published)
    section = {
        "name": data.probe.name,
        "title": quoted(" ".join(data.probe.title.split())),
        "question": quoted(" ".join(data.probe.question.split())),
        "headline": text.headline(data, published, report.recorded),
        "settings": provenance.settings_table(data, report),
        "variants": _variants_table(data),
        "role_count": len(data.probe.roles),
        "long": len(data.probe.roles) > _LONG,
        "findings": text.findings(data),
        "causes": _causes(data),
        "orderings": tables.orderings(data),
        "standings": standing.standing_tables(data),
        "progress": _progress_sections(data),
        "without_figures": missing.without_figures(data),
        "alone": [
            (arch, table_) for arch in data.archs if (table_ := tables.alone_table(data, arch))
        ],
        "figures": figures,
        "sass": _sass(data, report, place),
        "published": _published(data, published),
        "claims": claims.claims_tables(data),
        "statements": claims.statements(data),
        "wording": rules.wording_rules(data),
        "archs": listed(sorted(data.archs)),
    }
    return section, figures
