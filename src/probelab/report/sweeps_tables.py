"""The tables of a sweep's section."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from probelab.analyse.statistics import EQUIVALENCE
from probelab.codegen.export import Step
from probelab.codegen.points import Shape
from probelab.codegen.statements import STATEMENTS
from probelab.codegen.tables import COST_MODEL, NAIVE_MODEL
from probelab.codegen.verdicts import runs
from probelab.report.markdown import code, table
from probelab.report.naming import cycles
from probelab.report.sweeps_data import Part, Row, SweepData, part_of, shape_of

#: More shapes than this share a column in the tables of regrets and verdicts.
MOST_COLUMNS = 8
_WORST = 8
_SHORT = {"holds only in part": "in part", "can't be told": "–"}


def columns(data: SweepData, rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Rows by the column that they belong to: part and shape, or part where shapes are many."""
    shapes = [shape for shape in data.shapes(rows) if shape.op]
    many = len(shapes) * len(data.parts) > MOST_COLUMNS
    found: dict[str, list[Row]] = {}
    for part in data.parts:
        own = data.of(rows, part)
        head = f"{part.arch} {'' if part.rank == 0 else '(predicted) '}{part.occupation}"
        if many:
            found[f"{head}, {len(shapes)} shapes"] = own
            continue
        for shape in shapes:
            # What is said of several shapes stands in each one's column.
            found[f"{head}: {shape}"] = [row for row in own if shape_of(row) in (shape, _SEVERAL)]
    return {head: own for head, own in found.items() if own}


_SEVERAL = Shape("", "", "", 0)


def model_table(data: SweepData) -> str:
    """Errors of both models, a row per part."""
    cells = []
    for part in data.parts:
        terms = data.of(data.terms, part)
        for model in (COST_MODEL, NAIVE_MODEL):
            row = next((one for one in terms if one["model"] == model), None)
            if row is not None:
                errors = [
                    f"{row[f'{key}_error_percent']:.2f}" for key in ("mean", "median", "worst")
                ]
                size = [f"{row['points']:,}", f"{row['lengths']}"]
                occupation = f"{part.warps_per_sub_core:g}"
                cells.append([data.source(part), occupation, model, *size, *errors])
    header = ["source", "warps per sub-core", "model", "points", "lengths"]
    return table(
        [*header, "mean error (%)", "median (%)", "worst (%)"], cells, right=[1, 3, 4, 5, 6, 7]
    )


def term_table(data: SweepData, part: Part) -> str:
    """Size of each term of the cost model, with the error of the model without it."""
    cells = []
    last = ""
    for row in data.of(data.terms, part):
        if row["model"] != COST_MODEL:
            continue
        without = row["mean_error_without_term_percent"]
        cells.append(
            [
                code(row["term"]) if row["term"] != last else "",
                row["feature"],
                f"{row['cycles_per_unit']:.3f}",
                f"[{row['ci_low']:.3f}, {row['ci_high']:.3f}]",
                f"{row['mean_cycles']:.2f}",
                f"{row['largest_cycles']:.1f}",
                f"{without:.2f}" if without is not None and row["term"] != last else "",
            ]
        )
        last = row["term"]
    header = ["term", "feature", "cycles per unit", "95 % interval", "mean cycles", "largest"]
    return table([*header, "mean error without the term (%)"], cells, right=[2, 3, 4, 5, 6])


def worst_table(data: SweepData, part: Part) -> str:
    """The points that the cost model is furthest from, with what is particular about them."""
    rows = [row for row in data.of(data.points, part) if row["cost_model_cycles"] is not None]

    def error(row: Row) -> float:
        return float(row["cost_model_cycles"] / row["cycles_per_iteration"] - 1) * 100

    cells = [
        [
            code(row["role"]),
            cycles(row["cycles_per_iteration"]),
            cycles(row["cost_model_cycles"]),
            f"{error(row):+.1f}",
            row["doubts"] or "nothing that the features tell",
        ]
        for row in sorted(rows, key=lambda row: (-abs(error(row)), row["role"]))[:_WORST]
    ]
    header = ["role", "cycles per iteration", "cost model", "error (%)", "what is particular"]
    return table(header, cells, right=[1, 2, 3])


def steps(intervals: Sequence[Step]) -> str:
    """`1: 1; 2–6: 3; 7–64: 4`."""
    return "; ".join(
        f"{one.first}{'' if one.first == one.last else f'–{one.last}'}: {one.accumulators}"
        for one in intervals
    )


def rule_table(data: SweepData) -> str:
    """The rule for each shape and occupation."""
    cells = []
    for rule in data.rules:
        loss = rule.left_out
        shape = Shape(rule.op, rule.reduction, rule.operands, rule.unroll)
        cells.append(
            [
                f"{rule.arch}{'' if rule.provenance.source == 'measured' else ' (predicted)'}",
                f"{rule.warps_per_sub_core:g}",
                str(shape),
                steps(rule.intervals),
                steps(rule.simple),
                f"{loss.mean_percent:.2f} ({loss.worst_percent:.1f})" if loss else "",
            ]
        )
    header = ["architecture", "warps per sub-core", "shape", "length: accumulators", "within 1 %"]
    return table([*header, "loss at a length left out, mean (worst), %"], cells, right=[1, 5])


def regret_table(data: SweepData) -> str:
    """Mean and worst loss of each way to choose, a column per shape and occupation."""
    own = columns(data, data.regrets)
    ways = dict.fromkeys(row["way"] for row in data.regrets)
    cells = []
    for way in ways:
        line = [way]
        for rows in own.values():
            lost = [row["lost_percent"] for row in rows if row["way"] == way]
            line.append(f"{sum(lost) / len(lost):.2f} ({max(lost):.1f})" if lost else "")
        cells.append(line)
    return table(["way to choose", *own], cells, right=range(1, len(own) + 1))


def _status(rows: Sequence[Row]) -> str:
    """One verdict as it is, with the lengths that it holds at; several counted."""
    if not rows:
        return ""
    if len(rows) > 1:
        counted = Counter(_SHORT.get(row["status"], row["status"]) for row in rows)
        return ", ".join(f"{status} {number}×" for status, number in counted.items())
    row = rows[0]
    text = _SHORT.get(row["status"], row["status"])
    if row["status"] != "holds only in part":
        return str(text)
    return f"{text}: at {runs(row['held_at_lengths'])}"


def verdict_table(data: SweepData) -> str:
    """What becomes of each sentence, a column per shape and occupation."""
    own = columns(data, data.verdicts)
    cells = [
        [
            f"{statement.sentence} ({statement.source})",
            *(
                _status([row for row in rows if row["statement"] == statement.key])
                for rows in own.values()
            ),
        ]
        for statement in STATEMENTS
    ]
    return table(["sentence", *own], cells)


def overall(rows: Sequence[Row]) -> str:
    """A sentence's fate over all shapes and occupations: holds, refuted, or where it holds."""
    decided = [row for row in rows if row["status"] != "can't be told"]
    statuses = {row["status"] for row in decided}
    if not decided:
        return "can't be told"
    if len(statuses) == 1 and statuses <= {"holds", "refuted"}:
        return str(next(iter(statuses)))
    return "holds only in part"


def overview(data: SweepData) -> list[str]:
    """The sentences by their fate over the parts that were measured, else predicted."""
    by_fate: dict[str, list[str]] = defaultdict(list)
    for statement in STATEMENTS:
        rows = [
            row
            for part in data.shown
            for row in data.of(data.verdicts, part)
            if row["statement"] == statement.key
        ]
        by_fate[overall(rows)].append(statement.sentence.removesuffix("."))
    heads: Mapping[str, str] = {
        "holds": "hold wherever they could be tested",
        "holds only in part": "hold in part, at the lengths and in the shapes that the table names",
        "refuted": "are refuted wherever they could be tested",
        "can't be told": "can't be told from these points",
    }
    return [
        f"{len(by_fate[fate])} sentences of the notes {head}: {'; '.join(by_fate[fate])}."
        for fate, head in heads.items()
        if by_fate[fate]
    ]


def statements_table(data: SweepData) -> list[tuple[str, str]]:
    """How each sentence was tested, and the figures that decide, by part and shape."""
    found = []
    for statement in STATEMENTS:
        rows = [row for row in data.verdicts if row["statement"] == statement.key]
        lines = dict.fromkeys(
            f"{row['arch']}, {row['warps_per_sub_core']:g} per sub-core, "
            f"{shape_of(row) if row['op'] else 'all shapes'}: {row['status']}; {row['figures']}"
            for row in rows
            if row["status"] != "can't be told"
        )
        found.append((f"{statement.sentence} Test: {statement.test}.", "\n".join(list(lines)[:12])))
    return found


def lost_sentence(data: SweepData, way: str) -> str:
    """`always 4: 1.2 % on average, 10.6 % at worst (length 4)`."""
    rows = [row for part in data.shown for row in data.of(data.regrets, part) if row["way"] == way]
    if not rows:
        return ""
    worst = max(rows, key=lambda row: row["lost_percent"])
    mean = sum(row["lost_percent"] for row in rows) / len(rows)
    if worst["lost_percent"] <= EQUIVALENCE * 100:
        return f"{way}: nothing"
    where = f"{shape_of(worst)}, length {worst['length']}, {part_of(worst).occupation}"
    return f"{way}: {mean:.2f} % on average, {worst['lost_percent']:.1f} % at worst ({where})"
