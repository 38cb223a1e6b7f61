"""Which charts a sweep has, and the rows that go into each."""

from collections.abc import Sequence
from typing import Any

from probelab.codegen.points import Shape
from probelab.codegen.tables import COST_MODEL, NAIVE_MODEL
from probelab.config.sweeps import Sweep
from probelab.report import sweeps_charts
from probelab.report.render import Figure
from probelab.report.sweeps_data import Part, Row, SweepData, shape_of

Values = list[dict[str, Any]]

_MOST_PANELS = 8
_LINES = 6
_KNEE = 1.01


def _lengths(rows: Sequence[Row]) -> dict[int, list[Row]]:
    """Length → rows by accumulators, with the tail that the rule is about."""
    found: dict[int, list[Row]] = {}
    for row in sorted(rows, key=lambda row: (row["length"], row["accumulators"])):
        if row["tail"] == "last":
            found.setdefault(row["length"], []).append(row)
    return found


def _panels(data: SweepData) -> list[tuple[Part, Shape, dict[int, list[Row]]]]:
    """Parts and shapes that offer a choice; of more than fit, those of the first shapes."""
    found = []
    for shape in data.shapes(data.points):
        for part in data.shown:
            own = [row for row in data.of(data.points, part) if shape_of(row) == shape]
            lengths = _lengths(own)
            if any(len(rows) > 1 for rows in lengths.values()):
                found.append((part, shape, lengths))
    return found[:_MOST_PANELS]


def _taken(data: SweepData, part: Part, shape: Shape) -> dict[int, int]:
    return {
        row["length"]: row["accumulators"]
        for row in data.of(data.regrets, part)
        if row["way"] == "rule" and shape_of(row) == shape
    }


def _heat_map(data: SweepData, sweep: Sweep) -> Figure | None:
    panels: list[tuple[str, Values]] = []
    for part, shape, lengths in _panels(data):
        taken = _taken(data, part, shape)
        panels.append(
            (
                f"{shape}: {data.label(part)}",
                [
                    {
                        "length": length,
                        "accumulators": row["accumulators"],
                        "cycles": row["cycles_per_iteration"] / (length * shape.unroll),
                        "best": taken.get(length) == row["accumulators"],
                    }
                    for length, rows in lengths.items()
                    for row in rows
                ],
            )
        )
    title = f"{sweep.title}: cycles per operation by chain length and accumulators"
    return _figure(sweep, "heat_map", title, panels and sweeps_charts.heat_map(panels, title))


def _shown_lengths(panels: Sequence[tuple[Part, Shape, dict[int, list[Row]]]]) -> list[int]:
    """A few lengths that lie evenly on a scale of doublings."""
    known = sorted(
        {length for _, _, lengths in panels for length, own in lengths.items() if len(own) > 1}
    )
    wanted = [4, 7, 8, 16, 29, 32, 64, 128]
    chosen = [length for length in wanted if length in known]
    return sorted(chosen[:_LINES] or known[-_LINES:])


def _knee(data: SweepData, sweep: Sweep) -> Figure | None:
    own = _panels(data)
    shown = _shown_lengths(own)
    panels: list[tuple[str, Values]] = []
    for part, shape, lengths in own:
        values: Values = []
        for length in shown:
            rows = lengths.get(length, [])
            best = min((row["cycles_per_iteration"] for row in rows), default=0.0)
            near = [row for row in rows if row["cycles_per_iteration"] <= best * _KNEE]
            values += [
                {
                    "length": length,
                    "accumulators": row["accumulators"],
                    "cycles": row["cycles_per_iteration"],
                    "low": row["cycles_per_iteration_ci_low"],
                    "high": row["cycles_per_iteration_ci_high"],
                    "knee": row is near[0],
                }
                for row in rows
            ]
        if values:
            panels.append((f"{shape}: {data.label(part)}", values))
    title = f"{sweep.title}: where further accumulators stop to gain"
    return _figure(sweep, "knee", title, panels and sweeps_charts.knee(panels, shown, title))


def _regret(data: SweepData, sweep: Sweep) -> Figure | None:
    ways = list(dict.fromkeys(row["way"] for row in data.regrets))
    panels: list[tuple[str, Values]] = []
    for part in data.shown:
        own = data.of(data.regrets, part)
        values: Values = []
        for way in ways:
            lost = [row["lost_percent"] for row in own if row["way"] == way]
            if lost:
                values.append({"way": way, "mean": sum(lost) / len(lost), "worst": max(lost)})
        if values:
            panels.append((data.label(part), values))
    title = f"{sweep.title}: what each way to choose loses"
    return _figure(sweep, "regret", title, panels and sweeps_charts.regret(panels, ways, title))


def _model(data: SweepData, sweep: Sweep) -> Figure | None:
    models = {COST_MODEL: "cost_model_cycles", NAIVE_MODEL: "number_of_ops_cycles"}
    panels: list[tuple[str, Values]] = []
    for part in data.shown:
        values: Values = [
            {
                "model": model,
                "cycles": row["cycles_per_iteration"],
                "error": (row[column] / row["cycles_per_iteration"] - 1) * 100,
            }
            for model, column in models.items()
            for row in data.of(data.points, part)
            if row[column] is not None
        ]
        if values:
            panels.append((data.label(part), values))
    title = f"{sweep.title}: cost model and number_of_ops against the cycles"
    chart = panels and sweeps_charts.model_errors(panels, list(models), title)
    return _figure(sweep, "cost_model", title, chart)


def _figure(sweep: Sweep, name: str, title: str, chart: Any) -> Figure | None:
    return Figure(f"{sweep.name}_{name}", title, chart) if chart else None


def sweep_figures(data: SweepData, sweep: Sweep) -> list[Figure]:
    """The charts of a sweep; those without rows are left out."""
    made = [draw(data, sweep) for draw in (_heat_map, _knee, _regret, _model)]
    return [figure for figure in made if figure is not None]
