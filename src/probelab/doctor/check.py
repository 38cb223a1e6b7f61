"""One finding of the doctor."""

from typing import Literal

from pydantic import Field

from probelab.schema.base import Record

Status = Literal["ok", "warning", "missing"]
Purpose = Literal["run", "gpu", "development"]


class Check(Record):
    """Something that the lab uses, and how it is here.

    `missing` stops what the thing is needed for; a `warning` doesn't.
    """

    name: str
    status: Status
    found: str = Field(description="what is here, one line")
    hint: str = Field(default="", description="what to do about it; empty if nothing is to do")
    needed_for: Purpose = Field(
        default="run",
        description="run: the reproduction; gpu: timing on a GPU; development: tests, git",
    )


def size(count: float) -> str:
    """A number of bytes for people: `1.5 GB`."""
    for unit in ("B", "kB", "MB", "GB"):
        if abs(count) < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"
