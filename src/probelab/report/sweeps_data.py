"""What the codegen station found of one sweep, as the report looks at it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from probelab.codegen import tables
from probelab.codegen.export import ExportedRule, RuleBook
from probelab.codegen.points import Shape
from probelab.report.naming import count, source_label

Row = Mapping[str, Any]

#: The order in which sources are shown.
_SOURCES = ("measured", "predicted")


@dataclass(frozen=True, order=True)
class Part:
    """The launches of one architecture at one occupation."""

    rank: int  #: measured ones first
    arch: str
    warps_per_sub_core: float

    @property
    def occupation(self) -> str:
        """`2 warps per sub-core`."""
        number = self.warps_per_sub_core
        return f"{number:g} warp{'' if number == 1 else 's'} per sub-core"


def part_of(row: Row) -> Part:
    """Where a row of any of the datasets belongs."""
    return Part(_SOURCES.index(row["source"]), row["arch"], row["warps_per_sub_core"])


def shape_of(row: Row) -> Shape:
    """The shape of a row; its op is empty where a statement is about several."""
    return Shape(row["op"], row["reduction"], row["operands"], row["unroll"])


@dataclass(frozen=True)
class SweepData:
    """The rows of one sweep.

    Attributes:
        name: of the sweep.
        planned: points that it has.
        points, terms, regrets, verdicts: rows of the codegen station's datasets.
        rules: the exported rules that rest on it.
    """

    name: str
    planned: int
    points: Sequence[Row]
    terms: Sequence[Row]
    regrets: Sequence[Row]
    verdicts: Sequence[Row]
    rules: Sequence[ExportedRule]

    @cached_property
    def parts(self) -> list[Part]:
        """Architectures and occupations that have figures, measured ones first."""
        return sorted({part_of(row) for row in self.points})

    @cached_property
    def shown(self) -> list[Part]:
        """Those that charts show: where anything was measured, that alone."""
        return [part for part in self.parts if part.rank == self.parts[0].rank]

    def of(self, rows: Iterable[Row], part: Part) -> list[Row]:
        """The rows that belong to a part."""
        return [row for row in rows if part_of(row) == part]

    def source(self, part: Part) -> str:
        """`measured on NVIDIA H200 (sm_90)`; several devices are named one after the other."""
        labels = dict.fromkeys(source_label(row) for row in self.of(self.points, part))
        return " / ".join(labels)

    def label(self, part: Part) -> str:
        """Source and occupation."""
        return f"{self.source(part)}, {part.occupation}"

    def shapes(self, rows: Iterable[Row]) -> list[Shape]:
        """The shapes in some rows, in the order of the axes; what is about several comes last."""
        return sorted({shape_of(row) for row in rows})

    @cached_property
    def facts(self) -> list[str]:
        """How many points of which have figures."""
        found = []
        for part in self.parts:
            rows = self.of(self.points, part)
            lengths = sorted({row["length"] for row in rows})
            numbers = sorted({row["accumulators"] for row in rows})
            found.append(
                f"{self.label(part)}: {len(rows):,} of {count(self.planned, 'point')} have a "
                f"figure, {count(len(lengths), 'length')} from {lengths[0]} to {lengths[-1]}, "
                f"{numbers[0]} to {numbers[-1]} accumulators"
            )
        return found


def read_sweeps(folder: Path, planned: Mapping[str, int]) -> dict[str, SweepData]:
    """What the codegen station left, by sweep.

    Args:
        folder: of the results.
        planned: points of each sweep.

    Raises:
        DataError: if a dataset is missing or damaged.
    """
    files = tables.Files.below(folder)
    rows = tables.read(files)
    book = RuleBook.read(files.rule)

    def own(key: str, name: str) -> list[dict[str, Any]]:
        return [row for row in rows[key] if row["sweep"] == name]

    return {
        name: SweepData(
            name=name,
            planned=number,
            points=own("points", name),
            terms=own("terms", name),
            regrets=own("regrets", name),
            verdicts=own("verdicts", name),
            rules=[rule for rule in book.rules if rule.provenance.sweep == name],
        )
        for name, number in planned.items()
    }
