"""Output that suits where it goes: tables on a terminal, plain lines elsewhere."""

from collections.abc import Sequence

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text


def show(header: Sequence[str], rows: Sequence[Sequence[str]], styles: Sequence[str] = ()) -> None:
    """Show rows under a header.

    Args:
        header: names of the columns.
        rows: their cells.
        styles: colour of each row's first cell on a terminal; none: as the rest.
    """
    console = Console()
    if not console.is_terminal:
        widths = [
            max(len(row[column]) for row in [header, *rows]) for column in range(len(header) - 1)
        ]
        for row in rows:
            cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
            typer.echo("  ".join([*cells, row[-1]]).rstrip())
        return
    table = Table(*header, box=None, pad_edge=False, header_style="bold")
    for place, row in enumerate(rows):
        style = styles[place] if styles else ""
        table.add_row(Text(row[0], style=style), *(Text(cell) for cell in row[1:]))
    console.print(table)
