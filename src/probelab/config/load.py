"""Reading and checking the configuration; everything wrong in it is one line."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from probelab.config.models import IDENTIFIER, Lab, Probe
from probelab.errors import ConfigError

Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True)
class Configuration:
    """A checked configuration: the lab's settings and each probe's, probes in config order."""

    lab: Lab
    probes: list[Probe]


class _UniqueKeyLoader(yaml.SafeLoader):
    """A YAML loader that refuses a key given twice, which YAML would silently drop."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key!r} stands there twice", key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep)


def _message(error: ValidationError) -> str:
    """The first finding of pydantic as 'key: what is wrong'."""
    first = error.errors()[0]
    key = ".".join(str(part) for part in first["loc"])
    text = first["msg"].removeprefix("Value error, ")
    if first["type"] == "extra_forbidden":
        text = "this key is unknown; see config/README.md"
    elif first["type"] == "missing":
        text = "this key is missing"
    elif not isinstance(first["input"], (dict, list)) and first["type"] != "value_error":
        text = f"{text}, not {first['input']!r}"
    return f"{key}: {text}" if key else text


def validate(model: type[Model], data: Any, where: str) -> Model:
    """`data` as `model`.

    Raises:
        ConfigError: with the first thing that is wrong.
    """
    if not isinstance(data, Mapping):
        raise ConfigError("this must be a mapping of keys to values", where=where)
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise ConfigError(_message(error), where=where) from None


def read_yaml(path: Path) -> Any:
    """The content of a YAML file.

    Raises:
        ConfigError: if it is missing or not YAML.
    """
    try:
        with path.open(encoding="utf-8") as stream:
            return yaml.load(stream, Loader=_UniqueKeyLoader)
    except FileNotFoundError:
        raise ConfigError("no such file", where=str(path)) from None
    except UnicodeDecodeError:
        raise ConfigError("this is not UTF-8 text", where=str(path)) from None
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise ConfigError(f"{error.problem}{line}", where=str(path)) from None


def probe_file(name: str, root: Path) -> Path:
    """Where the probe `name` of the key `probes` is configured.

    A plain name is a file of config/probes; anything else is a path to a .yaml file, relative
    to the root of the project.
    """
    if IDENTIFIER.fullmatch(name):
        return root / "config" / "probes" / f"{name}.yaml"
    if name.endswith((".yaml", ".yml")):
        return root / name
    raise ConfigError(
        f"probes: {name!r} is neither a plain name of a file in config/probes nor a .yaml path",
        where="config",
    )


def load(settings: Mapping[str, Any], root: Path, where: str = "config") -> Configuration:
    """The checked configuration.

    Args:
        settings: the lab's settings, as Snakemake merged them from files and command line.
        root: the project's root, which holds config/ and kernels/.
        where: how messages call `settings`.

    Raises:
        ConfigError: with one line on the first thing that is wrong.
    """
    lab = validate(Lab, settings, where)
    probes: list[Probe] = []
    for name in lab.probes:
        path = probe_file(name, root)
        shown = str(path.relative_to(root)) if path.is_relative_to(root) else str(path)
        if not path.is_file():
            raise ConfigError(f"probes: {name!r} has no file {shown}", where=where)
        probe = validate(Probe, read_yaml(path), shown)
        if any(probe.name == other.name for other in probes):
            raise ConfigError(f"name: two probes are called {probe.name!r}", where=shown)
        if not (root / "kernels" / probe.kernel).is_file():
            raise ConfigError(f"kernel: there is no file kernels/{probe.kernel}", where=shown)
        probes.append(probe)
    return Configuration(lab, probes)
