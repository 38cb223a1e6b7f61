"""The sweep kernel's host reference, which takes the settings as arguments."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from probelab.build.station import Bench, build_chunk
from probelab.config.sweeps import Point, defines
from probelab.errors import ToolError
from probelab.timing.judge import Query
from probelab.timing.reference import HostReference, ReferenceProcess
from tests.sweeps.conftest import Built
from tests.sweeps.sweeps_support import OPERANDS, POINTS, Lane, chunk, point, variant

#: Of config/sweeps/forms.yaml.
SEED = 1 + 2**-22
SEEDS = (SEED, 0.5, 2.0)


@pytest.fixture
def library(built: Callable[..., Built]) -> Path:
    return built("sm_86").reference(POINTS[0])


def settings(one: Point) -> list[int]:
    return [number for _, number in sorted(defines(one).items())]


def test_a_build_names_the_settings(built: Callable[..., Built]) -> None:
    rows = built("sm_86").rows
    [reference] = {row.reference for row in rows.values()}
    assert Path(reference).name == "chain.settings.so"
    for one in POINTS:
        assert rows[one.role].reference_settings == settings(one)
        assert rows[one.role].reference_roles == [one.role]


@pytest.mark.parametrize("thread", [0, 96, 992])
def test_sinks_are_those_of_an_exact_computation(library: Path, thread: int) -> None:
    iterations = (1, 2, 3, 6)
    for one, seed in zip(POINTS, itertools.cycle(SEEDS), strict=False):
        lane = Lane(one, thread, Fraction(seed))
        expected = []
        for _ in range(max(iterations)):
            lane.iterate()
            expected.append(lane.sink())
        found = HostReference(library, settings(one)).sinks(Query(0, thread, iterations), seed)
        assert found == [expected[count - 1] for count in iterations], one.role


def test_every_iteration_shows_in_the_sink(library: Path) -> None:
    for one in POINTS:
        reference = HostReference(library, settings(one))
        for start in (1, 100_000):
            query = Query(0, 32, tuple(range(start, start + 50)))
            sinks = reference.sinks(query, SEED)
            assert len(set(sinks)) == len(sinks), (one.role, start)


@pytest.mark.parametrize("op", ["fma", "add", "mul"])
@pytest.mark.parametrize("operands", OPERANDS)
def test_numbers_stay_normal_for_ten_million_cycles(library: Path, op: str, operands: str) -> None:
    """A step takes four cycles; with one accumulator, a sum after the loop is the accumulator."""
    one = point((1, 1, "last", 1), op=op, operands=operands, reduction="after")
    counts = tuple(count for n in (10, 1_000, 100_000, 2_500_000) for count in (n, n + 1))
    for thread in (0, 480, 992):
        sinks = HostReference(library, settings(one)).sinks(Query(0, thread, counts), SEED)
        assert all(2.0**-126 <= abs(sink) < math.inf for sink in sinks)
        assert all(a != b for a, b in itertools.pairwise(sinks))


def test_in_a_process_of_its_own(library: Path) -> None:
    one, other = POINTS[0], POINTS[1]
    process = ReferenceProcess()
    try:
        query = Query(0, 32, (3, 5))
        for known in (one, other, one):
            expected = HostReference(library, settings(known)).sinks(query, SEED)
            assert process.sinks(library, SEED, [query], settings(known)) == {
                (0, 32, 3): expected[0],
                (0, 32, 5): expected[1],
            }
        with pytest.raises(ToolError, match=r"refuses settings \[17, .*\] \(status 1\)"):
            process.sinks(library, SEED, [query], [17, *settings(one)[1:]])
    finally:
        process.close()


def test_settings_out_of_range_are_refused(library: Path) -> None:
    good = settings(POINTS[0])
    for wrong in ([*good, 1], good[:-1], *([*good[:i], 5000, *good[i + 1 :]] for i in range(7))):
        with pytest.raises(ToolError, match="refuses settings"):
            HostReference(library, wrong).sinks(Query(0, 0, (1,)), SEED)


def test_a_kernel_that_knows_roles_only(bench: Bench) -> None:
    """With settings of its own it goes unchecked: its reference would know nothing of them."""
    one = variant(POINTS[0], "sm_86").model_copy(
        update={"kernel": "irregular_fma_shape.cu", "roles": ["dependent_fma_7"]}
    )
    plain = one.model_copy(update={"id": "plain-0123456789ab", "defines": {}})
    rows = build_chunk(chunk([one, plain]), bench).by_id()
    assert [rows[v.id].status for v in (one, plain)] == ["ok", "ok"]
    assert rows[one.id].reference == ""
    assert Path(rows[plain.id].reference).name == "irregular_fma_shape.reference.so"
    assert rows[plain.id].reference_settings == []
