"""The CPU reference of the sinks, against exact rational arithmetic and over long runs."""

from __future__ import annotations

import ctypes
import math
import re
import struct
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from tests.kernels.conftest import KERNELS, Reference, run
from tests.kernels.test_shape import ARITHMETIC, CHAIN7

ROLES: dict[str, tuple[str, ...]] = {
    "arithmetic_dependency.cu": ARITHMETIC,
    "chain7_tail_distribution.cu": tuple(CHAIN7),
    "irregular_fma_shape.cu": tuple(
        f"{kind}_fma_{n}" for n in (1, 2, 3, 7, 29) for kind in ("dependent", "independent")
    ),
    "controlled_arithmetic_chain.cu": tuple(
        f"dependent_{operation}_{n}" for n in (1, 7, 29) for operation in ("fma", "add", "mul")
    ),
}
CASES = [(source, index) for source, roles in ROLES.items() for index in range(len(roles))]
CASE_NAMES = [f"{source.split('_')[0]}-{ROLES[source][index]}" for source, index in CASES]

# No loop takes less: the clock read, two compares and a taken branch.
FEWEST_CYCLES_PER_ITERATION = 20
CLOCK_BUDGET_CYCLES = 10_000_000

# -------------------------------------------------- an exact model, written down a second time


def rounded(value: Fraction) -> Fraction:
    """To the nearest float32, ties to even. The values here are normal."""
    if value == 0:
        return value
    exponent = math.floor(math.log2(abs(value)))
    while Fraction(2) ** exponent > abs(value):
        exponent -= 1
    while Fraction(2) ** (exponent + 1) <= abs(value):
        exponent += 1
    unit = Fraction(2) ** (exponent - 23)
    return Fraction(round(value / unit)) * unit


def float32(value: float) -> Fraction:
    return Fraction(struct.unpack("f", struct.pack("f", value))[0])


def total(values: list[Fraction]) -> Fraction:
    result = values[0]
    for value in values[1:]:
        result = rounded(result + value)
    return result


def model(source: str, role: str, thread: int, seed_value: float) -> Iterator[Fraction]:
    """The sink after 0, 1, 2, … iterations."""
    seed = float32(seed_value)

    def start(slot: int) -> Fraction:
        return rounded(thread * rounded(seed / 2**10) + slot + 1)

    multiplier = rounded(-(thread + 1024) * rounded(seed / 2**32) - 1)
    addend = rounded((thread + 1) * rounded(seed / 2**13) + Fraction(3, 4))

    if source.startswith("arithmetic"):
        fused = "fma" in role
        order = [0] * 16 if role.startswith("dependent") else [*range(8), *range(8)]

        def step(x: Fraction, position: int) -> Fraction:
            constant = rounded(float32(0.55) + rounded(position * float32(0.1)))
            product = x * (1 + Fraction(position + 1, 2**23)) if fused else x
            return rounded(product + constant)
    else:
        length = int(re.findall(r"_(\d+)", role)[0])
        count = 1 if role.startswith("dependent") else min(4, length)
        if match := re.search(r"_(\d)acc", role):
            count = int(match[1])
        order = (
            [0, 1, 2, 3, 1, 2, 3]
            if role.endswith("a0_missing")
            else [i % count for i in range(length)]
        )

        def step(x: Fraction, position: int) -> Fraction:  # noqa: ARG001 (the form of the other one)
            if source.startswith("controlled"):
                kind = role.split("_")[1]
                product = x if kind == "add" else x * multiplier
                return rounded(product if kind == "mul" else product + multiplier)
            return rounded(x * multiplier + addend)

    accumulators = [start(slot) for slot in range(max(order) + 1)]
    sink = Fraction(0)
    while True:
        yield sink if source.startswith("chain7") else total(accumulators)
        for position, slot in enumerate(order):
            accumulators[slot] = step(accumulators[slot], position)
        sink = rounded(sink + total(accumulators))


@pytest.fixture(scope="session")
def of_probe(reference: Callable[..., Reference]) -> Callable[[str], Reference]:
    return lambda source: reference(source, ROLES[source])


@pytest.mark.parametrize(("source", "index"), CASES, ids=CASE_NAMES)
def test_agrees_with_exact_arithmetic(
    of_probe: Callable[[str], Reference], source: str, index: int
) -> None:
    counts = [0, 1, 2, 3, 10, 40]
    for thread, seed in ((0, 1.0), (32, 0.999), (992, 1.7)):
        sinks = of_probe(source).sinks(index, thread, seed, counts)
        exact = model(source, ROLES[source][index], thread, seed)
        expected = [
            value for count, value in zip(range(41), exact, strict=False) if count in counts
        ]
        assert [Fraction(sink) for sink in sinks] == expected, (thread, seed)


@pytest.mark.parametrize(("source", "index"), CASES, ids=CASE_NAMES)
def test_sinks_stay_normal_and_tell_iterations_apart(
    of_probe: Callable[[str], Reference], source: str, index: int
) -> None:
    most = CLOCK_BUDGET_CYCLES // FEWEST_CYCLES_PER_ITERATION
    # A chain needs four cycles a step, so a long one gets through fewer iterations.
    per_chain = max(int(n) for n in re.findall(r"_(\d+)", ROLES[source][index]) or ["16"])
    if ROLES[source][index].startswith("dependent"):
        most = min(most, CLOCK_BUDGET_CYCLES // (4 * per_chain))
    for seed in (0.5, 1.0, 2.0):
        sinks = of_probe(source).sinks(
            index, 992, seed, [most // 10, most - 2, most - 1, most, most + 1]
        )
        assert all(math.isfinite(sink) and 2.0**-100 < abs(sink) < 2.0**100 for sink in sinks), (
            sinks
        )
        assert len(set(sinks)) == len(sinks), sinks


def test_roles_and_warps_have_sinks_of_their_own(of_probe: Callable[[str], Reference]) -> None:
    for source, roles in ROLES.items():
        names: dict[tuple[float, ...], list[str]] = {}
        for index, role in enumerate(roles):
            # Of one step, both kinds are the same.
            names.setdefault(tuple(of_probe(source).sinks(index, 64, 1.0, [1000])), []).append(role)
        assert all(
            len(same) == 1 or same == ["dependent_fma_1", "independent_fma_1"]
            for same in names.values()
        ), names
        threads = {
            of_probe(source).sinks(0, thread, 1.0, [1000])[0] for thread in range(0, 1024, 32)
        }
        assert len(threads) == 32


def test_without_fused_instructions_the_result_is_the_same(
    reference: Callable[..., Reference],
) -> None:
    source = "arithmetic_dependency.cu"
    portable = reference(source, ROLES[source], "-DPROBE_WITHOUT_FMA")
    for index in range(len(ROLES[source])):
        assert portable.sinks(index, 96, 0.999, [5, 5000]) == reference(
            source, ROLES[source]
        ).sinks(index, 96, 0.999, [5, 5000])


def test_says_what_it_cannot_do(of_probe: Callable[[str], Reference]) -> None:
    probe = of_probe("arithmetic_dependency.cu")
    assert probe.call(4, 0, 1.0, [1])[0] == 1
    assert probe.call(-1, 0, 1.0, [1])[0] == 1
    assert probe.call(0, 0, 1.0, [2, 1])[0] == 2


# -------------------------------------------------------------------------------------- the record


class ProbeRecord(ctypes.Structure):
    _fields_ = (
        ("progress", ctypes.c_uint64),
        ("cycles", ctypes.c_uint64),
        ("sink", ctypes.c_float),
        ("role", ctypes.c_uint32),
        ("warp_slot", ctypes.c_uint32),
        ("block", ctypes.c_uint32),
        ("sm_id", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
    )


def test_record_layout(tmp_path: Path) -> None:
    names = [name for name, _ in ProbeRecord._fields_]
    offsets = [getattr(ProbeRecord, name).offset for name in names]
    assert offsets == [0, 8, 16, 20, 24, 28, 32, 36] and ctypes.sizeof(ProbeRecord) == 40
    check = tmp_path / "layout.cc"
    lines = ["#include <cstddef>", f'#include "{KERNELS / "probe.cuh"}"']
    lines += [
        f"static_assert(offsetof(ProbeRecord, {name}) == {offset});"
        for name, offset in zip(names, offsets, strict=True)
    ]
    check.write_text("\n".join(lines) + "\n")
    run("g++", "-std=c++17", "-fsyntax-only", "-DPROBE_HOST", "-DPROBE_ROLES=none", check)
