"""A sweep's section as the template wants it: texts and tables, no logic left."""

from typing import Any

from probelab.codegen.regret import COST_MODEL, PREDICTION, RULE_LEFT_OUT
from probelab.config.sweeps import Sweep
from probelab.report import sweeps_tables as tables
from probelab.report.render import Figure
from probelab.report.sweeps_data import SweepData
from probelab.report.sweeps_figures import sweep_figures
from probelab.report.wording import quoted

#: The ways to choose that the section's head tells of.
_TOLD = (RULE_LEFT_OUT, COST_MODEL, PREDICTION, "always 1", "always 4")
_NOTES = ("notes, large from 9", "notes, large from 29")


def headline(data: SweepData) -> list[str]:
    """What the sweep shows in a few sentences: errors of the models, losses, verdicts."""
    found = []
    for part in data.shown:
        errors = {row["model"]: row["mean_error_percent"] for row in data.of(data.terms, part)}
        if errors:
            told = ", ".join(f"{model} {error:.2f} %" for model, error in errors.items())
            found.append(f"Mean error at chain lengths left out ({data.label(part)}): {told}.")
    losses = [text for way in (*_TOLD, *_NOTES) if (text := tables.lost_sentence(data, way))]
    if losses:
        found.append(f"Cycles lost against the best number that was run: {'; '.join(losses)}.")
    return [*found, *tables.overview(data)] if data.points else []


def sweep_section(sweep: Sweep, data: SweepData) -> tuple[dict[str, Any], list[Figure]]:
    """What the template `sweep.md.j2` says of a sweep, and its charts."""
    figures = sweep_figures(data, sweep)
    context = {
        "name": sweep.name,
        "title": quoted(" ".join(sweep.title.split())),
        "question": quoted(" ".join(sweep.question.split())),
        "planned": data.planned,
        "facts": data.facts,
        "headline": headline(data),
        "figures": figures,
        "models": tables.model_table(data),
        "terms": [(data.label(part), tables.term_table(data, part)) for part in data.parts],
        "worst": [(data.label(part), tables.worst_table(data, part)) for part in data.parts],
        "rules": tables.rule_table(data),
        "regrets": tables.regret_table(data),
        "verdicts": tables.verdict_table(data),
        "statements": tables.statements_table(data),
    }
    return context, figures
