"""Machine constants of an architecture, from the data files of this package."""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from probelab.architectures import base_arch
from probelab.errors import DataError

_DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Constants:
    """What one iteration of a loop costs beside the stall fields. Units and sources: the data file.

    Attributes:
        assumed_from: architecture on which the values were measured, if it is another one.
    """

    architecture: str
    assumed_from: str
    taken_branch_cycles: int
    reconvergence_cycles: int
    fetch_line_bytes: int
    next_line_cycles: int
    first_cache_instructions: int
    first_cache_miss_cycles: int
    longest_loop_instructions: int


def _read(name: str) -> dict[str, Any] | None:
    """The data file of that name, None if there is none."""
    source = files("probelab.predict").joinpath("data", f"{name}.yaml")
    if not source.is_file():
        return None
    data = yaml.safe_load(source.read_text(encoding="utf-8"))
    if not isinstance(data, dict):
        raise DataError("not a table of machine constants", where=f"{name}.yaml")
    return data


def _values(data: dict[str, Any], name: str) -> dict[str, int]:
    """Values by key.

    Raises:
        DataError: for a value without number, unit or source.
    """
    values: dict[str, int] = {}
    for key, entry in data["values"].items():
        if not isinstance(entry.get("value"), int) or not (entry.get("unit") and entry["source"]):
            raise DataError(f"{key} needs a whole number, a unit and a source", where=name)
        values[key] = entry["value"]
    return values


@cache
def load_constants(arch: str) -> Constants:
    """The constants of `arch` (`sm_90`, `sm_90a`, …), assumed from another one if not measured.

    Raises:
        DataError: if a data file is damaged.
    """
    family = base_arch(arch)
    data = _read(family) or _read(_DEFAULT)
    if data is None:
        raise DataError(f"no machine constants for {arch}")
    assumed_from = str(data.get("assumed_from", ""))
    if assumed_from:
        measured = _read(assumed_from)
        if measured is None:
            raise DataError(f"no machine constants for {assumed_from}")
        data = measured
    try:
        return Constants(family, assumed_from, **_values(data, f"{assumed_from or family}.yaml"))
    except (KeyError, TypeError) as error:
        raise DataError(f"machine constants are incomplete: {error}", where=arch) from None
