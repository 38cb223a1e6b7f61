"""Each mistake in a configuration is one line that names file, key and what to do."""

import copy
import math
from pathlib import Path
from typing import Any

import pytest

from probelab.config.load import load, read_yaml
from probelab.errors import ConfigError
from probelab.plan import plan

PROBE_FILE = "config/probes/small.yaml"


def set_in(data: Any, path: str, value: Any) -> Any:
    """A copy of `data` with the value at `a.0.b` replaced, or removed if it is `...`."""
    data = copy.deepcopy(data)
    *parents, last = [int(part) if part.isdigit() else part for part in path.split(".")]
    inner = data
    for part in parents:
        inner = inner[part]
    if value is ...:
        del inner[last]
    else:
        inner[last] = value
    return data


def line_of(error: pytest.ExceptionInfo[ConfigError]) -> str:
    line = str(error.value)
    assert "\n" not in line
    assert "Traceback" not in line
    return line


def test_the_small_project_is_right(load_small, lab, probe):
    assert load_small(lab, probe).probes[0].role_names == ["one", "two"]


LAB_MISTAKES = [
    ("repeat", 3, "repeat: this key is unknown; did you mean 'repeats'?"),
    ("zzz", 3, "zzz: this key is unknown; see config/README.md"),
    ("repeats", ..., "repeats: this key is missing; see config/README.md"),
    ("repeats", "many", "repeats: Input should be a valid integer"),
    ("repeats", 2.5, "repeats: Input should be a valid integer"),
    ("repeats", True, "repeats: True is not a number"),
    ("repeats", 0, "repeats: Input should be greater than or equal to 1, not 0"),
    ("repeats", None, "repeats: Input should be a valid integer, not None"),
    ("warmup", -1, "warmup: Input should be greater than or equal to 0"),
    ("blocks", 0, "blocks: Input should be greater than or equal to 1"),
    ("blocks", True, "blocks: True is not a number"),
    ("clock_budget_cycles", 10, "clock_budget_cycles: Input should be greater than"),
    ("seed", math.nan, "seed: Input should be a finite number, not nan"),
    ("seed", "x", "seed: Input should be a valid number"),
    ("timeout_s", 0, "timeout_s: Input should be greater than 0"),
    ("chunk_size", 0, "chunk_size: Input should be greater than or equal to 1"),
    ("chunk_size", 201, "chunk_size: Input should be less than or equal to 200"),
    ("strict", "perhaps", "strict: Input should be a valid boolean"),
    ("backend", "gpu", "backend: Input should be 'auto', 'pycuda', 'recorded' or 'model'"),
    ("toolchain", 13.2, "toolchain: Input should be a valid string, not 13.2"),
    ("toolchain", "", "toolchain: String should have at least 1 character"),
    ("cache", "", "cache: String should have at least 1 character"),
    ("retime", ["a"], "retime: Input should be a valid string"),
    ("architectures", "sm_86", "architectures: this must be a list, for instance [sm_86]"),
    ("architectures", [], "architectures: List should have at least 1 item"),
    ("architectures", ["86"], "architectures.0: '86' is not an architecture like sm_86"),
    ("architectures", ["sm_86; rm -rf /"], "architectures.0: 'sm_86; rm -rf /' is not an arch"),
    ("architectures", ["sm_86\n"], "architectures.0: 'sm_86\\n' is not an architecture"),
    ("architectures", ["sm_86", "sm_86"], "architectures: 'sm_86' stands there twice"),
    ("placements", ["alone"], "placements.0: Input should be 'isolated' or 'coresident'"),
    ("placements", [], "placements: List should have at least 1 item"),
    ("dispatches", ["early"], "dispatches.0: Input should be 'in_loop' or 'hoisted'"),
    ("dispatches", ["in_loop", "in_loop"], "dispatches: 'in_loop' stands there twice"),
    ("isolated_threads_per_block", [100], "isolated_threads_per_block.0: 100 is not a multiple"),
    ("isolated_threads_per_block", [0], "isolated_threads_per_block.0: 0 is not a multiple"),
    ("isolated_threads_per_block", [2048], "isolated_threads_per_block.0: 2048 is not a mult"),
    ("isolated_threads_per_block", [128, 128], "isolated_threads_per_block: 128 stands there"),
    ("coresident_threads_per_block", 256, "coresident_threads_per_block: this must be a list"),
    ("probes", [], "probes: neither probes nor sweeps are named"),
    ("probes", "small", "probes: this must be a list, for instance [small]"),
    ("probes", ["small", "small"], "probes: 'small' stands there twice"),
    ("probes", ["other"], "probes: 'other' has no file config/probes/other.yaml (config/probes "),
    ("probes", ["../x"], "probes: '../x' is neither a plain name"),
    ("probes", ["a; rm -rf"], "probes: 'a; rm -rf' is neither a plain name"),
    ("probes", ["$(id).yaml"], "probes: '$(id).yaml' has no file $(id).yaml"),
    ("probes", ["a\nb.yaml"], "probes: 'a\\nb.yaml' is neither a plain name"),
    ("probes", ["small", "config/probes/small.yaml"], "two probes are called 'small'"),
]


@pytest.mark.parametrize(("key", "value", "message"), LAB_MISTAKES)
def test_lab(load_small, lab, probe, key, value, message):
    with pytest.raises(ConfigError) as error:
        load_small(set_in(lab, key, value), probe)
    line = line_of(error)
    assert message in line
    assert line.startswith(("config: ", f"{PROBE_FILE}: "))


ROLE_TWICE = [{"name": "one"}, {"name": "one"}]

PROBE_MISTAKES = [
    ("kernell", "x.cu", "kernell: this key is unknown; did you mean 'kernel'?"),
    ("roles.0.refrence", "two", "roles.0.refrence: this key is unknown"),
    ("roles.0.intent.opcodes", "FADD", "roles.0.intent.opcodes: this key is unknown"),
    ("title", ..., "title: this key is missing"),
    ("title", True, "title: Input should be a valid string, not True"),
    ("name", "a b", "name: 'a b' is not a plain identifier"),
    ("name", "../x", "name: '../x' is not a plain identifier"),
    ("name", "a; rm -rf", "name: 'a; rm -rf' is not a plain identifier"),
    ("name", "x" * 65, "is not a plain identifier"),
    ("name", "7x", "name: '7x' is not a plain identifier"),
    ("name", "größe", "name: 'größe' is not a plain identifier"),
    ("name", "one\n", "name: 'one\\n' is not a plain identifier"),
    ("kernel", "../x.cu", "kernel: '../x.cu' is not the name of a .cu file in kernels/"),
    ("kernel", "small.cuh", "kernel: 'small.cuh' is not the name of a .cu file"),
    ("kernel", "a;b.cu", "kernel: 'a;b.cu' is not the name of a .cu file"),
    ("kernel", "other.cu", "kernel: there is no file kernels/other.cu (put it there or"),
    ("flags", "-g", "flags: this must be a list, for instance [-g]"),
    ("flags", ["O3"], "flags.0: 'O3' is not a single nvcc flag"),
    ("flags", ["-maxrregcount 32"], "flags.0: '-maxrregcount 32' is not a single nvcc flag"),
    ("flags", ["-x; id"], "flags.0: '-x; id' is not a single nvcc flag"),
    ("flags", ["-o"], "flags.0: '-o' is set by the lab itself"),
    ("flags", ["-arch=sm_90"], "flags.0: '-arch=sm_90' is set by the lab itself"),
    ("flags", ["--gpu-architecture=sm_90"], "is set by the lab itself"),
    ("flags", ["-DPROBE_NAME=x"], "flags.0: '-DPROBE_NAME=x' is set by the lab itself"),
    ("flags", ["-rdc=true"], "flags.0: '-rdc=true' is set by the lab itself"),
    ("flags", ["--keep-dir=x"], "flags.0: '--keep-dir=x' is set by the lab itself"),
    ("roles", [], "roles: List should have at least 1 item"),
    ("roles", ROLE_TWICE, "roles: 'one' stands there twice; give each role its own name"),
    ("roles.0.name", "fma-7", "roles.0.name: 'fma-7' is not a plain identifier; use letters"),
    ("roles.0.name", 7, "roles.0.name: Input should be a valid string, not 7"),
    ("roles.1.reference", "three", "roles: 'two' has the reference 'three', which is no role"),
    ("roles.0.intent.opcode", "ffma", "opcode 'ffma' is not the name of an instruction"),
    ("roles.0.intent.opcode", "FFMA.FTZ", "opcode 'FFMA.FTZ' is not the name of an instr"),
    ("roles.0.intent.chains", [], "chains [] are not counts from 1 in descending order"),
    ("roles.0.intent.chains", [3, 4], "chains [3, 4] are not counts from 1 in descending"),
    ("roles.0.intent.chains", [1, 0], "chains [1, 0] are not counts from 1 in descending"),
    ("roles.0.intent.registers", "two", "roles.0.intent.registers: Input should be 'single'"),
    ("coresident", [["one", "three"]], "coresident: 'three' is no role of this probe"),
    ("coresident", [["one", "one"]], "coresident.0: 'one' stands there twice"),
    ("coresident", [["one", "two"], ["one", "two"]], "stands there twice"),
    ("coresident", [], "coresident: List should have at least 1 item"),
    ("coresident", [[]], "coresident.0: List should have at least 1 item"),
    ("coresident", ["one"], "coresident.0: this must be a list, for instance [one]"),
    ("coresident", [["one"], ["two"]], "claims: 'first' is about coresident roles that share"),
    ("placements", [], "placements: List should have at least 1 item"),
    ("blocks", "two", "blocks: Input should be a valid integer"),
    ("ratio", "factor", "ratio: Input should be 'percent' or 'difference'"),
    ("claims.0.expect", "one", "claim 'first': expect 'one' is not of the form 'a > b ≈ c'"),
    ("claims.0.expect", "one < two", "expect 'one < two' is not of the form"),
    ("claims.0.expect", "one > two >", "expect 'one > two >' is not of the form"),
    ("claims.0.expect", "one two", "expect 'one two' is not of the form"),
    ("claims.0.expect", "", "expect '' is not of the form"),
    ("claims.0.expect", "one > three", "claims: 'first' names 'three', which is no role"),
    ("claims.0.id", "a/b", "claims.0.id: 'a/b' is not a plain identifier"),
    ("claims.0.source", ..., "claims.0.source: this key is missing"),
    ("claims.0.scope.dispatch", "none", "placement coresident can't go with dispatch none"),
    ("claims.0.scope.placement", "isolated", "placement isolated can't go with dispatch in_"),
    ("claims.0.scope.threads_per_block", 100, "100 is not a multiple of 32"),
    ("wording", [{"forbidden": "x", "instead": "y", "source": "z"}], "wording.0.forbidden: this"),
    (
        "published",
        {"file": "../x.csv", "title": "t", "source": "s"},
        "published: '../x.csv' is not the name of a .csv file in data/published/",
    ),
    (
        "published",
        {"file": "x.csv", "title": "t", "source": "s"},
        "published.file: there is no file data/published/x.csv",
    ),
]


@pytest.mark.parametrize(("key", "value", "message"), PROBE_MISTAKES)
def test_probe(load_small, lab, probe, key, value, message):
    with pytest.raises(ConfigError) as error:
        load_small(lab, set_in(probe, key, value))
    line = line_of(error)
    assert line.startswith(f"{PROBE_FILE}: ")
    assert message in line


def test_a_misspelt_key_is_named_rather_than_the_missing_one(load_small, lab, probe):
    lab["repeat"] = lab.pop("repeats")
    with pytest.raises(ConfigError, match="repeat: this key is unknown; did you mean 'repeats'"):
        load_small(lab, probe)


def test_claim_twice(load_small, lab, probe):
    probe["claims"] *= 2
    with pytest.raises(ConfigError, match="claims: the id 'first' stands there twice"):
        load_small(lab, probe)


def test_an_own_flag_that_looks_like_ours_is_taken(load_small, lab, probe):
    probe["flags"] = ["-use_fast_math", "--maxrregcount=32", "-Xptxas=-O1", "-lineinfo", "-G"]
    assert load_small(lab, probe).probes[0].flags == probe["flags"]


def test_coresident_sets_too_large(load_small, lab, probe):
    probe["roles"] = [{"name": f"role_{i}"} for i in range(9)]
    probe["claims"] = []
    with pytest.raises(ConfigError) as error:
        plan(load_small(lab, probe))
    line = line_of(error)
    assert line == (
        "probe small: 9 coresident roles don't fit into the 8 warps of 256 threads (raise "
        "coresident_threads_per_block, or name smaller sets under `coresident`)"
    )
    plan(load_small({**lab, "placements": ["isolated"]}, probe))
    plan(load_small({**lab, "coresident_threads_per_block": [288]}, probe))


YAML_MISTAKES = [
    ("a: 1\nb: 2\na: 3\n", "the key 'a' stands there twice, line 3"),
    ("a: {b: 1, b: 2}\n", "the key 'b' stands there twice, line 1"),
    ("a: [1\n", "line 2"),
    ("\ta: 1\n", "line 1"),
    ("? [a, b]\n: 1\n", "a key must be a plain word, line 1"),
    ("a: \x01\n", "this is not YAML"),
    ("a: 2026-13-45\n", "this is not YAML"),
    ("a: !!python/object/apply:os.system [id]\n", "could not determine a constructor"),
    ("a: *nowhere\n", "found undefined alias"),
]


@pytest.mark.parametrize(("text", "message"), YAML_MISTAKES)
def test_yaml(tmp_path: Path, text, message):
    path = tmp_path / "x.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as error:
        read_yaml(path)
    line = line_of(error)
    assert line.startswith(str(path))
    assert message in line


def test_unreadable_files(tmp_path: Path):
    (tmp_path / "latin.yaml").write_bytes(b"a: \xff\n")
    with pytest.raises(ConfigError, match=r"latin\.yaml: this is not UTF-8 text"):
        read_yaml(tmp_path / "latin.yaml")
    with pytest.raises(ConfigError, match=r"none\.yaml: can't be read: No such file"):
        read_yaml(tmp_path / "none.yaml")
    with pytest.raises(ConfigError, match="can't be read: Is a directory"):
        read_yaml(tmp_path)


@pytest.mark.parametrize("text", ["", "- a\n", "just text\n", "1: x\n"])
def test_not_a_mapping(tmp_path: Path, lab, text):
    (tmp_path / "mine.yaml").write_text(text)
    with pytest.raises(ConfigError) as error:
        load({**lab, "probes": ["mine.yaml"]}, tmp_path)
    assert line_of(error).startswith("mine.yaml: ")


@pytest.mark.parametrize("settings", [None, [], {}, {1: 2}])
def test_settings_that_are_none(root: Path, settings: Any):
    with pytest.raises(ConfigError) as error:
        load(settings, root)
    assert line_of(error).startswith("config: ")
