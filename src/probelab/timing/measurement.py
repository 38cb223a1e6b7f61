"""A measurement as it is stored: what the GPU gave, before anything is judged.

The store holds records, not verdicts, so that another way to judge them, another name for a role
or a repaired host reference needs no GPU.
"""

from base64 import b64decode
from pathlib import Path

from pydantic import Field, ValidationError

from probelab.canonical import canonical_json, digest, write_atomically
from probelab.errors import DataError
from probelab.schema.base import Record
from probelab.schema.plan import Launch, TimingSettings
from probelab.schema.raw import Device
from probelab.timing import HARNESS_VERSION

#: The station's name in the store, and the file that an entry consists of.
STATION = "timing"
FILE_NAME = "measurement.json"


class Sample(Record):
    """One timed run of a launch."""

    repeat: int
    order: int
    sm_clock_mhz: int | None = None
    throttle_reasons: list[str] = Field(default_factory=list)
    started_at: str = Field(description="UTC, ISO 8601")
    wall_s: float = Field(description="seconds between GPU events around the kernel")
    records: str = Field(description="the records' bytes, base64")

    @property
    def data(self) -> bytes:
        """The records' bytes."""
        return b64decode(self.records)


class ExpectedSink(Record):
    """What the host reference computes for one warp after so many iterations."""

    role: int = Field(description="index into the reference's roles")
    thread: int = Field(description="thread index in the block of the warp's first lane")
    iterations: int
    sink: float | None = Field(description="float32; null: not a finite number")


class Measurement(Record):
    """All timed runs of a launch, and the sinks that were expected when they were stored."""

    kernel_digest: str
    settings_digest: str
    harness_version: int
    device: Device
    node: str = Field(default="", description="name of the machine")
    samples: list[Sample]
    reference_digest: str = Field(default="", description="of the host reference; empty: none")
    sinks: list[ExpectedSink] = Field(default_factory=list)

    def write(self, directory: Path) -> None:
        """Write it into a store entry's directory."""
        text = canonical_json(self.model_dump(mode="json"))
        write_atomically(directory / FILE_NAME, text + "\n")

    @classmethod
    def read(cls, directory: Path) -> "Measurement":
        """Read a store entry.

        Raises:
            DataError: if the entry is damaged.
        """
        path = directory / FILE_NAME
        try:
            return cls.model_validate_json(path.read_bytes())
        except (OSError, ValidationError):
            raise DataError(
                "this stored measurement is damaged",
                where=str(path),
                hint=f"delete {directory} and time again",
            ) from None


def store_key(
    kernel_digest: str, launch: Launch, settings: TimingSettings, uuid: str, driver_version: str
) -> str:
    """Key of a measurement in the store: all that makes one different from another."""
    return digest(
        {
            "kernel_digest": kernel_digest,
            "launch": launch.settings_digest,
            "repeats": settings.repeats,
            "warmup": settings.warmup,
            "retime": settings.retime,
            "device": uuid,
            "driver": driver_version,
            "harness_version": HARNESS_VERSION,
        }
    )
