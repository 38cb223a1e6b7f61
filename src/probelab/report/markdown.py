"""Markdown's forms: tables and links that any viewer shows."""

import os
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

#: Cells are padded up to here; longer ones would make all rows as long.
_PADDED = 60
#: Nobody reads more rows than this; the dataset has them.
MOST_ROWS = 150


def cell(text: str) -> str:
    """A text inside a table cell: one line, no bar that would end the cell."""
    return " ".join(text.split()).replace("|", "\\|")


def table(header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """A table, padded so that it reads well as text too; of very many rows only the first.

    Args:
        header: titles of the columns.
        rows: their cells; columns that are empty in every row are left out.
        right: indices of columns that are aligned to the right, as numbers are.
    """
    if not rows:
        return ""
    if len(rows) > MOST_ROWS:
        rest = f"… {len(rows) - MOST_ROWS:,} more rows; summary.parquet has all"
        rows = [*rows[:MOST_ROWS], [rest, *[""] * (len(header) - 1)]]
    used = [
        column for column in range(len(header)) if any(row[column].strip() for row in rows)
    ] or [0]
    shown = [[cell(row[column]) for column in used] for row in [header, *rows]]
    lengths = [[len(row[place]) for row in shown] for place in range(len(used))]
    widths = [max(3, *(length for length in own if length <= _PADDED), 3) for own in lengths]
    lines = []
    for row in shown:
        padded = [
            text.rjust(width) if column in right else text.ljust(width)
            for text, width, column in zip(row, widths, used, strict=True)
        ]
        lines.append(f"| {' | '.join(padded)} |")
    rule = [
        f"{'-' * (width - 1)}:" if column in right else "-" * width
        for width, column in zip(widths, used, strict=True)
    ]
    lines.insert(1, f"| {' | '.join(rule)} |")
    return "\n".join(lines)


def code(text: str) -> str:
    """Text in the font of code."""
    return f"`{text}`" if text else ""


def link(text: str, target: Path, base: Path) -> str:
    """A link from a file in the folder `base`, relative to it."""
    return f"[{text}]({quote(Path(os.path.relpath(target, base)).as_posix())})"


def first_line(text: str, limit: int = 300) -> str:
    """The first line that isn't empty, shortened to `limit` characters."""
    line = next((part.strip() for part in text.splitlines() if part.strip()), "")
    return line if len(line) <= limit else line[: limit - 1] + "…"
