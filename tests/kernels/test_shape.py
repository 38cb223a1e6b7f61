"""What the compiler makes of the kernels, looked up in the SASS of builds made here."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.kernels import kernel_listing
from tests.kernels.conftest import Unit, Variant, coresident, isolated
from tests.kernels.kernel_listing import arithmetic, chains, registers, role_bodies, timed_loops

ARITHMETIC = ("independent_fma", "independent_add", "dependent_fma_chain", "dependent_add_chain")
CHAIN7 = {
    "dependent_fma_7": [7],
    "independent_fma_7_2acc_4_3": [4, 3],
    "independent_fma_7_3acc_3_2_2": [3, 2, 2],
    "independent_fma_7_4acc_tail_a3_missing": [2, 2, 2, 1],
    "independent_fma_7_4acc_tail_a0_missing": [1, 2, 2, 2],
    "independent_fma_7_7acc_once": [1, 1, 1, 1, 1, 1, 1],
    "dependent_fma_8": [8],
    "independent_fma_8_4acc_balanced": [2, 2, 2, 2],
}
LENGTHS = (1, 2, 3, 5, 7, 8, 29, 64)
IRREGULAR = {f"dependent_fma_{n}": [n] for n in LENGTHS} | {
    f"independent_fma_{n}": [len(range(first, n, 4)) for first in range(min(n, 4))] for n in LENGTHS
}
CONTROLLED = {
    f"dependent_{operation}_{n}": [n] for n in LENGTHS for operation in ("fma", "add", "mul")
}

FAST_MATH = ("-use_fast_math",)
SOURCES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "arithmetic_dependency.cu": (ARITHMETIC, FAST_MATH),
    "chain7_tail_distribution.cu": (tuple(CHAIN7), ()),
    "irregular_fma_shape.cu": (tuple(IRREGULAR), ()),
    "controlled_arithmetic_chain.cu": (tuple(CONTROLLED), ()),
}
SETUP = {"MOV", "IMAD.MOV.U32", "HFMA2.MMA"}

Build = Callable[..., Unit]


def all_variants(roles: tuple[str, ...]) -> tuple[Variant, ...]:
    return (*isolated(*roles), coresident("IN_LOOP", *roles), coresident("HOISTED", *roles))


@pytest.fixture(params=[86, 90], ids=["sm_86", "sm_90"], scope="session")
def architecture(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture(scope="session")
def unit(build: Build, architecture: int) -> Callable[[str], Unit]:
    def unit(source: str) -> Unit:
        roles, flags = SOURCES[source]
        return build(source, all_variants(roles), architecture, flags)

    return unit


def operation(role: str) -> str:
    return "FADD" if "_add" in role else "FMUL" if "_mul" in role else "FFMA"


def intended_chains(source: str, role: str) -> list[int]:
    if source == "arithmetic_dependency.cu":
        return [16] if role.startswith("dependent") else [2] * 8
    return ({**CHAIN7} if source.startswith("chain7") else {**IRREGULAR, **CONTROLLED})[role]


def intended_arithmetic(source: str, role: str) -> dict[str, int]:
    lengths = intended_chains(source, role)
    counts = {operation(role): sum(lengths)}
    # The second note's sink: one addition per accumulator in every iteration.
    return counts | ({"FADD": len(lengths)} if source.startswith("chain7") else {})


@pytest.mark.parametrize("source", SOURCES)
def test_every_role_has_its_shape_in_all_three_forms(
    unit: Callable[[str], Unit], source: str
) -> None:
    roles, _ = SOURCES[source]
    built = unit(source)
    in_loop, hoisted = (
        built.kernels[f"in_loop_{len(roles)}"],
        built.kernels[f"hoisted_{len(roles)}"],
    )
    (loop,) = timed_loops(in_loop)
    bodies = dict(zip(roles, role_bodies(in_loop, loop, len(roles)), strict=True))
    hoisted_loops = timed_loops(hoisted)
    assert len(hoisted_loops) == len(roles)
    for role in roles:
        (alone,) = timed_loops(built.kernels[f"isolated_{role}"])
        lengths = sorted(intended_chains(source, role))
        for body in (alone, bodies[role]):
            assert arithmetic(body) == intended_arithmetic(source, role), role
            assert sorted(chains(body, operation(role))) == lengths, role
        assert any(
            arithmetic(other) == arithmetic(alone)
            and sorted(chains(other, operation(role))) == lengths
            for other in hoisted_loops
        ), role
        assert {i.opcode for i in bodies[role]} - SETUP <= {i.opcode for i in alone}, role


@pytest.mark.parametrize("source", SOURCES)
def test_no_kernel_uses_local_memory(unit: Callable[[str], Unit], source: str) -> None:
    resources = unit(source).resources
    assert set(re.findall(r"(?:STACK|LOCAL):(\d+)", resources)) == {"0"}


@pytest.mark.parametrize("source", SOURCES)
def test_each_timed_loop_reads_the_clock_once_and_branches_once(
    unit: Callable[[str], Unit], source: str
) -> None:
    for name, kernel in unit(source).kernels.items():
        for loop in timed_loops(kernel):
            assert sum("SR_CLOCKLO" in i.text for i in loop) == 1, name
            if "in_loop" not in name:
                assert sum(i.base == "BRA" for i in loop) == 1, name


@pytest.mark.parametrize("source", SOURCES)
def test_siblings_have_equal_loop_control(unit: Callable[[str], Unit], source: str) -> None:
    for name, kernel in unit(source).kernels.items():
        if name.startswith("isolated_"):
            (loop,) = timed_loops(kernel)
            body = {"FFMA", "FADD", "FMUL"}
            control = [i.base for i in loop if i.base not in body and i.opcode not in SETUP]
            assert sorted(control) in (
                ["BRA", "CS2R", "IADD3", "ISETP", "ISETP"],
                ["BRA", "CS2R", "ISETP", "ISETP", "VIADD"],
            ), name


@pytest.mark.parametrize("source", SOURCES)
def test_operands_stay_in_the_registers_of_the_thread(
    unit: Callable[[str], Unit], source: str
) -> None:
    for kernel in unit(source).kernels.values():
        for loop in timed_loops(kernel):
            for instruction in loop:
                if instruction.base in {"FFMA", "FADD", "FMUL"}:
                    assert not re.search(r"\bUR\d|c\[", instruction.text), instruction.text


# ---------------------------------------------------------------------------------- the first note


def test_eight_start_values(build: Build) -> None:
    built = build("arithmetic_dependency.cu", all_variants(ARITHMETIC), 86, FAST_MATH)
    for name in ("in_loop_4", "hoisted_4", "isolated_independent_fma", "isolated_independent_add"):
        found = [
            i
            for i in built.kernels[name]
            if re.fullmatch(r"FFMA\.FTZ R\d+, R\d+\S*, R\d+\S*, [1-8]", i.text)
        ]
        assert {i.operands[3] for i in found} == set("12345678"), name
        assert len({i.operands[0] for i in found}) == 8, name
        assert len({(registers(i.operands[1]), registers(i.operands[2])) for i in found}) == 1, name


def in_loop_bodies(build: Build, architecture: int) -> dict[str, kernel_listing.Kernel]:
    kernel = build(
        "arithmetic_dependency.cu", all_variants(ARITHMETIC), architecture, FAST_MATH
    ).kernels["in_loop_4"]
    (loop,) = timed_loops(kernel)
    return dict(zip(ARITHMETIC, role_bodies(kernel, loop, 4), strict=True))


def dependent_bodies(
    build: Build, architecture: int, role: str
) -> list[list[kernel_listing.Instruction]]:
    """The steps and source setups of a role: in the in_loop kernel, and in its isolated one."""
    unit = build("arithmetic_dependency.cu", all_variants(ARITHMETIC), architecture, FAST_MATH)
    (loop,) = timed_loops(unit.kernels[f"isolated_{role}"])
    return [
        [i for i in body if i.base in {"FFMA", "FADD"} or i.opcode in SETUP]
        for body in (in_loop_bodies(build, architecture)[role], loop)
    ]


def test_independent_roles_update_the_same_eight_registers(build: Build, architecture: int) -> None:
    bodies = in_loop_bodies(build, architecture)
    updated = {
        role: {i.operands[0] for i in bodies[role] if i.base in {"FFMA", "FADD"}}
        for role in ("independent_fma", "independent_add")
    }
    assert updated["independent_fma"] == updated["independent_add"]
    assert len(updated["independent_fma"]) == 8


def test_dependent_add_is_one_register_and_immediates(build: Build, architecture: int) -> None:
    for body in dependent_bodies(build, architecture, "dependent_add_chain"):
        (register,) = {registers(i.operands[0]) for i in body}
        assert len(body) == 16
        for instruction in body:
            assert re.fullmatch(rf"FADD\.FTZ {register}, {register}, [0-9.]+", instruction.text)


def test_dependent_fma_sets_its_sources_up_between_the_steps(
    build: Build, architecture: int
) -> None:
    for body in dependent_bodies(build, architecture, "dependent_fma_chain"):
        steps = [i for i in body if i.base == "FFMA"]
        assert len(steps) == 16
        assert all(re.fullmatch(r"FFMA\.FTZ R\d+, R\d+, R\d+, [0-9.]+", i.text) for i in steps)
        assert len({i.operands[0] for i in steps}) <= 2
        setups = [i for i in body if i.opcode in SETUP]
        assert len(setups) == 16
        between = body[body.index(steps[0]) : body.index(steps[-1])]
        assert sum(i in setups for i in between) >= 12


# ----------------------------------------------------------------------------------- operand forms


def test_second_note_multiplies_register_by_accumulator_and_adds_register(
    build: Build, architecture: int
) -> None:
    built = build("chain7_tail_distribution.cu", all_variants(tuple(CHAIN7)), architecture, ())
    (loop,) = timed_loops(built.kernels["in_loop_8"])
    steps = [i for i in loop if i.base == "FFMA"]
    assert len({(registers(i.operands[1]), registers(i.operands[3])) for i in steps}) == 1
    assert all(registers(operand) for i in steps for operand in i.operands)


def test_controlled_chains_differ_in_the_operation_alone(build: Build, architecture: int) -> None:
    built = build(
        "controlled_arithmetic_chain.cu", all_variants(tuple(CONTROLLED)), architecture, ()
    )
    for length in LENGTHS:
        skeletons, costs = set(), set()
        for operation_name in ("fma", "add", "mul"):
            (loop,) = timed_loops(built.kernels[f"isolated_dependent_{operation_name}_{length}"])
            steps = [i for i in loop if i.base in {"FFMA", "FADD", "FMUL"}]
            assert len({frozenset(registers(o) for o in i.operands) for i in steps}) == 1, length
            accumulator = registers(steps[0].operands[0])
            for step in steps:
                assert len({registers(o) for o in step.operands} - {accumulator}) == 1, step.text
            skeletons.add(tuple("step" if i in steps else i.opcode for i in loop))
            costs.add(sum(i.stall for i in loop))
        assert len(skeletons) == 1 and len(costs) == 1, length


# ---------------------------------------------------------------------------------------- building

SAMPLES = {
    "arithmetic_dependency.cu": coresident("IN_LOOP", *ARITHMETIC),
    "chain7_tail_distribution.cu": coresident("HOISTED", *CHAIN7),
    "irregular_fma_shape.cu": isolated("independent_fma_29")[0],
    "controlled_arithmetic_chain.cu": isolated("dependent_mul_7")[0],
}


@pytest.mark.parametrize("source", SOURCES)
def test_a_kernel_is_the_same_alone_and_among_others(
    unit: Callable[[str], Unit], build: Build, architecture: int, source: str
) -> None:
    variant = SAMPLES[source]
    alone = build(source, (variant,), architecture, SOURCES[source][1], by_command_line=True)
    assert list(alone.kernels) == [variant.name]
    assert alone.kernels[variant.name] == unit(source).kernels[variant.name]


@pytest.mark.parametrize("architecture", [75, 100, 120], ids="sm_{}".format)
def test_other_architectures_keep_the_shape_and_select_by_branches(
    build: Build, architecture: int
) -> None:
    built = build("chain7_tail_distribution.cu", all_variants(tuple(CHAIN7)), architecture, ())
    for role, lengths in CHAIN7.items():
        (loop,) = timed_loops(built.kernels[f"isolated_{role}"])
        assert arithmetic(loop) == {"FFMA": sum(lengths), "FADD": len(lengths)}, role
        assert sorted(chains(loop, "FFMA")) == sorted(lengths), role
    for kernel in built.kernels.values():
        assert not any(i.base == "BRX" for i in kernel)
