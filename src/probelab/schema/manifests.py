"""Manifests: what each station did, one row a variant (or launch), deterministic.

A manifest holds neither a date nor an absolute path, so that equal work gives equal bytes.
Paths are relative to the results directory.
"""

from pathlib import Path
from typing import Generic, Literal, Self, TypeVar

from pydantic import Field, ValidationError

from probelab.canonical import canonical_json, write_atomically
from probelab.errors import DataError
from probelab.schema.base import Record
from probelab.schema.plan import Chunk

Status = Literal["ok", "failed", "skipped"]


class BuildRow(Record):
    """What nvcc and the cubin say of a variant."""

    id: str
    status: Status
    reason: str = ""
    symbol: str = Field(default="", description="name of the kernel in the cubin")
    cubin: str = Field(default="", description="path of the cubin")
    kernel_digest: str = Field(default="", description="identity of what is timed")
    source_digest: str = Field(default="", description="of the .cu, its headers and -D settings")
    arch: str = ""
    nvcc_version: str = ""
    flags: list[str] = Field(default_factory=list)
    registers: int = 0
    stack_bytes: int = 0
    spill_store_bytes: int = 0
    spill_load_bytes: int = 0
    shared_bytes: int = 0
    constant_bytes: int = 0
    barriers: int = 0
    parameter_bytes: list[int] = Field(
        default_factory=list, description="size of each kernel parameter, in order"
    )
    reference: str = Field(
        default="", description="path of the host reference (shared object); empty: none"
    )
    reference_roles: list[str] = Field(
        default_factory=list, description="roles that the host reference knows, by index"
    )
    reference_settings: list[int] = Field(
        default_factory=list,
        description="the variant's own -D settings in the order of their names, which the host "
        "reference takes as arguments; empty: it knows its roles",
    )


class SassRow(Record):
    """Where the evidence of a variant lies."""

    id: str
    status: Status
    reason: str = ""
    listing: str = Field(default="", description="path of the cuobjdump --dump-sass text")
    matches: str = Field(default="", description="path of the first note's search of the listing")
    disassembler_version: str = ""
    instructions: int = 0


class PathStep(Record):
    """One instruction of a role's path through one iteration."""

    address: int
    region: Literal["body", "setup", "reduction", "dispatch", "loop_control", "other"]
    taken: bool = Field(default=False, description="a branch that leads elsewhere than onward")


class RoleShape(Record):
    """What the SASS shows of one role: its path through one iteration of the timed loop."""

    role: str
    status: Literal["ok", "broken", "not checked"]
    findings: list[str] = Field(
        default_factory=list, description="each difference from the intent, or why not checked"
    )
    opcodes: dict[str, int] = Field(
        default_factory=dict, description="count of each opcode (with modifiers) on the path"
    )
    chains: list[int] = Field(
        default_factory=list, description="intended-opcode instructions per accumulator, descending"
    )
    accumulators: list[list[str]] = Field(
        default_factory=list, description="registers of each accumulator, e.g. [['R14', 'R15']]"
    )
    setup: int = Field(default=0, description="MOV-like source setup instructions in the body")
    reduction: int = Field(default=0, description="instructions that sum accumulators into a sink")
    dispatch: int = Field(default=0, description="instructions that select the role, on its path")
    loop_control: int = Field(default=0, description="clock read, compare, counter, branch")
    other: int = Field(default=0, description="instructions on the path with none of these uses")
    instructions: int = Field(default=0, description="instructions on the path, all regions")
    stall_sum: int = Field(default=0, description="sum of the stall fields along the path")
    live_registers: int = Field(default=0, description="registers of the accumulators and sources")
    description: str = Field(
        default="", description="the shape in words, for instance 'single-register FADD chain of 8'"
    )
    excerpt: list[str] = Field(
        default_factory=list, description="listing lines of the path, with decoded control words"
    )
    path: list[PathStep] = Field(
        default_factory=list, description="the path in order of execution; empty: not followed"
    )


class ShapeRow(Record):
    """The verdict on a variant: broken when any of its roles is."""

    id: str
    status: Literal["ok", "broken", "not checked", "failed"]
    reason: str = ""
    roles: list[RoleShape] = Field(default_factory=list)


class WarpPrediction(Record):
    """The predicted cost of one warp slot of a launch."""

    warp_slot: int
    role: str
    cycles_per_iteration: float | None = None
    alone_cycles_per_iteration: float | None = Field(
        default=None, description="of the same warp if it ran alone on its sub-core"
    )
    reason: str = Field(default="", description="why `cycles_per_iteration` is not predicted")
    terms: dict[str, float] = Field(
        default_factory=dict, description="cycles by cause; they add up to the alone figure"
    )
    assumptions: list[str] = Field(
        default_factory=list, description="what is assumed, not known, for this architecture"
    )


class PredictRow(Record):
    """The prediction for one launch."""

    id: str = Field(description="launch id")
    variant: str
    status: Literal["ok", "not predicted", "failed"]
    reason: str = ""
    warps: list[WarpPrediction] = Field(default_factory=list)


class TimingRow(Record):
    """The outcome of one launch."""

    id: str = Field(description="launch id")
    variant: str
    status: Literal["ok", "failed", "skipped", "not predicted"]
    reason: str = ""
    backend: str = ""
    raw: str = Field(default="", description="path of the raw JSON")
    raw_digest: str = Field(default="", description="SHA-256 of the raw JSON")


Row = TypeVar("Row", bound=Record)


class Manifest(Record, Generic[Row]):
    """All rows of one station for one chunk, ordered by id."""

    station: str
    chunk: str
    rows: list[Row]

    def by_id(self) -> dict[str, Row]:
        """Rows by their `id`."""
        return {row.id: row for row in self.rows}  # type: ignore[attr-defined]

    def write(self, path: Path) -> None:
        """Write the manifest to `path`, whole or not at all."""
        content = self.model_dump(mode="json")
        content["rows"].sort(key=lambda row: str(row["id"]))
        write_atomically(path, canonical_json(content) + "\n")

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a manifest.

        Raises:
            DataError: if the file is missing or not a manifest of this kind.
        """
        try:
            return cls.model_validate_json(path.read_bytes())
        except FileNotFoundError:
            raise DataError(
                "this manifest is missing", where=str(path), hint="run snakemake to make it"
            ) from None
        except ValidationError as error:
            first = error.errors()[0]
            key = ".".join(str(part) for part in first["loc"])
            raise DataError(
                f"not a manifest of this kind: {key}: {first['msg']}",
                where=str(path),
                hint="delete it and run snakemake again",
            ) from None


BuildManifest = Manifest[BuildRow]
SassManifest = Manifest[SassRow]
ShapeManifest = Manifest[ShapeRow]


class PredictManifest(Manifest[PredictRow]):
    """Predictions, and the plan that they are for: later stations read it here."""

    plan: Chunk


class TimingManifest(Manifest[TimingRow]):
    """Timings, and the GPUs that were there to make them, as JSON."""

    machine: str = "[]"
