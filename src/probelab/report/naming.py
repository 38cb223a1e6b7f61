"""How figures, forms and sources are called and printed; the same in text, tables and charts."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal

RatioForm = Literal["percent", "difference"]

NOT_PREDICTED = "not predicted"


def source_label(row: Mapping[str, Any]) -> str:
    """Where a figure comes from, with its architecture; empty where there is no figure.

    This is the only place that says "measured on" or "predicted from".
    """
    if not row["backend"]:
        return ""
    if row["backend"] == "model":
        return f"predicted from SASS ({row['arch']})"
    return f"measured on {row['device'] or 'an unnamed device'} ({row['arch']})"


def is_measured(row: Mapping[str, Any]) -> bool:
    """Whether a row's figures come from a GPU, now or in a recording."""
    return row["backend"] not in ("", "model")


def is_predicted(row: Mapping[str, Any]) -> bool:
    """Whether a row's figures are the model's."""
    return bool(row["backend"] == "model")


def whole(value: float) -> str:
    """An integer with thousands separators."""
    return f"{value:,.0f}"


def progress(value: float | None) -> str:
    """Iterations, one decimal as in the notes."""
    return "" if value is None else f"{value:,.1f}"


def cycles(value: float | None) -> str:
    """Cycles with at most two decimals: 66, 57.5, 187.15."""
    if value is None:
        return ""
    text = f"{value:,.2f}"
    return text.rstrip("0").rstrip(".")


def percent(value: float | None, digits: int = 2) -> str:
    """A signed percentage: +7.28 %."""
    if value is None:
        return ""
    # Adding zero turns the negative zero that rounding leaves into the positive one.
    return f"{round(value, digits) + 0.0:+.{digits}f} %"


def ratio(value: float | None, form: RatioForm) -> str:
    """A ratio as a percentage (93.75 %) or as the difference from 1 (+7.28 %)."""
    if value is None:
        return ""
    return f"{value * 100:.2f} %" if form == "percent" else percent((value - 1) * 100)


def ratio_value(value: float, form: RatioForm) -> float:
    """What `ratio` prints, as a number of percent."""
    return value * 100 if form == "percent" else (value - 1) * 100


def ratio_interval(low: float | None, high: float | None, form: RatioForm) -> str:
    """The interval of a ratio in the form of `ratio`; empty if there is none."""
    if low is None or high is None:
        return ""
    shown = [
        f"{ratio_value(value, form):{'' if form == 'percent' else '+'}.2f}" for value in (low, high)
    ]
    return f"[{shown[0]}, {shown[1]}]"


def count(number: int, noun: str, plural: str | None = None) -> str:
    """`1 launch`, `3 launches`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def listed(items: Iterable[str], last: str = "and") -> str:
    """`a, b and c`."""
    parts = list(items)
    return f"{', '.join(parts[:-1])} {last} {parts[-1]}" if len(parts) > 1 else "".join(parts)


def ranges(numbers: Sequence[int], known: Sequence[int]) -> str:
    """Numbers as runs of neighbours among `known`: `1, 4-8, 64`."""
    places = {number: place for place, number in enumerate(sorted(set(known)))}
    ordered = sorted(set(numbers))
    runs: list[list[int]] = [ordered[:1]] if ordered else []
    for before, number in pairwise(ordered):
        if places[number] == places[before] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]}" if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in runs if run)
