"""Machine code of the sweep kernel: each point is exactly what its settings say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from probelab.build.station import Bench, build_chunk
from probelab.config.sweeps import Point, intent
from probelab.sass.operands import Constant, Register
from probelab.schema.intent import Intent
from probelab.schema.manifests import RoleShape
from probelab.shape import check
from probelab.store import Store
from tests.sweeps.conftest import Built
from tests.sweeps.sweeps_support import POINTS, SHAPES, chunk, point, variant

ARCHITECTURES = ("sm_86", "sm_90")


def shape(built: Built, one: Point, wanted: Intent | None = None) -> RoleShape:
    [found] = check(
        built.kernels[one.role],
        [one.role],
        "isolated",
        "none",
        {one.role: wanted or intent(one)},
    ).roles
    return found


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_each_point_has_the_shape_that_it_is_named_for(
    built: Callable[..., Built], arch: str
) -> None:
    shapes = {one.role: shape(built(arch), one) for one in POINTS}
    assert {role: one.findings for role, one in shapes.items() if one.status != "ok"} == {}
    for one in POINTS:
        assert shapes[one.role].chains == one.chains
        assert (shapes[one.role].setup, shapes[one.role].other) == (0, 0)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_another_shape_is_not_taken_for_it(built: Callable[..., Built], arch: str) -> None:
    for one in POINTS:
        first, *others = one.chains
        longer = intent(one).model_copy(update={"chains": [first + 1, *others]})
        assert shape(built(arch), one, longer).status == "broken", one.role
        other_form = {"register": "immediate", "immediate": "constant", "constant": "register"}
        form = intent(one).model_copy(update={"operands": other_form[one.operands]})
        assert shape(built(arch), one, form).status == "broken", one.role


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_constant_operands(built: Callable[..., Built], arch: str) -> None:
    """In the constant bank on sm_86; from sm_90 on in a uniform register."""
    for one in (one for one in POINTS if one.operands == "constant"):
        kernel = built(arch).kernels[one.role]
        body = {step.address for step in shape(built(arch), one).path if step.region == "body"}
        kinds = {
            Constant if any(isinstance(o, Constant) for o in instruction.operands) else Register
            for instruction in kernel.instructions
            if instruction.address in body
        }
        assert kinds == {Constant if arch == "sm_86" else Register}, one.role


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_reductions(built: Callable[..., Built], arch: str) -> None:
    """A sum of floats takes an addition for each accumulator; one of integers fewer: IADD3."""
    for one in POINTS:
        found = shape(built(arch), one).reduction
        additions = one.accumulators * one.unroll if one.reduction in ("chain", "tree") else 0
        if one.op in ("fma", "add", "mul"):
            assert found == additions, one.role
        else:
            assert additions / 2 <= found <= additions, one.role


@pytest.mark.parametrize("op", ["fma", "iadd"])
def test_the_longest(built: Callable[..., Built], op: str) -> None:
    longest = point((1024, 16, "last", 1), op=op, reduction="tree")
    assert shape(built("sm_90", (longest,)), longest).findings == []


def test_a_kernel_in_a_unit_is_the_kernel_alone(
    built: Callable[..., Built], bench: Bench, tmp_path: Path
) -> None:
    alone = Bench(bench.kernels, bench.toolchain, tmp_path / "results", Store(tmp_path / "cache"))
    points = [one for one in POINTS if one.length == 29 and one.accumulators == 4][:3]
    assert len({one.op for one in points}) > 1
    for one in points:
        [row] = build_chunk(chunk([variant(one, "sm_86")]), alone).rows
        assert row.kernel_digest == built("sm_86").rows[one.role].kernel_digest


def test_no_two_shapes_are_one_kernel(built: Callable[..., Built]) -> None:
    rows = [built("sm_86").rows[point(one, op="fma").role] for one in SHAPES]
    assert len({row.kernel_digest for row in rows}) == len(SHAPES)
