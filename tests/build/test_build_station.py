"""Building a chunk: odd folders, odd flags, endless compiles, damaged entries."""

from __future__ import annotations

import json
import shutil
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from probelab.build import reference, unit
from probelab.build.station import Bench, build_chunk
from probelab.errors import ToolError
from probelab.sass.station import sass_chunk
from probelab.schema.manifests import BuildRow
from probelab.schema.plan import Chunk, Variant
from probelab.shape.station import shape_chunk
from probelab.store import Store
from probelab.toolchain import Toolchain, ToolTimeoutError, run_bounded
from tests.sass.sass_support import KERNELS

ROLES = ("independent_fma", "dependent_fma_chain")


def variant(role: str, kernel: str = "arithmetic_dependency.cu", *flags: str) -> Variant:
    return Variant(
        id=f"probe-{zlib.crc32(role.encode()):012x}",
        probe="probe",
        kernel=kernel,
        roles=[role],
        placement="isolated",
        dispatch="none",
        arch="sm_86",
        flags=list(flags),
    )


def chunk(*variants: Variant) -> Chunk:
    return Chunk(id="probe.sm_86.b", probe="probe", arch="sm_86", variants=[*variants], launches=[])


@pytest.fixture
def bench(toolchain: Toolchain, tmp_path: Path) -> Bench:
    """A bench of its own, in a folder that a shell and nvcc would take apart."""
    root = tmp_path / """it's a, "good" $HOME: one"""
    shutil.copytree(KERNELS, root / "kernels")
    # The tools' own folder has such a name where the environment lies in the checkout.
    (root / "cuda").symlink_to(toolchain.folder.parent)
    choice = str(root / "cuda")
    return Bench(root / "kernels", Toolchain.find(choice), root / "results", Store(root / "cache"))


def logged(bench: Bench) -> list[str]:
    lines = (bench.store.root / "work.jsonl").read_text().splitlines()
    return [json.loads(line)["station"] for line in lines]


def statuses(rows: list[BuildRow]) -> list[tuple[str, str]]:
    return [(row.status, row.reason) for row in rows]


def test_any_folder_will_do(bench: Bench) -> None:
    # Includes beside the kernel, above it, and below the folder of the kernels.
    (bench.kernels.parent / "above.h").write_text("// above\n")
    (bench.kernels / "sub").mkdir()
    (bench.kernels / "sub" / "below.h").write_text('#include "beside.h"\n')
    (bench.kernels / "sub" / "beside.h").write_text("// beside\n")
    path = bench.kernels / "arithmetic_dependency.cu"
    path.write_text('#include "../above.h"\n#include <sub/below.h>\n' + path.read_text())
    plan = chunk(*(variant(role) for role in ROLES))
    built = build_chunk(plan, bench)
    assert statuses(built.rows) == [("ok", "")] * 2
    assert all(row.reference_roles == sorted(ROLES) for row in built.rows)
    listed = sass_chunk(built, bench.toolchain, bench.results, bench.store)
    judged = shape_chunk(plan, {}, built, listed, bench.results, bench.store)
    assert [row.reason.split(": ")[1] for row in judged.rows] == [
        "no intent is declared for this role"
    ] * 2


FLAGS = {
    "--preprocess": "nvcc didn't make a cubin: not a readable cubin",
    "--ptx": "nvcc didn't make a cubin: ",
    "-V": "nvcc didn't make a cubin: the flags ask for something else",
    "--no-such-flag": "Unknown option '--no-such-flag'",
}


@pytest.mark.parametrize("flag", FLAGS)
def test_a_flag_that_makes_something_else_costs_its_variant(bench: Bench, flag: str) -> None:
    odd = variant("dependent_fma_chain", "arithmetic_dependency.cu", flag)
    built = build_chunk(chunk(variant("independent_fma"), odd), bench)
    assert [row.status for row in built.rows] == ["ok", "failed"]
    assert FLAGS[flag] in built.rows[1].reason
    assert "\n" not in built.rows[1].reason and str(bench.kernels) not in built.rows[1].reason


def fake(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)


def test_an_endless_compile_is_a_failed_variant_and_leaves_no_process(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    # As nvcc does it: a shell, and in it the program that doesn't end.
    marks = tmp_path / "marks"
    fake(
        tools,
        "nvcc",
        'case "$*" in *--version*) echo "V13.2.86"; exit;; esac\n'
        f'sh -c "echo \\$\\$ >> {marks}; sleep 300; true"\n',
    )
    monkeypatch.setattr(unit, "UNIT_TIMEOUT_S", 0.5)
    monkeypatch.setattr(unit, "ALONE_TIMEOUT_S", 0.4)
    slow = Bench(bench.kernels, Toolchain(tools), bench.results, bench.store)
    built = build_chunk(chunk(*(variant(role) for role in ROLES)), slow)
    assert statuses(built.rows) == [("failed", "nvcc took longer than 0 s")] * 2
    started = [int(line) for line in marks.read_text().split()]
    assert len(started) == 3  # the unit, then each alone
    assert not any(alive(pid) for pid in started)
    assert not list(bench.store.root.glob(".scratch-*"))


def alive(pid: int) -> bool:
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_an_endless_host_reference_is_none(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference, "TIMEOUT_S", 0.01)
    built = build_chunk(chunk(variant("independent_fma")), bench)
    assert [(row.status, row.reference, row.reference_roles) for row in built.rows] == [
        ("ok", "", [])
    ]
    # Next time it may be in time.
    monkeypatch.undo()
    assert build_chunk(chunk(variant("independent_fma")), bench).rows[0].reference
    assert logged(bench) == ["build", "reference"]


def test_a_command_that_is_out_of_time_or_missing(tmp_path: Path) -> None:
    started = time.monotonic()
    with pytest.raises(ToolTimeoutError, match="sh: took longer than 1 s"):
        run_bounded(["sh", "-c", "sleep 60 & sleep 60"], timeout_s=1)
    assert time.monotonic() - started < 10
    with pytest.raises(ToolError, match="can't be started: No such file"):
        run_bounded([str(tmp_path / "none")], timeout_s=1)
    done = run_bounded(["sh", "-c", "echo a; echo b >&2; exit 3"], timeout_s=10)
    assert (done.returncode, done.stdout, done.stderr) == (3, "a\n", "b\n")


def empty(path: Path) -> None:
    path.chmod(0o644)
    path.write_bytes(b"")


def scramble(path: Path) -> None:
    path.chmod(0o644)
    path.write_bytes(b"?" * path.stat().st_size)


@pytest.mark.parametrize("damage", [Path.unlink, empty, scramble])
def test_damaged_entries_are_made_again(bench: Bench, damage: Callable[[Path], None]) -> None:
    plan = chunk(variant("independent_fma"))

    def run() -> list[str]:
        built = build_chunk(plan, bench)
        listed = sass_chunk(built, bench.toolchain, bench.results, bench.store)
        shape_chunk(plan, {}, built, listed, bench.results, bench.store)
        assert built.rows[0].status == listed.rows[0].status == "ok"
        return logged(bench)

    first = run()
    assert first == ["build", "reference", "sass", "shape"]
    for path in list(bench.store.root.glob("*/*/*/row.json")):
        damage(path)
    assert run() == [*first, "build", "sass", "shape"]
    assert run() == [*first, "build", "sass", "shape"]


def test_a_scrambled_cubin_says_how_to_find_it(bench: Bench) -> None:
    built = build_chunk(chunk(variant("independent_fma")), bench)
    (path,) = bench.results.glob("build/*/*.cubin")
    scramble(path)
    listed = sass_chunk(built, bench.toolchain, bench.results, bench.store)
    assert listed.rows[0].status == "failed"
    assert "`probelab cache verify` finds what is damaged in the store" in listed.rows[0].reason
