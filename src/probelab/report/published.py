"""Published figures: `data/published/*.csv`, one row per role, empty cells where not given."""

import csv
import math
from dataclasses import dataclass
from pathlib import Path

from probelab.config.models import Probe
from probelab.errors import DataError

COLUMNS = ["role", "progress", "ratio_percent", "ratio_difference_percent", "reference", "note"]


@dataclass(frozen=True)
class PublishedFigure:
    """What somebody published of one role."""

    role: str
    progress: float | None
    ratio: float | None  #: progress over the reference role's
    reference: str
    note: str


def _number(text: str, column: str, where: str) -> float | None:
    if not text.strip():
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise DataError(f"{column}: {text!r} is not a number", where=where)
    return value


def _figure(row: dict[str, str], probe: Probe, where: str) -> PublishedFigure:
    names = probe.role_names
    for column in ("role", "reference"):
        if row[column] not in names and (column == "role" or row[column]):
            raise DataError(
                f"{column}: {row[column]!r} is no role of {probe.name}",
                where=where,
                hint=f"its roles: {', '.join(names[:8])}{', …' if len(names) > 8 else ''}",
            )
    ratio = _number(row["ratio_percent"], "ratio_percent", where)
    column = "ratio_difference_percent"
    difference = _number(row[column], column, where)
    if ratio is not None and difference is not None:
        raise DataError(f"give ratio_percent or {column}, not both", where=where)
    return PublishedFigure(
        role=row["role"],
        progress=_number(row["progress"], "progress", where),
        ratio=ratio / 100
        if ratio is not None
        else None
        if difference is None
        else 1 + difference / 100,
        reference=row["reference"],
        note=row["note"].strip(),
    )


def read_published(folder: Path, probe: Probe) -> list[PublishedFigure]:
    """The published figures of a probe in the file's order; none if its config names no file.

    Raises:
        DataError: with file and line if the file is missing or a row is wrong.
    """
    if probe.published is None:
        return []
    name = probe.published.file
    try:
        with (folder / name).open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.reader(stream, strict=True)
            header = next(reader, [])
            if header != COLUMNS:
                raise DataError(
                    f"the columns are {', '.join(header) or 'missing'}",
                    where=f"{name}, line 1",
                    hint=f"they must be {','.join(COLUMNS)}",
                )
            found: list[PublishedFigure] = []
            for cells in reader:
                where = f"{name}, line {reader.line_num}"
                if not cells:
                    continue
                if len(cells) != len(COLUMNS):
                    raise DataError(f"{len(cells)} cells, not {len(COLUMNS)}", where=where)
                figure = _figure(dict(zip(COLUMNS, cells, strict=True)), probe, where)
                if any(figure.role == other.role for other in found):
                    raise DataError(f"role {figure.role!r} stands there twice", where=where)
                found.append(figure)
    except OSError as error:
        raise DataError(
            f"can't read the published figures: {error.strerror}",
            where=name,
            hint="put the file into data/published/, or leave `published` out of the probe",
        ) from None
    except UnicodeDecodeError:
        raise DataError("this is not UTF-8 text", where=name) from None
    except csv.Error as error:
        raise DataError(f"not CSV: {error}", where=f"{name}, line {reader.line_num}") from None
    return found
