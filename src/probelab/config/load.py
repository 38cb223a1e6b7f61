"""Reading and checking the configuration; everything wrong in it is one line."""

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from probelab.config.models import IDENTIFIER, Lab, Probe
from probelab.config.sweeps import Point, Sweep, as_probe, condition
from probelab.errors import ConfigError

Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True)
class ChosenSweep:
    """A sweep with the points that subset and condition leave, and as the probe that they make."""

    sweep: Sweep
    points: list[Point]
    probe: Probe


@dataclass(frozen=True)
class Configuration:
    """A checked configuration: the lab's settings, and the probes and sweeps in config order."""

    lab: Lab
    probes: list[Probe]
    sweeps: list[ChosenSweep] = field(default_factory=list)

    @property
    def everything(self) -> list[Probe]:
        """The probes, and after them the sweeps as probes."""
        return [*self.probes, *(chosen.probe for chosen in self.sweeps)]


class _UniqueKeyLoader(yaml.SafeLoader):
    """A YAML loader that refuses a key given twice, which YAML would silently drop."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key_node, _ in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                problem = "a key must be a plain word"
            elif key_node.value in seen:
                problem = f"the key {key_node.value!r} stands there twice"
            else:
                seen.add(key_node.value)
                continue
            raise yaml.constructor.ConstructorError(None, None, problem, key_node.start_mark)
        return super().construct_mapping(node, deep)


def _message(error: ValidationError, model: type[BaseModel]) -> str:
    """One finding of pydantic as 'key: what is wrong'.

    An unknown key comes before a missing one, which is often the same key spelt right.
    """
    findings = error.errors()
    first = next((one for one in findings if one["type"] == "extra_forbidden"), findings[0])
    key = ".".join(str(part) for part in first["loc"])
    text = first["msg"].removeprefix("Value error, ")
    value = first["input"]
    if first["type"] == "extra_forbidden":
        known = model.model_fields if len(first["loc"]) == 1 else ()
        near = difflib.get_close_matches(key, known, n=1)
        meant = f"did you mean {near[0]!r}?" if near else "see config/README.md"
        text = f"this key is unknown; {meant}"
    elif first["type"] == "missing":
        text = "this key is missing; see config/README.md"
    elif first["type"] == "list_type":
        example = value if isinstance(value, (str, int, float)) else "…"
        text = f"this must be a list, for instance [{example}]"
    elif first["type"] != "value_error" and not isinstance(value, (dict, list)):
        text = f"{text}, not {value!r}"
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
        raise ConfigError(_message(error, model), where=where) from None


def read_yaml(path: Path, shown: str = "") -> Any:
    """The content of a YAML file, which messages call `shown`.

    Raises:
        ConfigError: if it is missing or not YAML.
    """
    shown = shown or str(path)
    try:
        with path.open(encoding="utf-8") as stream:
            return yaml.load(stream, Loader=_UniqueKeyLoader)
    except OSError as error:
        raise ConfigError(f"can't be read: {error.strerror}", where=shown) from None
    except UnicodeDecodeError:
        raise ConfigError("this is not UTF-8 text", where=shown) from None
    except RecursionError:
        raise ConfigError("this is nested too deeply", where=shown) from None
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise ConfigError(f"{error.problem}{line}", where=shown) from None
    except (yaml.YAMLError, ValueError) as error:
        raise ConfigError(f"this is not YAML: {error}", where=shown) from None


def config_file(key: str, name: str, root: Path, where: str = "config") -> Path:
    """Where an item of the key `probes` or `sweeps` is configured.

    A plain name is a file of config/<key>; anything else is a path to a .yaml file, relative to
    the root of the project.

    Raises:
        ConfigError: if `name` is neither, or there is no such file.
    """
    if IDENTIFIER.fullmatch(name):
        path = root / "config" / key / f"{name}.yaml"
    elif name.endswith((".yaml", ".yml")) and name.isprintable():
        path = root / name
    else:
        raise ConfigError(
            f"{key}: {name!r} is neither a plain name of a file in config/{key} nor a .yaml path",
            where=where,
        )
    if not path.is_file():
        there = sorted(file.stem for file in (root / "config" / key).glob("*.yaml"))
        raise ConfigError(
            f"{key}: {name!r} has no file {_shown(path, root)}",
            where=where,
            hint=f"config/{key} has {', '.join(there) or 'none'}",
        )
    return path


def _shown(path: Path, root: Path) -> str:
    return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)


def _require(present: bool, key: str, value: str, folder: str, where: str) -> None:
    if not present:
        raise ConfigError(
            f"{key}: there is no file {folder}/{value}",
            where=where,
            hint="put it there or correct the name",
        )


def check_files(paths: Iterable[Path], root: Path) -> None:
    """Look for what Snakemake's own reading of configuration files passes over: keys given twice.

    Raises:
        ConfigError: with the first thing that is wrong.
    """
    for path in paths:
        read_yaml(path, str(path.relative_to(root)) if path.is_relative_to(root) else str(path))


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
        path = config_file("probes", name, root, where)
        shown = _shown(path, root)
        probe = validate(Probe, read_yaml(path, shown), shown)
        if probe.published is not None:
            table = root / "data" / "published" / probe.published.file
            _require(table.is_file(), "published.file", table.name, "data/published", shown)
        _add(probe, probes, root, shown)
    sweeps = []
    for name in lab.sweeps:
        path = config_file("sweeps", name, root, where)
        shown = _shown(path, root)
        chosen = read_sweep(path, shown, lab.subset, lab.only, where)
        sweeps.append(chosen)
        _add(chosen.probe, [*probes, *(other.probe for other in sweeps[:-1])], root, shown)
    return Configuration(lab, probes, sweeps)


def _add(probe: Probe, others: list[Probe], root: Path, shown: str) -> None:
    """Append a probe to the `others`, if its name is new and its kernel is there."""
    if any(probe.name == other.name for other in others):
        raise ConfigError(f"name: two probes are called {probe.name!r}", where=shown)
    kernel = root / "kernels" / probe.kernel
    _require(kernel.is_file(), "kernel", probe.kernel, "kernels", shown)
    others.append(probe)


def read_sweep(
    path: Path, shown: str, subset: str, only: str, where: str = "config"
) -> ChosenSweep:
    """A sweep, with the points that the lab's keys `subset` and `only` leave.

    Raises:
        ConfigError: with the first thing that is wrong.
    """
    sweep = validate(Sweep, read_yaml(path, shown), shown)
    if subset and subset not in sweep.subsets:
        raise ConfigError(
            f"subset: {shown} has no subset {subset!r}",
            where=where,
            hint=f"it has {', '.join(sweep.subsets) or 'none'}",
        )
    try:
        points = list(sweep.points(subset, condition(only) if only else ""))
    except ValueError as error:
        raise ConfigError(f"only: {error}", where=where) from None
    if not points:
        raise ConfigError(f"only: no point of {shown} is left", where=where)
    return ChosenSweep(sweep, points, as_probe(sweep, points))
