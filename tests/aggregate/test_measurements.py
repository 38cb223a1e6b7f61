"""From raw JSON to measurements.parquet."""

import random
import time
from pathlib import Path

import pytest

from probelab.aggregate import aggregate, measurements
from probelab.errors import DataError
from probelab.schema import tables
from probelab.schema.manifests import BuildManifest
from probelab.schema.tidy import Evidence
from tests.aggregate.synthetic import NOTE_1, NOTE_1_PROGRESS, Run, from_table

PROGRESS = from_table(NOTE_1_PROGRESS)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    run = Run(tmp_path, [NOTE_1])
    run.time(PROGRESS)
    return run


def test_a_row_per_launch_repeat_and_warp(run: Run) -> None:
    table = measurements(run.root, run.plan, run.evidence)
    # Four isolated launches of 4 warps and two coresident ones of 8, 10 repeats each.
    assert table.num_rows == (4 * 4 + 2 * 8) * 10
    assert table.schema.equals(tables.MEASUREMENTS)
    launch = run.find("coresident", "in_loop")
    rows = [row for row in table.to_pylist() if row["launch"] == launch.id]
    assert [(row["repeat"], row["warp_slot"]) for row in rows] == [
        (repeat, slot) for repeat in range(10) for slot in range(8)
    ]
    fifth = rows[5]
    assert fifth["role"] == "independent_add"
    assert fifth["sub_core"] == 1
    assert fifth["progress"] == 56458
    assert fifth["cycles_per_iteration"] == pytest.approx(177.1228, abs=1e-4)
    assert fifth["nvcc_flags"] == ["-use_fast_math"]
    assert fifth["device"] == "NVIDIA H200"
    assert fifth["backend"] == "pycuda"


def test_equal_input_in_any_order_gives_equal_bytes(run: Run, tmp_path: Path) -> None:
    aggregate(run.root, run.plan, run.evidence, tmp_path / "a.parquet")
    shuffled = [
        chunk.model_copy(
            update={
                "launches": random.Random(1).sample(chunk.launches, len(chunk.launches)),
                "variants": chunk.variants[::-1],
            }
        )
        for chunk in reversed(run.plan)
    ]
    for _, launch in run.launches:
        path = run.root / run.evidence.timing[launch.id].raw
        raw = run.raw(run.variant(launch), launch, PROGRESS)
        turned = [
            repeat.model_copy(update={"warps": repeat.warps[::-1]}) for repeat in raw.repeats[::-1]
        ]
        path.write_text(raw.model_copy(update={"repeats": turned}).model_dump_json())
    aggregate(run.root, shuffled, run.evidence, tmp_path / "b.parquet")
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda path: path.unlink(), "No such file"),
        (lambda path: path.write_text(path.read_text()[:200]), "damaged"),
        (lambda path: path.write_bytes(b"\xff\xfe"), "damaged"),
        (lambda path: path.write_text("{}"), "damaged: backend: Field required"),
        (
            lambda path: path.write_text(
                path.read_text().replace('"warp_slot":3', '"warp_slot":2')
            ),
            "stands there twice",
        ),
        (
            lambda path: path.write_text(
                path.read_text().replace('"role":"independent_fma","sm', '"role":"x","sm')
            ),
            "no role 'x' there",
        ),
        (
            lambda path: path.write_text(
                path.read_text().replace('"progress":56459.0', '"progress":-1')
            ),
            "negative",
        ),
        (
            lambda path: path.write_text(
                path.read_text().replace('"schema_version":1', '"schema_version":7')
            ),
            "schema version 7",
        ),
    ],
)
def test_a_damaged_raw_file_is_a_missing_launch(run: Run, damage, reason: str) -> None:
    launch = run.find("isolated", role="independent_fma")
    damage(run.root / run.evidence.timing[launch.id].raw)
    table = measurements(run.root, run.plan, run.evidence)
    assert launch.id not in set(table["launch"].to_pylist())
    assert len(set(table["launch"].to_pylist())) == 5
    missing = tables.missing(table)
    assert list(missing) == [launch.id]
    assert reason in missing[launch.id]
    assert str(run.root) not in missing[launch.id]


def test_a_result_of_another_launch_is_refused(run: Run) -> None:
    one = run.find("isolated", role="independent_fma")
    other = run.find("isolated", role="independent_add")
    row = run.evidence.timing[one.id]
    run.evidence.timing[one.id] = row.model_copy(update={"raw": run.evidence.timing[other.id].raw})
    assert (
        "another launch" in tables.missing(measurements(run.root, run.plan, run.evidence))[one.id]
    )


def test_no_launch_was_timed(tmp_path: Path) -> None:
    run = Run(tmp_path, [NOTE_1])
    aggregate(run.root, run.plan, run.evidence, tmp_path / "m.parquet")
    table = tables.read(tmp_path / "m.parquet", tables.MEASUREMENTS)
    assert table.num_rows == 0
    assert tables.missing(table) == {}


def test_a_damaged_dataset_is_one_line(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "m.parquet"
    with pytest.raises(DataError, match="missing"):
        tables.read(path, tables.MEASUREMENTS)
    path.write_bytes(b"PAR1 no")
    with pytest.raises(DataError, match="not a Parquet file"):
        tables.read(path, tables.MEASUREMENTS)
    aggregate(run.root, run.plan, run.evidence, path)
    with pytest.raises(DataError, match="other columns than expected"):
        tables.read(path, tables.SUMMARY)


def test_manifests_are_read_by_station(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "build.json"
    BuildManifest(station="build", chunk="c", rows=list(run.evidence.build.values())).write(path)
    assert Evidence.read(build=[path]).build == run.evidence.build
    with pytest.raises(DataError, match="not a manifest of this kind"):
        Evidence.read(sass=[path])


def test_thousands_of_launches_are_quick(tmp_path: Path) -> None:
    run = Run(tmp_path, [NOTE_1], isolated_threads_per_block=list(range(128, 1025, 32)))
    run.time(PROGRESS)
    started = time.perf_counter()
    table = measurements(run.root, run.plan, run.evidence)
    per_row = (time.perf_counter() - started) / table.num_rows
    assert table.num_rows > 20_000
    assert per_row < 100e-6
