"""Station *report*: Markdown and charts from the datasets, the same bytes for the same data."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jinja2

from probelab.analyse.statistics import EQUIVALENCE
from probelab.canonical import write_atomically
from probelab.config.models import Probe
from probelab.report import provenance, sass, tables, text
from probelab.report.data import ReportData, load
from probelab.report.figures import prediction_figure
from probelab.report.markdown import link
from probelab.report.naming import is_measured, listed
from probelab.report.published import read_published
from probelab.report.render import write_figures
from probelab.report.sections import Place, probe_section
from probelab.report.wording import checked
from probelab.schema.plan import Chunk, TimingSettings
from probelab.schema.tidy import Evidence

_TEMPLATES = Path(__file__).parent / "templates"


def _capitalize_first(text: str) -> str:
    return text[:1].upper() + text[1:]


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
        # Markdown, not HTML: the names that could carry markup are checked identifiers.
        autoescape=False,
    )
    environment.filters["capitalize_first"] = _capitalize_first
    return environment


def _anchor(title: str) -> str:
    """The anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def _tidied(text: str) -> str:
    """At most one empty line in a row, no spaces at line ends."""
    lines = "\n".join(line.rstrip() for line in text.splitlines())
    return re.sub(r"\n{3,}", "\n\n", lines).strip() + "\n"


def _overview(data: ReportData) -> list[str]:
    return [text.scale_sentence(data), text.shape_sentence(data), *text.prediction_sentences(data)]


def _source_note(data: ReportData) -> str:
    measured = [row for row in data.launches if is_measured(row)]
    recordings = sorted({row["recording"] for row in measured if row["recording"]})
    if not recordings:
        return ""
    return (
        f"Measured figures are taken from the recording {listed(recordings)}: a stored measurement "
        "of the very same kernels and launches."
    )


def report(
    results: Path,
    plan: Sequence[Chunk],
    evidence: Evidence,
    probes: Sequence[Probe],
    *,
    measurements: Path,
    summary: Path,
    comparisons: Path,
    published: Path,
    out: Path,
    charts: Path,
    settings: TimingSettings | None = None,
) -> None:
    """Write the report and its charts; equal input gives equal bytes.

    Args:
        results: the folder that the manifests' paths are relative to.
        plan: all chunks.
        evidence: the manifests of all chunks.
        probes: the probes' configuration, in the order of the report.
        measurements: `measurements.parquet`.
        summary: `summary.parquet`.
        comparisons: `comparisons.parquet`.
        published: the folder of published figures.
        out: the Markdown file.
        charts: the folder of the charts; what else lies in it is removed.
        settings: how launches are timed; without it, `repeat` is what the data has.

    Raises:
        DataError: if a dataset or a file of published figures is missing or damaged, or if the
            report would say what a rule on wording forbids.
    """
    data = load(
        plan,
        evidence,
        probes,
        measurements=measurements,
        summary=summary,
        comparisons=comparisons,
        settings=settings,
    )
    place = Place(out.parent, results, charts)
    sections: list[dict[str, Any]] = []
    figures = []
    for probe in data.probes:
        section, own = probe_section(probe, data, read_published(published, probe.probe), place)
        sections.append({**section, "anchor": _anchor(probe.probe.title)})
        figures += own
    overall = prediction_figure(data)
    figures += [overall] if overall else []
    rendered = (
        _environment()
        .get_template("report.md.j2")
        .render(
            sections=sections,
            measured=any(is_measured(row) for row in data.launches),
            overview=_overview(data),
            source_note=_source_note(data),
            equivalence=f"{EQUIVALENCE * 100:g} %",
            charts=Path(os.path.relpath(charts, out.parent)).as_posix(),
            prediction=text.prediction_sentences(data),
            prediction_figure=overall,
            assumptions=text.assumptions(data),
            sources=provenance.sources_table(data),
            facts=provenance.facts(data),
            remarks=provenance.remarks(data),
            datasets=listed(
                link(path.name, path, out.parent) for path in (measurements, summary, comparisons)
            ),
            failed_builds=provenance.failed_builds(data),
            broken=[line for probe in data.probes for line in sass.broken(probe, evidence)],
            rejected=tables.rejected_table(data.rows),
            missing=tables.missing_table(data.rows),
        )
    )
    document = checked(_tidied(rendered), probes)
    write_figures(figures, charts)
    write_atomically(out, document)
