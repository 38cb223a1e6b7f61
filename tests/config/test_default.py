"""The project's own configuration: it loads, fits the kernels, and can be overridden."""

import re
from pathlib import Path
from typing import Any

import pytest
from snakemake.cli import parse_config
from snakemake.utils import update_config

from probelab.config.load import Configuration, load, read_yaml
from probelab.plan import plan


@pytest.fixture(scope="module")
def default(root: Path) -> Configuration:
    return load(read_yaml(root / "config" / "config.yaml"), root)


def overridden(root: Path, *entries: str, file: dict[str, Any] | None = None) -> Configuration:
    """The configuration as Snakemake merges it: its file, another, and `--config` entries."""
    settings = read_yaml(root / "config" / "config.yaml")
    update_config(settings, file or {})
    update_config(settings, parse_config(entries))
    return load(settings, root)


def test_probes_and_notes_settings(default: Configuration):
    assert [probe.name for probe in default.probes] == [
        "arithmetic_dependency",
        "chain7_tail_distribution",
        "irregular_fma_shape",
        "controlled_arithmetic_chain",
    ]
    lab = default.lab
    assert (lab.repeats, lab.clock_budget_cycles) == (10, 10_000_000)
    assert lab.coresident_threads_per_block == [256]
    assert lab.isolated_threads_per_block == [128, 256]


@pytest.mark.parametrize("index", range(4))
def test_roles_exist_in_the_kernel(default: Configuration, root: Path, index: int):
    probe = default.probes[index]
    text = (root / "kernels" / probe.kernel).read_text(encoding="utf-8")
    families = set(re.findall(r"using (\w+_)##N\b", text))
    for name in probe.role_names:
        stem, _, length = name.rpartition("_")
        from_family = f"{stem}_" in families and length.isdigit() and 1 <= int(length) <= 64
        assert from_family or re.search(rf"using {name} =", text), name


def test_intents_agree_with_the_names(default: Configuration):
    opcodes = {"fma": "FFMA", "add": "FADD", "mul": "FMUL"}
    for probe in default.probes:
        for role in probe.roles:
            assert role.intent is not None
            kind, operation, *rest = role.name.split("_")
            assert role.intent.opcode == opcodes[operation]
            assert (role.intent.accumulators == 1) == (kind == "dependent" or rest == ["1"])
            length = int(rest[0]) if rest and rest[0].isdigit() else 16
            assert role.intent.count == length


def test_split_lengths(default: Configuration):
    irregular = {role.name: role.intent for role in default.probes[2].roles}
    chains = {n: irregular[f"independent_fma_{n}"].chains for n in (1, 3, 7, 8, 29, 64)}
    assert chains == {
        1: [1],
        3: [1, 1, 1],
        7: [2, 2, 2, 1],
        8: [2, 2, 2, 2],
        29: [8, 7, 7, 7],
        64: [16, 16, 16, 16],
    }


def test_references_are_those_of_the_notes(default: Configuration):
    references = {role.name: role.reference for probe in default.probes for role in probe.roles}
    expected = {
        "independent_fma": None,
        "dependent_fma_chain": "independent_fma",
        "dependent_add_chain": "independent_add",
        "independent_fma_7_2acc_4_3": "dependent_fma_7",
        "independent_fma_7_7acc_once": "dependent_fma_7",
        "independent_fma_8_4acc_balanced": "dependent_fma_8",
        "independent_fma_29": "dependent_fma_29",
        "dependent_mul_16": "dependent_fma_16",
    }
    assert {name: references[name] for name in expected} == expected
    assert [probe.ratio for probe in default.probes][:2] == ["percent", "difference"]


def test_coresident_sets_fill_a_block(default: Configuration):
    sizes = [[len(members) for members in probe.coresident_sets] for probe in default.probes]
    assert sizes == [[4], [8], [8], [8, 8]]


def test_claims_state_no_forbidden_sentence(default: Configuration):
    for probe in default.probes:
        said = [claim.statement for claim in probe.claims]
        said += [rule.instead for rule in probe.wording] + [probe.title, probe.question]
        for rule in probe.wording:
            for forbidden in rule.forbidden:
                assert not [text for text in said if forbidden.lower() in text.lower()]


def test_prescribed_sentence_is_there_word_for_word(default: Configuration):
    assert default.probes[0].wording[0].instead == (
        "In this kernel shape, dependent_add_chain produced a stricter single-register FADD "
        "dependency chain than dependent_fma_chain. As a result, dependent_add_chain showed lower "
        "progress under the same clock budget."
    )


def test_claims_cover_every_section_of_the_notes(default: Configuration):
    def sections(note: str) -> set[str]:
        sources = [claim.source for probe in default.probes for claim in probe.claims]
        rules = [rule.source for probe in default.probes for rule in probe.wording]
        ours = " ".join(source for source in sources + rules if source.startswith(note))
        return set(re.findall(r"\d+(?:\.\d+)?", ours.replace("conclusion", "")))

    first = {"1", "2", "3", "4", "5", "6", "7", "8", "9.1", "9.2", "9.3", "9.4", "10", "11", "12"}
    assert first <= sections("first note")
    second = {f"10.{n}" for n in range(3, 8)} | {"10.1", "11.1", "11.2", "11.3", "12", "13", "14"}
    assert second <= sections("second note")


# --- precedence ------------------------------------------------------------------------------


def test_command_line_wins_over_file_wins_over_default(root: Path):
    assert overridden(root).lab.repeats == 10
    assert overridden(root, file={"repeats": 20}).lab.repeats == 20
    assert overridden(root, "repeats=30", file={"repeats": 20}).lab.repeats == 30


def test_command_line_values_arrive_typed(root: Path):
    lab = overridden(
        root,
        "architectures=[sm_90]",
        "isolated_threads_per_block=[64, 128]",
        "seed=1",
        "timeout_s=2.5",
        "strict=true",
        "retime=2",
        "probes=[chain7_tail_distribution]",
        "backend=model",
    ).lab
    assert lab.architectures == ["sm_90"]
    assert lab.isolated_threads_per_block == [64, 128]
    assert (lab.seed, lab.timeout_s, lab.strict, lab.retime) == (1.0, 2.5, True, "2")
    assert lab.probes == ["chain7_tail_distribution"]
    assert lab.backend == "model"
    assert overridden(root, "retime=").lab.retime == ""


def test_probe_wins_over_lab(load_small, lab, probe):
    launches = plan(load_small({**lab, "blocks": 4}, {**probe, "blocks": 2}))[0].launches
    assert {launch.blocks for launch in launches} == {2}
    own = {**probe, "placements": ["coresident"], "dispatches": ["hoisted"]}
    own |= {"coresident_threads_per_block": [64], "clock_budget_cycles": 5000, "seed": 1.5}
    (chunk, _) = plan(load_small(lab, own))
    (launch,) = chunk.launches
    assert chunk.variants[0].dispatch == "hoisted"
    assert (launch.threads_per_block, launch.clock_budget_cycles, launch.seed) == (64, 5000, 1.5)
    assert launch.role_map == [0, 1]
