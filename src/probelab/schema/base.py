"""The base of every record that is written to a file."""

from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    """Immutable, strict about unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")
