"""The rule for code generators: JSON with its provenance, a Python function, a C++ header."""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import jinja2
from pydantic import Field, ValidationError

from probelab.architectures import arch_order
from probelab.canonical import digest
from probelab.codegen.points import Observation, Scope, Shape
from probelab.codegen.regret import RULE_LEFT_OUT, Losses, Regret
from probelab.codegen.rule import Rule
from probelab.errors import DataError
from probelab.schema.base import Record

FORMAT = 1
DEFAULT_FILE = Path("results/rule.json")
_HEADER = "accumulators.hpp.j2"


class Step(Record):
    """Chain lengths, both ends included, and the number of accumulators that they deserve."""

    first: int
    last: int
    accumulators: int


class Provenance(Record):
    """What a rule rests on."""

    sweep: str
    source: Literal["measured", "predicted"]
    backends: list[str]
    devices: list[str]
    measured_at: list[str] = Field(description="first and last time of measurement; empty: none")
    points: int
    data: str = Field(description="SHA-256 of launches, kernel digests and cycles")


class Loss(Record):
    """What the rule loses at lengths that it wasn't made from, percent of the best's cycles."""

    mean_percent: float
    worst_percent: float
    worst_length: int


class ExportedRule(Record):
    """The rule for one architecture, occupation and shape."""

    arch: str
    warps_per_sub_core: float
    op: str
    reduction: str
    operands: str
    unroll: int
    lengths: list[int] = Field(description="lengths that were run; between them it interpolates")
    intervals: list[Step]
    simple: list[Step] = Field(description="fewest intervals that lose at most 1 % anywhere")
    left_out: Loss | None = None
    provenance: Provenance

    @property
    def key(self) -> tuple[str, float, str, str, str, int]:
        """What it is looked up by."""
        shape = (self.op, self.reduction, self.operands, self.unroll)
        return (self.arch, self.warps_per_sub_core, *shape)

    def accumulators(self, length: int) -> int:
        """For a chain of that length; beyond the lengths that were run, as at their end."""
        step = next((one for one in self.intervals if length <= one.last), self.intervals[-1])
        return min(step.accumulators, length)


class RuleBook(Record):
    """All rules; each question has one answer."""

    format: int = FORMAT
    version: str = Field(description="of probelab")
    rules: list[ExportedRule]

    def rule(
        self,
        *,
        op: str = "fma",
        reduction: str = "none",
        warps_per_sub_core: float = 1,
        arch: str = "",
        operands: str = "register",
        unroll: int = 1,
    ) -> ExportedRule:
        """The rule for these settings.

        Args:
            arch: `sm_90`; empty: the first one that there is a rule for.

        Raises:
            DataError: if there is none.
        """
        known = {one.key: one for one in self.rules}
        arch = arch or (self.rules[0].arch if self.rules else "")
        key = (arch, warps_per_sub_core, op, reduction, operands, unroll)
        if key not in known:
            raise DataError(
                f"there is no rule for {op}, reduction {reduction}, operands {operands}, unroll "
                f"{unroll}, {warps_per_sub_core:g} warps per sub-core, {arch or 'no architecture'}",
                hint="run a sweep that holds it",
            )
        return known[key]

    def accumulators(self, length: int, **settings: Any) -> int:
        """How many accumulators a chain of that length deserves; settings as in `rule`.

        Raises:
            DataError: if there is no rule, or no such chain.
        """
        if length < 1:
            raise DataError(f"a chain of {length} instructions is none")
        return self.rule(**settings).accumulators(length)

    @classmethod
    def read(cls, path: Path) -> "RuleBook":
        """Read `rule.json`.

        Raises:
            DataError: if it is missing or damaged.
        """
        try:
            return cls.model_validate_json(path.read_bytes())
        except FileNotFoundError:
            raise DataError(
                "there is no rule here", where=str(path), hint="run snakemake with a sweep"
            ) from None
        except ValidationError as error:
            raise DataError(f"not a rule: {error.errors()[0]['msg']}", where=str(path)) from None

    def as_json(self) -> str:
        """Indented, so that it can be read; equal rules give equal text."""
        return json.dumps(self.model_dump(mode="json"), indent=1, sort_keys=True) + "\n"


@lru_cache(maxsize=8)
def _book(path: Path, _changed: int) -> RuleBook:
    return RuleBook.read(path)


def accumulators(
    length: int,
    *,
    op: str = "fma",
    reduction: str = "none",
    warps_per_sub_core: float = 1,
    arch: str = "",
    operands: str = "register",
    unroll: int = 1,
    file: Path = DEFAULT_FILE,
) -> int:
    """How many accumulators a chain of `length` instructions deserves.

    Args:
        length: instructions of the chain.
        op: fma, add, mul, imad or iadd.
        reduction: none, after (the loop), chain or tree (in each iteration).
        warps_per_sub_core: that share a scheduler.
        arch: `sm_90`; empty: the first one that there is a rule for.
        operands: register, immediate or constant.
        unroll: repetitions of the body in an iteration.
        file: `rule.json` of a run.

    Raises:
        DataError: if there is no rule for these settings, or no file.
    """
    path = file.resolve()
    changed = path.stat().st_mtime_ns if path.is_file() else 0
    return _book(path, changed).accumulators(
        length,
        op=op,
        reduction=reduction,
        warps_per_sub_core=warps_per_sub_core,
        arch=arch,
        operands=operands,
        unroll=unroll,
    )


def _provenance(
    rule: Rule, own: Sequence[Observation], measured_at: Mapping[str, str]
) -> Provenance:
    dates = sorted(date for one in own if (date := measured_at.get(one.launch, "")))
    return Provenance(
        sweep=rule.scope.sweep,
        source=rule.source,
        backends=sorted({one.backend for one in own}),
        devices=sorted({one.device for one in own if one.device}),
        measured_at=[dates[0], dates[-1]] if dates else [],
        points=len(own),
        data=digest([[one.launch, one.role, one.kernel_digest, one.cycles] for one in own]),
    )


def _steps(intervals: Iterable[Any]) -> list[Step]:
    return [
        Step(first=one.first, last=one.last, accumulators=one.accumulators) for one in intervals
    ]


def rule_book(
    rules: Sequence[Rule],
    found: Sequence[Observation],
    regrets: Sequence[Regret],
    measured_at: Mapping[str, str],
    version: str,
) -> RuleBook:
    """The rules to export: measured ones before predicted ones, then those of more lengths.

    Args:
        rules: of all scopes and shapes.
        found: the points that they were made from.
        regrets: of all ways to choose.
        measured_at: time of measurement by launch.
        version: of probelab.
    """
    points: dict[tuple[Scope, Shape], list[Observation]] = {}
    for one in found:
        points.setdefault((one.scope, one.shape), []).append(one)
    losses: dict[tuple[Scope, Shape], list[Regret]] = {}
    for lost in regrets:
        if lost.way == RULE_LEFT_OUT:
            losses.setdefault((lost.scope, lost.shape), []).append(lost)
    ordered = sorted(
        rules, key=lambda one: (one.source != "measured", -len(one.best), one.scope, one.shape)
    )
    chosen: dict[Any, ExportedRule] = {}
    for rule in ordered:
        key = (rule.scope, rule.shape)
        loss = Losses.of(losses[key]) if key in losses else None
        made = ExportedRule(
            arch=rule.scope.arch,
            warps_per_sub_core=rule.scope.warps_per_sub_core,
            op=rule.shape.op,
            reduction=rule.shape.reduction,
            operands=rule.shape.operands,
            unroll=rule.shape.unroll,
            lengths=sorted(rule.best),
            intervals=_steps(rule.intervals),
            simple=_steps(rule.simple),
            left_out=loss
            and Loss(
                mean_percent=loss.mean_percent,
                worst_percent=loss.worst_percent,
                worst_length=loss.worst_length,
            ),
            provenance=_provenance(rule, points[key], measured_at),
        )
        chosen.setdefault(made.key, made)
    measured = {one.arch for one in chosen.values() if one.provenance.source == "measured"}
    return RuleBook(
        version=version,
        rules=sorted(
            chosen.values(),
            key=lambda one: (one.arch not in measured, arch_order(one.arch), one.key),
        ),
    )


def _cpp(rule: ExportedRule) -> str:
    """The rule as one expression over `length`."""
    *steps, last = rule.intervals
    text = "".join(f"length <= {one.last} ? {one.accumulators} : " for one in steps)
    return f"{text}{last.accumulators}"


def _says(rule: ExportedRule) -> str:
    """A rule's provenance in a line of comment."""
    known = rule.provenance
    text = f"{known.source}, {rule.arch}, sweep {known.sweep}"
    text += f", {', '.join(known.devices)}" if known.devices else ""
    text += f", {known.measured_at[0][:10]}" if known.measured_at else ""
    text += f", lengths {rule.lengths[0]} to {rule.lengths[-1]}"
    if rule.left_out is not None:
        text += f"; at a length left out it loses {rule.left_out.mean_percent:.2f} %"
        text += f", at worst {rule.left_out.worst_percent:.1f} %"
    return text


def header(book: RuleBook) -> str:
    """`probelab_accumulators.hpp`: the same answers as a constexpr function of C++17.

    Architectures with a letter (`sm_90a`) run code of their own; the header has plain numbers, so
    they are left out.
    """
    template = jinja2.Environment(
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, autoescape=False,
        undefined=jinja2.StrictUndefined,
    ).from_string(
        files("probelab.codegen").joinpath("templates", _HEADER).read_text(encoding="utf-8")
    )  # fmt: skip
    rules = [
        {
            "arch": int(one.arch.removeprefix("sm_")),
            "warps": int(one.warps_per_sub_core),
            "op": one.op,
            "reduction": one.reduction,
            "operands": "registers" if one.operands == "register" else one.operands,
            "unroll": one.unroll,
            "expression": _cpp(one),
            "says": _says(one),
        }
        for one in book.rules
        if one.arch.removeprefix("sm_").isdecimal() and one.warps_per_sub_core.is_integer()
    ]
    text: str = template.render(version=book.version, rules=rules, digest=digest(book.model_dump()))
    return text
