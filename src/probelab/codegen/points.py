"""The points of a sweep with their figures and their features."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Literal, TypeAlias, get_args

from probelab.analyse.statistics import EQUIVALENCE
from probelab.codegen.features import Features, features, latencies, read_excerpt
from probelab.config.sweeps import Op, Operands, Point, Reduction
from probelab.errors import DataError
from probelab.predict.constants import load_constants
from probelab.schema.manifests import RoleShape
from probelab.schema.tidy import Evidence

Row: TypeAlias = Mapping[str, Any]
Source: TypeAlias = Literal["measured", "predicted"]


@dataclass(frozen=True, order=True)
class Scope:
    """Launches that are compared with each other: one sweep, architecture and occupation."""

    sweep: str
    arch: str
    warps_per_sub_core: float


@dataclass(frozen=True)
class Shape:
    """What a generator has settled before it asks for a number of accumulators.

    Shapes are ordered as the axes of a sweep are.
    """

    op: str
    reduction: str
    operands: str
    unroll: int

    def __lt__(self, other: "Shape") -> bool:
        return self._place < other._place

    @property
    def _place(self) -> tuple[int, int, int, int]:
        axes = ((self.op, Op), (self.operands, Operands), (self.reduction, Reduction))
        op, operands, reduction = (
            get_args(axis).index(value) if value in get_args(axis) else len(get_args(axis))
            for value, axis in axes
        )
        return op, operands, reduction, self.unroll

    def __str__(self) -> str:
        parts = [self.op]
        parts += [f"{self.operands} operands"] if self.operands != "register" else []
        parts += [f"reduction {self.reduction}"] if self.reduction != "none" else []
        parts += [f"unrolled {self.unroll} times"] if self.unroll != 1 else []
        return ", ".join(parts)


@dataclass(frozen=True)
class Observation:
    """One point at one number of warps, with cycles per iteration of one warp."""

    scope: Scope
    point: Point
    role: str
    source: Source
    backend: str
    device: str
    cycles: float
    low: float | None
    high: float | None
    warp_spread: float | None
    predicted: float | None
    features: Features
    launch: str = ""
    kernel_digest: str = ""

    @property
    def shape(self) -> Shape:
        """Its op, reduction, operands and unrolling."""
        point = self.point
        return Shape(point.op, point.reduction, point.operands, point.unroll)

    @property
    def even_tail(self) -> bool:
        """Whether a remainder falls to the first accumulators, which is what the rule is about."""
        return self.point.tail == "last"


def compare(left: Observation, right: Observation) -> int | None:
    """-1 if `left` takes fewer cycles, 1 if more, 0 if equal, None where noise hides it.

    Equal is less than 0.1 % apart, as everywhere in the lab.
    """
    if abs(left.cycles / right.cycles - 1) <= EQUIVALENCE:
        return 0
    faster, slower = sorted((left, right), key=lambda one: one.cycles)
    if faster.high is not None and slower.low is not None and faster.high >= slower.low:
        return None
    return -1 if left is faster else 1


def as_good(one: Observation, best: Observation) -> bool:
    """Whether `one` can't be told from the best."""
    return compare(one, best) in (0, None)


def _shapes(evidence: Evidence) -> dict[str, dict[str, RoleShape]]:
    return {
        variant: {shape.role: shape for shape in row.roles}
        for variant, row in evidence.shape.items()
    }


def _usable(row: Row) -> bool:
    return (
        row["status"] == "ok"
        and row["placement"] == "isolated"
        and row["blocks"] == 1
        and row["shape_status"] in ("ok", "not checked")
        and row["cycles_per_iteration_mean"] is not None
    )


def _of_one_source(rows: Sequence[Row]) -> list[Row]:
    """Measurements where there are any, else predictions; never both."""
    measured = [row for row in rows if row["backend"] != "model"]
    return measured or list(rows)


def observations(
    rows: Iterable[Row], evidence: Evidence, points: Mapping[str, Mapping[str, Point]]
) -> list[Observation]:
    """All points of sweeps that have a figure, in order of scope and point.

    Args:
        rows: of the summary.
        evidence: the manifests; of these, shape is used.
        points: for each sweep (by its probe's name) the point of each role.
    """
    shapes = _shapes(evidence)
    scopes: dict[Scope, list[Row]] = defaultdict(list)
    by_arch: dict[str, dict[tuple[str, str], RoleShape]] = defaultdict(dict)
    for row in rows:
        known = row["role"] in points.get(row["probe"], {})
        shape = shapes.get(row["variant"], {}).get(row["role"])
        if not known or not _usable(row) or shape is None or not shape.excerpt:
            continue
        scope = Scope(row["probe"], row["arch"], row["warps_per_sub_core"])
        scopes[scope].append(row)
        by_arch[scope.arch][row["variant"], row["role"]] = shape
    paths = {
        arch: {key: read_excerpt(shape.excerpt) for key, shape in own.items()}
        for arch, own in by_arch.items()
    }
    latency = {arch: latencies(own.values()) for arch, own in paths.items()}
    found = []
    for scope, own in sorted(scopes.items()):
        constants = load_constants(scope.arch)
        for row in _of_one_source(own):
            key = (row["variant"], row["role"])
            found.append(
                Observation(
                    scope=scope,
                    point=points[scope.sweep][row["role"]],
                    role=row["role"],
                    source="predicted" if row["backend"] == "model" else "measured",
                    backend=row["backend"],
                    device=row["device"],
                    cycles=row["cycles_per_iteration_mean"],
                    low=row["cycles_per_iteration_ci_low"],
                    high=row["cycles_per_iteration_ci_high"],
                    warp_spread=row["warp_spread_cycles_per_iteration"],
                    predicted=row["predicted_cycles_per_iteration"],
                    features=features(
                        by_arch[scope.arch][key],
                        paths[scope.arch][key],
                        scope.warps_per_sub_core,
                        latency[scope.arch],
                        constants,
                    ),
                    launch=row["launch"],
                    kernel_digest=row["kernel_digest"],
                )
            )
    return sorted(found, key=_order)


def _order(one: Observation) -> tuple[Any, ...]:
    point = one.point
    return (one.scope, one.shape, point.length, point.accumulators, point.tail, one.launch)


def by_scope(found: Sequence[Observation]) -> Iterator[tuple[Scope, list[Observation]]]:
    """Observations of each scope."""
    for scope, own in groupby(found, key=lambda one: one.scope):
        yield scope, list(own)


def by_shape(found: Sequence[Observation]) -> dict[Shape, list[Observation]]:
    """Observations of one scope by what the generator has settled."""
    shapes: dict[Shape, list[Observation]] = defaultdict(list)
    for one in found:
        shapes[one.shape].append(one)
    return dict(sorted(shapes.items()))


def by_length(found: Sequence[Observation]) -> dict[int, dict[int, Observation]]:
    """Length → accumulators → observation, of one shape; the tail is short at the last ones.

    Raises:
        DataError: if a point was run twice in one scope.
    """
    lengths: dict[int, dict[int, Observation]] = defaultdict(dict)
    for one in found:
        if one.even_tail:
            own = lengths[one.point.length]
            if one.point.accumulators in own:
                raise DataError("there are two launches of one point", where=one.launch)
            own[one.point.accumulators] = one
    return {length: dict(sorted(own.items())) for length, own in sorted(lengths.items())}
