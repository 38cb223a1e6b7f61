"""What the last three stations read beside the figures: the plan and all manifests, indexed."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from probelab.errors import DataError
from probelab.schema.base import Record
from probelab.schema.manifests import (
    BuildManifest,
    BuildRow,
    Manifest,
    PredictManifest,
    PredictRow,
    SassManifest,
    SassRow,
    ShapeManifest,
    ShapeRow,
    TimingManifest,
    TimingRow,
)
from probelab.schema.plan import Chunk, Launch, Variant

Row = TypeVar("Row", bound=Record)


def _rows(kind: type[Manifest[Row]], station: str, paths: Iterable[Path]) -> dict[str, Row]:
    """The rows of several manifests by id.

    Raises:
        DataError: if one of them is missing, damaged or another station's.
    """
    rows: dict[str, Row] = {}
    for path in paths:
        manifest = kind.read(path)
        if manifest.station != station:
            raise DataError(
                f"this is a manifest of the station {manifest.station!r}, not of {station!r}",
                where=str(path),
            )
        rows.update(manifest.by_id())
    return rows


@dataclass(frozen=True)
class Evidence:
    """The manifests' rows of all chunks: by variant id, for predict and timing by launch id.

    A row that isn't there means that the station left nothing about the variant or launch.
    """

    build: dict[str, BuildRow] = field(default_factory=dict)
    sass: dict[str, SassRow] = field(default_factory=dict)
    shape: dict[str, ShapeRow] = field(default_factory=dict)
    predict: dict[str, PredictRow] = field(default_factory=dict)
    timing: dict[str, TimingRow] = field(default_factory=dict)

    @classmethod
    def read(
        cls,
        *,
        build: Iterable[Path] = (),
        sass: Iterable[Path] = (),
        shape: Iterable[Path] = (),
        predict: Iterable[Path] = (),
        timing: Iterable[Path] = (),
    ) -> "Evidence":
        """Read the manifests of all chunks.

        Raises:
            DataError: if one of them is missing, damaged or another station's.
        """
        return cls(
            build=_rows(BuildManifest, "build", build),
            sass=_rows(SassManifest, "sass", sass),
            shape=_rows(ShapeManifest, "shape", shape),
            predict=_rows(PredictManifest, "predict", predict),
            timing=_rows(TimingManifest, "timing", timing),
        )

    @classmethod
    def of_run(cls, results: Path, chunks: Iterable[str]) -> "Evidence":
        """The manifests of these chunks below a results folder: `<station>/<chunk>.json`.

        Raises:
            DataError: if one of them is missing, damaged or another station's.
        """
        names = list(chunks)
        stations = ("build", "sass", "shape", "predict", "timing")
        return cls.read(
            **{
                station: [results / station / f"{name}.json" for name in names]
                for station in stations
            }
        )

    def shape_status(self, variant: str) -> str:
        """The verdict on a variant's SASS; "not checked" if nobody looked."""
        row = self.shape.get(variant)
        return row.status if row else "not checked"

    def shape_reason(self, variant: str) -> str:
        """Why the shape of a variant is broken, with the role; empty if it isn't."""
        row = self.shape.get(variant)
        if row is None or row.status != "broken":
            return ""
        findings = [
            f"{role.role}: {role.findings[0]}"
            for role in row.roles
            if role.status == "broken" and role.findings
        ]
        return "; ".join(findings) or row.reason or "no finding given"


def launches(plan: Iterable[Chunk]) -> Iterator[tuple[Variant, Launch]]:
    """Every launch with its variant, ordered by launch id."""
    pairs = []
    for chunk in plan:
        variants = {variant.id: variant for variant in chunk.variants}
        pairs += [(variants[launch.variant], launch) for launch in chunk.launches]
    return iter(sorted(pairs, key=lambda pair: pair[1].id))


def role_slots(variant: Variant, launch: Launch) -> dict[str, list[int]]:
    """The warp slots of each role of a launch, in the variant's order of roles."""
    slots: dict[str, list[int]] = {role: [] for role in variant.roles}
    for slot, index in enumerate(launch.role_map[: launch.warps]):
        if index < len(variant.roles):
            slots[variant.roles[index]].append(slot)
    return {role: members for role, members in slots.items() if members}
