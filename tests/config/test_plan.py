"""What a configuration becomes: variants, launches and chunks."""

import hashlib
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from probelab.config.load import Configuration, load, read_yaml
from probelab.config.models import Lab, Probe
from probelab.errors import ConfigError
from probelab.plan import chunks_of, launches_of, plan, variants_of
from probelab.schema.plan import Chunk, Variant

LENGTHS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 16, 20, 24, 28, 29, 32, 48, 64]


@pytest.fixture(scope="module")
def settings(root: Path) -> dict[str, Any]:
    return read_yaml(root / "config" / "config.yaml")


@pytest.fixture(scope="module")
def chunks(settings: dict[str, Any], root: Path) -> list[Chunk]:
    return plan(load(settings, root))


def sweep(count: int, **lab: Any) -> Configuration:
    """A configuration of one probe with `count` isolated roles on one architecture."""
    base = {
        "probes": ["sweep"],
        "sweeps": [],
        "subset": "",
        "only": "",
        "architectures": ["sm_90"],
        "toolchain": "pinned",
        "placements": ["isolated"],
        "dispatches": ["in_loop"],
        "isolated_threads_per_block": [128],
        "coresident_threads_per_block": [256],
        "blocks": 1,
        "clock_budget_cycles": 1_000_000,
        "seed": 1.0,
        "repeats": 1,
        "warmup": 0,
        "backend": "model",
        "timeout_s": 10,
        "retime": "",
        "chunk_size": 50,
        "strict": False,
        "cache": ".cache",
    }
    probe = {
        "name": "sweep",
        "title": "Sweep",
        "question": "?",
        "kernel": "sweep.cu",
        "roles": [{"name": f"role_{index}"} for index in range(count)],
    }
    return Configuration(Lab.model_validate(base | lab), [Probe.model_validate(probe)])


def places(chunks: list[Chunk]) -> dict[str, str]:
    """Variant id → chunk id."""
    return {variant.id: chunk.id for chunk in chunks for variant in chunk.variants}


# --- the default configuration, counted by hand ------------------------------------------------


def test_counts(chunks: list[Chunk]):
    # Isolated: a variant per role and a launch at 128 and at 256 threads. Coresident: a variant
    # per set of roles and dispatch, one launch. All of it for sm_86 and sm_90.
    per_architecture = {
        "arithmetic_dependency": (4 + 1 * 2, 4 * 2 + 1 * 2),
        "chain7_tail_distribution": (8 + 1 * 2, 8 * 2 + 1 * 2),
        "irregular_fma_shape": (2 * 20 + 1 * 2, 2 * 20 * 2 + 1 * 2),
        "controlled_arithmetic_chain": (3 * 8 + 2 * 2, 3 * 8 * 2 + 2 * 2),
    }
    assert {chunk.id: (len(chunk.variants), len(chunk.launches)) for chunk in chunks} == {
        f"{probe}.{arch}.b": counts
        for probe, counts in per_architecture.items()
        for arch in ("sm_86", "sm_90")
    }
    assert sum(len(chunk.variants) for chunk in chunks) == 172
    assert sum(len(chunk.launches) for chunk in chunks) == 324


def test_launches(chunks: list[Chunk]):
    chunk = next(chunk for chunk in chunks if chunk.id == "chain7_tail_distribution.sm_86.b")
    variants = {variant.id: variant for variant in chunk.variants}
    forms = Counter(
        (variants[launch.variant].placement, launch.threads_per_block, tuple(launch.role_map))
        for launch in chunk.launches
    )
    assert forms == {
        ("isolated", 128, (0,) * 4): 8,
        ("isolated", 256, (0,) * 8): 8,
        ("coresident", 256, tuple(range(8))): 2,
    }


def test_four_roles_share_eight_warps(chunks: list[Chunk]):
    (chunk,) = (chunk for chunk in chunks if chunk.id == "arithmetic_dependency.sm_90.b")
    coresident = {v.id for v in chunk.variants if v.placement == "coresident"}
    maps = [launch.role_map for launch in chunk.launches if launch.variant in coresident]
    assert maps == [[0, 1, 2, 3, 0, 1, 2, 3]] * 2


def test_ids_are_unique(chunks: list[Chunk]):
    ids = [variant.id for chunk in chunks for variant in chunk.variants]
    launches = [launch.id for chunk in chunks for launch in chunk.launches]
    assert len(set(ids)) == len(ids) == 172
    assert len(set(launches)) == len(launches) == 324
    assert len({launch.variant for chunk in chunks for launch in chunk.launches}) == 172


def test_lengths(root: Path, settings: dict[str, Any]):
    probe = load(settings, root).probes[2]
    assert probe.role_names == [
        f"{kind}_fma_{n}" for n in LENGTHS for kind in ("dependent", "independent")
    ]


# --- stable identity -------------------------------------------------------------------------


def test_known_id():
    # Changing how ids are made voids every recording: this must be a decision.
    variant = Variant.make(
        probe="p",
        kernel="p.cu",
        roles=["r"],
        placement="isolated",
        dispatch="none",
        arch="sm_90",
        flags=[],
        defines={},
    )
    text = (
        '{"arch":"sm_90","defines":{},"dispatch":"none","flags":[],"kernel":"p.cu",'
        '"placement":"isolated","probe":"p","roles":["r"]}'
    )
    assert variant.id == "p-" + hashlib.sha256(text.encode()).hexdigest()[:12] == "p-6c7c6839cc37"
    assert variant.symbol == "k_6c7c6839cc37"


def test_key_order_number_form_and_place_change_nothing(
    root: Path, settings: dict[str, Any], chunks: list[Chunk], tmp_path: Path
):
    other = dict(reversed(settings.items())) | {"seed": 1, "timeout_s": 60.0, "repeats": 10.0}
    for folder in ("config", "kernels", "data/published"):
        shutil.copytree(root / folder, tmp_path / folder)
    assert plan(load(other, tmp_path)) == chunks


def test_an_order_of_keys_in_a_probe_changes_nothing(load_small, lab, probe):
    first = plan(load_small(lab, probe))
    turned = dict(reversed(probe.items()))
    turned["roles"] = [dict(reversed(role.items())) for role in probe["roles"]]
    assert plan(load_small(lab, turned)) == first


def test_timing_settings_and_words_change_no_variant(load_small, lab, probe):
    first = plan(load_small(lab, probe))
    other = lab | {"repeats": 99, "warmup": 9, "backend": "model", "retime": "x", "strict": True}
    words = probe | {"title": "Another", "claims": [], "ratio": "difference"}
    assert plan(load_small(other, words)) == first


def test_a_budget_changes_launches_but_no_variant(load_small, lab, probe):
    first = plan(load_small(lab, probe))
    second = plan(load_small(lab | {"clock_budget_cycles": 20_000}, probe))
    assert places(first) == places(second)
    launches = [{launch.id for chunk in c for launch in chunk.launches} for c in (first, second)]
    assert not launches[0] & launches[1]


def test_one_probe_changes_no_other(root: Path, settings: dict[str, Any], chunks: list[Chunk]):
    alone = plan(load(settings | {"probes": ["irregular_fma_shape"]}, root))
    assert alone == [chunk for chunk in chunks if chunk.probe == "irregular_fma_shape"]


# --- chunks ----------------------------------------------------------------------------------


def test_adding_a_role_moves_no_other():
    before, after = places(plan(sweep(40))), places(plan(sweep(41)))
    assert before.items() <= after.items()
    assert len(after) == 41


@pytest.mark.parametrize("count", range(51, 400, 37))
def test_adding_one_splits_at_most_its_own_chunk(count: int):
    before, after = plan(sweep(count)), plan(sweep(count + 1))
    (new,) = places(after).keys() - places(before).keys()
    home = places(after)[new]
    moved = {
        before_chunk
        for variant, before_chunk in places(before).items()
        if places(after)[variant] != before_chunk
    }
    assert moved == set() or (len(moved) == 1 and home.startswith(next(iter(moved))))


def test_a_chunk_that_outgrows_splits_and_the_others_stay():
    size = 10
    count = 30
    while True:
        before, after = plan(sweep(count, chunk_size=size)), plan(sweep(count + 1, chunk_size=size))
        gone = {chunk.id for chunk in before} - {chunk.id for chunk in after}
        if gone:
            break
        count += 1
    (outgrown,) = gone
    stayed = {chunk.id: chunk for chunk in before if chunk.id != outgrown}
    assert stayed.items() <= {chunk.id: chunk for chunk in after}.items()
    born = [chunk for chunk in after if chunk.id not in stayed]
    assert len(born) >= 2
    assert all(chunk.id.startswith(outgrown) for chunk in born)
    assert sum(len(chunk.variants) for chunk in born) == size + 1


def test_chunk_size_one_gives_a_chunk_per_variant(root: Path, settings: dict[str, Any]):
    ones = plan(load(settings | {"chunk_size": 1}, root))
    assert len(ones) == 172
    assert {len(chunk.variants) for chunk in ones} == {1}
    assert sum(len(chunk.launches) for chunk in ones) == 324


@pytest.mark.parametrize("size", [1, 7, 50, 200])
def test_chunks_hold_everything_once_and_no_more_than_their_size(size: int):
    configuration = sweep(1000, chunk_size=size)
    chunks = plan(configuration)
    variants = variants_of(configuration.lab, configuration.probes[0])
    assert Counter(places(chunks).keys()) == Counter(variant.id for variant in variants)
    assert max(len(chunk.variants) for chunk in chunks) <= size
    assert all(
        {launch.variant for launch in c.launches} <= {v.id for v in c.variants} for c in chunks
    )


def test_chunks_ignore_the_order_of_variants():
    configuration = sweep(120)
    probe = configuration.probes[0]
    variants = variants_of(configuration.lab, probe)
    launches = [one for v in variants for one in launches_of(configuration.lab, probe, v)]
    assert chunks_of("sweep", variants, launches, 50) == chunks_of(
        "sweep", variants[::-1], launches[::-1], 50
    )


def test_packed_chunks_are_short_and_come_back(chunks: list[Chunk]):
    for chunk in chunks:
        assert Chunk.unpacked(chunk.packed()) == chunk
        assert len(chunk.packed()) < 12_000


def test_many_launches_of_a_chunk_still_fit_into_a_command():
    threads = [32 * warps for warps in range(1, 33)]
    [chunk] = plan(sweep(50, isolated_threads_per_block=threads))
    assert len(chunk.launches) == 50 * 32
    assert len(chunk.packed()) < 30_000


def test_a_chunk_too_long_for_a_command_is_refused():
    configuration = sweep(200, chunk_size=200)
    probe = configuration.probes[0]
    roles = [
        role.model_copy(update={"defines": {f"PROBE_{'X' * 55}{i}_{n}": n for n in range(10)}})
        for i, role in enumerate(probe.roles)
    ]
    long = Configuration(configuration.lab, [probe.model_copy(update={"roles": roles})])
    with pytest.raises(ConfigError, match="lower chunk_size"):
        plan(long)
