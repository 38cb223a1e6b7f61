"""The raw result: one JSON file per launch, in the same form from every backend."""

from typing import Literal

from pydantic import Field

from probelab.schema.base import Record
from probelab.schema.plan import Launch, Variant

RAW_SCHEMA_VERSION = 1

Backend = Literal["pycuda", "recorded", "model"]


class Device(Record):
    """The GPU that ran the launch."""

    name: str
    uuid: str
    compute_capability: str = Field(description="major.minor, for instance 9.0")
    driver_version: str
    sm_count: int


class Toolchain(Record):
    """What built the kernel, as the build's manifest says."""

    nvcc_version: str
    flags: list[str]
    disassembler_version: str = ""


class WarpResult(Record):
    """What one warp recorded in one repeat."""

    block: int
    warp_slot: int
    role: str
    sm_id: int | None = None
    progress: float = Field(description="iterations; a whole number unless predicted")
    cycles: float = Field(description="SM clock cycles between first and last clock read")
    sink: float | None = None
    sink_status: Literal["ok", "wrong", "not checked"] = "not checked"


class Repeat(Record):
    """One launch of the kernel."""

    index: int
    order: int = Field(description="place of this launch among all launches of the job")
    accepted: bool = True
    reason: str = Field(default="", description="why it is not accepted")
    sm_clock_mhz: int | None = None
    throttle_reasons: list[str] = Field(default_factory=list)
    started_at: str = Field(default="", description="UTC, ISO 8601")
    wall_s: float | None = None
    warps: list[WarpResult]


class RawResult(Record):
    """Everything known about one timed launch.

    A prediction (`backend: model`) has one repeat without spread, no device and no date.
    """

    schema_version: int = RAW_SCHEMA_VERSION
    backend: Backend
    launch: Launch
    variant: Variant
    kernel_digest: str
    source_digest: str
    toolchain: Toolchain
    harness_version: int
    device: Device | None = None
    node: str = Field(default="", description="name of the machine that measured; empty: unknown")
    measured_at: str = Field(default="", description="UTC, ISO 8601; empty when predicted")
    recording: str = Field(default="", description="name of the recording that it was taken from")
    model_reason: str = Field(default="", description="what the prediction assumes")
    sink_reason: str = Field(default="", description="why sinks are not checked")
    repeats: list[Repeat]
