"""Station *report*: Markdown and charts from the datasets, the same bytes for the same data."""

import logging
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2

from probelab.analyse.statistics import EQUIVALENCE
from probelab.canonical import write_atomically
from probelab.config.load import ChosenSweep
from probelab.config.models import Probe
from probelab.report import missing, provenance, sass, text
from probelab.report.data import ReportData, load
from probelab.report.figures import prediction_figure
from probelab.report.markdown import link
from probelab.report.naming import count, is_measured, listed
from probelab.report.published import read_published
from probelab.report.render import Figure, write_figures
from probelab.report.sections import Place, probe_section
from probelab.report.sweeps import sweep_section
from probelab.report.sweeps_data import read_sweeps
from probelab.report.wording import Violation, quoted, unmarked, violations
from probelab.schema.plan import Chunk, TimingSettings
from probelab.schema.tidy import Evidence

logger = logging.getLogger(__name__)

_TEMPLATES = Path(__file__).parent / "templates"
#: Where the probes' sections come to stand, and what the check of wordings found.
_SECTIONS, _VIOLATIONS = "\ue010", "\ue011"
#: Failed kernels' reasons and sentences against a rule that a summary tells.
_TOLD = 3


@dataclass(frozen=True)
class ReportSummary:
    """What somebody should know who doesn't open the report."""

    launches: int
    launches_without_figure: int
    failed_kernels: int
    first_reasons: list[str]  #: of failed kernels, the first line of each, at most three
    wording: list[str]  #: sentences that a rule on wording forbids; they stand in the report

    @property
    def line(self) -> str:
        """All of it in one line; empty if there is nothing to tell."""
        parts = []
        if self.failed_kernels:
            reasons = "; ".join(self.first_reasons)
            parts.append(f"{count(self.failed_kernels, 'kernel')} failed ({reasons})")
        if self.launches_without_figure:
            parts.append(
                f"{self.launches_without_figure} of {count(self.launches, 'launch', 'launches')} "
                "without a figure"
            )
        if self.wording:
            parts.append(f"{count(len(self.wording), 'sentence')} against a rule on wording")
        return "; ".join(parts)


def _capitalize_first(text: str) -> str:
    bare = unmarked(text)
    return text.replace(bare[:1], bare[:1].upper(), 1) if bare else text


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
    environment.filters["quoted"] = quoted
    return environment


def _anchor(title: str) -> str:
    """The anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", " ".join(title.lower().split())).replace(" ", "-")


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


def _checked(frame: str, bodies: Sequence[str], probes: Sequence[Probe]) -> list[Violation]:
    """What a rule forbids: a probe's in its own section, everyone's in what all probes share."""
    found = violations(frame, [rule for probe in probes for rule in probe.wording])
    for body, probe in zip(bodies, probes, strict=False):
        found += violations(body, probe.wording)
    return found


def _sweep_sections(
    results: Path, sweeps: Sequence[ChosenSweep], environment: jinja2.Environment, charts: str
) -> Iterator[tuple[dict[str, Any], str, list[Figure]]]:
    """Context, text and charts of each sweep."""
    if not sweeps:
        return
    found = read_sweeps(results, {one.sweep.name: len(one.points) for one in sweeps})
    template = environment.get_template("sweep.md.j2")
    for one in sweeps:
        context, figures = sweep_section(one.sweep, found[one.sweep.name])
        section = {**context, "anchor": _anchor(one.sweep.title)}
        yield section, template.render(section=section, charts=charts), figures


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
    sweeps: Sequence[ChosenSweep] = (),
) -> ReportSummary:
    """Write the report and its charts; equal input gives equal bytes.

    A sentence that a rule on wording forbids doesn't cost the report: it is named at the report's
    top and in the log.

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
        sweeps: the sweeps, in the order of the report; what the codegen station made of them
            lies below `results`.

    Returns:
        What somebody should know who doesn't open the report.

    Raises:
        DataError: if a dataset or a file of published figures is missing or damaged.
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
    environment = _environment()
    where = Path(os.path.relpath(charts, out.parent)).as_posix()
    sections: list[dict[str, Any]] = []
    figures = []
    for probe in data.probes:
        section, own = probe_section(probe, data, read_published(published, probe.probe), place)
        sections.append({**section, "anchor": _anchor(probe.probe.title)})
        figures += own
    template = environment.get_template("probe.md.j2")
    bodies = [template.render(section=section, charts=where) for section in sections]
    for section, body, own in _sweep_sections(results, sweeps, environment, where):
        sections.append(section)
        bodies.append(body)
        figures += own
    overall = prediction_figure(data)
    figures += [overall] if overall else []
    frame = environment.get_template("report.md.j2").render(
        sections=sections,
        bodies=_SECTIONS,
        violations=_VIOLATIONS,
        measured=not data.probes or any(is_measured(row) for row in data.launches),
        overview=_overview(data) if data.probes else [],
        source_note=_source_note(data),
        equivalence=f"{EQUIVALENCE * 100:g} %",
        charts=where,
        prediction=text.prediction_sentences(data),
        prediction_figure=overall,
        assumptions=text.assumptions(data),
        sources=provenance.sources_table(data),
        facts=provenance.facts(data),
        remarks=provenance.remarks(data),
        kernels=provenance.kernels_table(data),
        datasets=listed(
            link(path.name, path, out.parent) for path in (measurements, summary, comparisons)
        ),
        failed_builds=missing.failed_lines(data),
        broken=[line for probe in data.probes for line in sass.broken(probe, evidence)],
        rejected=missing.rejected_table(data.rows),
        missing=missing.missing_table(data),
    )
    found = _checked(frame, bodies, probes)
    warnings = "\n>\n".join(f"> **Wording:** {violation.line}." for violation in found)
    document = frame.replace(_SECTIONS, "\n\n".join(bodies)).replace(_VIOLATIONS, warnings)
    write_figures(figures, charts)
    write_atomically(out, unmarked(_tidied(document)))
    for violation in found:
        logger.warning("report: %s", unmarked(violation.line))
    return _summary(data, found)


def _summary(data: ReportData, found: Sequence[Violation]) -> ReportSummary:
    failed = missing.failed_builds(data)
    return ReportSummary(
        launches=len(data.launches),
        launches_without_figure=sum(1 for row in data.launches if row["progress_mean"] is None),
        failed_kernels=sum(len(variants) for variants in failed.values()),
        first_reasons=list(failed)[:_TOLD],
        wording=[unmarked(violation.line) for violation in found],
    )
