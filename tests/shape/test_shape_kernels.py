"""The project's own kernels, compiled here, hold their declared intents."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from probelab.sass import Kernel, parse_listing
from probelab.schema.intent import Intent
from probelab.schema.manifests import RoleShape
from probelab.shape import check
from tests.sass.sass_support import REPOSITORY, Compile, unit

#: Roles that are compiled here; empty: all that the probe's config names.
SOME = {
    "irregular_fma_shape": [
        f"{kind}_fma_{n}" for n in (7, 29, 64) for kind in ("dependent", "independent")
    ],
    "controlled_arithmetic_chain": [f"dependent_{op}_8" for op in ("fma", "add", "mul")],
}


def probe(name: str) -> tuple[dict[str, Any], dict[str, Intent]]:
    config = yaml.safe_load((REPOSITORY / "config" / "probes" / f"{name}.yaml").read_text())
    intents = {role["name"]: Intent(**role["intent"]) for role in config["roles"]}
    return config, {role: intents[role] for role in SOME.get(name, intents)}


def kernels(compile_cuda: Compile, name: str, arch: int) -> dict[str, Kernel]:
    """By role for isolated kernels, and `in_loop` and `hoisted` for those with all roles."""
    config, intents = probe(name)
    roles = list(intents)
    variants = [(role, [role], "") for role in roles]
    variants += [("k_in_loop", roles, "IN_LOOP"), ("k_hoisted", roles, "HOISTED")]
    source = unit(
        config["kernel"], [(f"k_{one}" if not d else one, r, d) for one, r, d in variants]
    )
    listing = compile_cuda(source, arch, "-w", *config.get("flags", [])).listing
    return {one.name.removeprefix("k_"): one for one in parse_listing(listing)}


BUILDS = [
    ("arithmetic_dependency", 86),
    ("arithmetic_dependency", 90),
    ("chain7_tail_distribution", 86),
    ("chain7_tail_distribution", 90),
    # ptxas leaves this probe's long loop by a far CALL.
    ("irregular_fma_shape", 86),
    ("controlled_arithmetic_chain", 90),
    # Uniform branches, and a NOP where the roles' ways meet.
    ("arithmetic_dependency", 120),
]


@pytest.mark.parametrize(("name", "arch"), BUILDS)
def test_every_form_of_a_probe_is_as_declared(compile_cuda: Compile, name: str, arch: int) -> None:
    _, intents = probe(name)
    built = kernels(compile_cuda, name, arch)
    for role in intents:
        row = check(built[role], [role], "isolated", "none", intents)
        assert (row.status, row.reason) == ("ok", ""), role
        (shape,) = row.roles
        assert shape.dispatch == shape.other == 0
    for dispatch in ("in_loop", "hoisted"):
        row = check(built[dispatch], list(intents), "coresident", dispatch, intents)
        assert (row.status, row.reason) == ("ok", ""), dispatch
        for shape in row.roles:
            assert (shape.dispatch > 0) == (dispatch == "in_loop")
            covered = shape.setup + shape.reduction + shape.dispatch + shape.loop_control
            assert covered + shape.other + sum(shape.chains) == shape.instructions


def in_loop(compile_cuda: Compile, name: str, arch: int) -> dict[str, RoleShape]:
    _, intents = probe(name)
    kernel = kernels(compile_cuda, name, arch)["in_loop"]
    row = check(kernel, list(intents), "coresident", "in_loop", intents)
    return {shape.role: shape for shape in row.roles}


def test_arithmetic_probe_has_what_the_first_note_shows(compile_cuda: Compile) -> None:
    _, intents = probe("arithmetic_dependency")
    shapes = in_loop(compile_cuda, "arithmetic_dependency", 86)
    for role in ("independent_fma", "independent_add"):
        assert len(shapes[role].accumulators) == 8
        assert len({one[0] for one in shapes[role].accumulators}) == 8
    add = shapes["dependent_add_chain"]
    steps = intents["dependent_add_chain"].count
    assert add.description == f"single-register FADD chain of {steps} with immediates"
    assert add.opcodes["FADD.FTZ"] == steps
    assert add.setup == 0
    fma = shapes["dependent_fma_chain"]
    assert fma.opcodes["FFMA.FTZ"] == steps
    assert fma.setup > 0
    assert len(fma.accumulators) == 1


def test_chain7_probe_has_the_second_notes_form(compile_cuda: Compile) -> None:
    shapes = in_loop(compile_cuda, "chain7_tail_distribution", 86)
    assert shapes["independent_fma_7_2acc_4_3"].chains == [4, 3]
    assert shapes["independent_fma_7_3acc_3_2_2"].chains == [3, 2, 2]
    assert shapes["independent_fma_7_4acc_tail_a0_missing"].chains == [2, 2, 2, 1]
    seven = shapes["independent_fma_7_7acc_once"]
    assert seven.description == "seven live accumulators, one FFMA each"
    # A sum of k accumulators and a sink takes k additions.
    assert all(shape.reduction == len(shape.chains) for shape in shapes.values())


def test_swapped_intents_are_noticed(compile_cuda: Compile) -> None:
    _, intents = probe("chain7_tail_distribution")
    built = kernels(compile_cuda, "chain7_tail_distribution", 90)
    wrong = {"dependent_fma_7": intents["independent_fma_7_2acc_4_3"]}
    row = check(built["dependent_fma_7"], ["dependent_fma_7"], "isolated", "none", wrong)
    assert row.status == "broken"
    assert "expected 2 accumulators (4 and 3 instructions), found 1 (7)" in row.reason
