"""Recordings: what goes in comes out, and nothing damaged does."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from probelab.canonical import canonical_json, digest_file
from probelab.errors import DataError
from probelab.schema.raw import RawResult
from probelab.timing.recorded import Recordings, best, recorded
from probelab.timing.recording import provenance_path, read_provenance, record
from probelab.timing.results import read_raw
from tests.timing.timing_support import Lab, make_launch, make_variant


@pytest.fixture
def measured(lab: Lab) -> Lab:
    """Three measured launches; one of them has a repeat that was not accepted."""
    lab.add(1, threads=(32, 64))
    lab.add(2, does={"do": "wrong_once"}, reference="reference.so")
    assert [row.status for row in lab.time("pycuda").rows] == ["ok"] * 3
    return lab


def files(lab: Lab) -> list[Path]:
    return sorted((lab.results / "timing").rglob("*.json"))


def test_round_trip(measured: Lab) -> None:
    path = record(files(measured), "run", measured.root / "data")
    assert path == measured.root / "data" / "run.parquet"
    digests = {row.kernel_digest for row in measured.builds.values()}
    found = Recordings([path]).find("sm_90", digests)
    variants = {variant.id: variant for variant in measured.variants}
    for file in files(measured):
        raw = read_raw(file)
        [entry] = found[raw.kernel_digest, raw.launch.settings_digest]
        build = measured.builds[raw.variant.id]
        again = recorded(entry, raw.launch, variants[raw.variant.id], build)
        assert again == raw.model_copy(
            update={"backend": "recorded", "recording": "run", "node": ""}
        )


def test_provenance(measured: Lab) -> None:
    path = record(files(measured), "run", measured.root / "data")
    provenance = read_provenance(path)
    assert provenance.parquet_sha256 == digest_file(path)
    assert (provenance.launches, provenance.kernels, provenance.rows) == (3, 2, 3 * (1 + 2 + 2))
    assert (provenance.archs, provenance.probes) == (["sm_90"], ["probe"])
    assert [device.name for device in provenance.devices] == ["NVIDIA Test"]
    assert provenance.toolchains[0].nvcc_version == "13.2.86"
    assert provenance.measured_from <= provenance.measured_to
    assert pq.read_table(path).num_rows == provenance.rows


def test_recording_twice_gives_the_same_bytes(measured: Lab) -> None:
    one = record(files(measured), "run", measured.root / "one")
    two = record(reversed(files(measured)), "run", measured.root / "two")
    assert one.read_bytes() == two.read_bytes()
    assert provenance_path(one).read_bytes() == provenance_path(two).read_bytes()


def test_roles_get_the_names_of_the_variant_that_asks(measured: Lab) -> None:
    path = record(files(measured), "run", measured.root / "data")
    variant = make_variant(77, roles=("long", "wide"))
    launch = make_launch(variant, 64)
    build = next(iter(measured.builds.values()))
    found = Recordings([path]).find("sm_90", {build.kernel_digest})
    [entry] = found[build.kernel_digest, launch.settings_digest]
    raw = recorded(entry, launch, variant, build)
    assert [warp.role for warp in raw.repeats[0].warps] == ["long", "wide"]
    assert raw.launch.id == launch.id


def test_only_what_is_asked_for_is_read(measured: Lab) -> None:
    path = record(files(measured), "run", measured.root / "data")
    assert Recordings([path]).find("sm_86", {"0" * 64}) == {}
    assert Recordings([path]).find("sm_90", {"0" * 64}) == {}
    assert Recordings([]).find("sm_90", {"0" * 64}) == {}


def test_the_best_of_several(measured: Lab) -> None:
    def edited(file: Path, **changes: Any) -> Path:
        content = {**json.loads(file.read_text()), **changes}
        changed = measured.root / f"{len(list(measured.root.iterdir()))}.json"
        changed.write_text(canonical_json(content))
        return changed

    file = files(measured)[0]
    raw = read_raw(file)
    other = {**raw.launch.model_dump(), "id": "probe-other-launch"}
    paths = [
        record([edited(file)], "a", measured.root / "data"),
        record([edited(file, measured_at="2999-01-01T00:00:00.000Z")], "b", measured.root / "data"),
        record([edited(file, harness_version=99, launch=other)], "c", measured.root / "data"),
    ]
    found = Recordings(paths).find("sm_90", {raw.kernel_digest})
    [entries] = found.values()
    assert len(entries) == 3
    assert best(entries, raw.launch).recording == "b"
    stranger = raw.launch.model_copy(update={"id": "probe-stranger"})
    assert best(entries, stranger).recording == "c"


def test_of_several_results_of_a_launch_the_newest_counts(measured: Lab, tmp_path: Path) -> None:
    first, *_ = files(measured)
    older = json.loads(first.read_text())
    older["measured_at"] = "2001-01-01T00:00:00Z"
    older["repeats"][0]["warps"][0]["progress"] = 7
    other = tmp_path / "older.json"
    other.write_text(json.dumps(older))
    for name, order in (("a", [first, other]), ("b", [other, first])):
        path = record(order, name, measured.root / "data")
        assert read_provenance(path).launches == 1
        assert "2001" not in read_provenance(path).measured_from


def test_what_cannot_be_recorded(measured: Lab) -> None:
    into = measured.root / "data"
    with pytest.raises(DataError, match="can't be a recording's name"):
        record(files(measured), "../run", into)
    with pytest.raises(DataError, match="nothing to record"):
        record([], "run", into)
    with pytest.raises(DataError, match="can't read the raw result"):
        record([into / "none.json"], "run", into)
    measured.time("model")
    with pytest.raises(DataError, match="backend model: only measurements can be recorded"):
        record(files(measured), "run", into)
    assert not into.exists()


def damage(path: Path, how: str) -> None:
    if how == "truncated":
        path.write_bytes(path.read_bytes()[:-100])
    elif how == "no provenance":
        provenance_path(path).unlink()
    elif how == "garbled provenance":
        provenance_path(path).write_text('{"name": 1')
    elif how == "later version":
        provenance = json.loads(provenance_path(path).read_text())
        provenance_path(path).write_text(json.dumps({**provenance, "recording_version": 2}))
    else:
        if how == "another table":
            pq.write_table(pa.table({"a": [1]}), path)
        elif how == "other JSON":
            table = pq.read_table(path)
            column = pa.array(["{}"] * table.num_rows)
            place = table.schema.get_field_index("launch_json")
            pq.write_table(table.set_column(place, "launch_json", column), path)
        elif how == "rows are missing":
            pq.write_table(pq.read_table(path).slice(0, 14), path)
        elif how == "no Parquet":
            path.write_text("hello")
        provenance = json.loads(provenance_path(path).read_text())
        provenance["parquet_sha256"] = digest_file(path)
        provenance_path(path).write_text(json.dumps(provenance))


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("truncated", "not the file that its provenance describes"),
        ("no provenance", "can't read the recording's provenance"),
        ("garbled provenance", "not a provenance"),
        ("later version", "a recording of version 2, this lab reads 1"),
        ("another table", "not a recording"),
        ("other JSON", "not a recording"),
        ("rows are missing", "14 rows, not 15"),
        ("no Parquet", "not a recording"),
    ],
)
def test_a_damaged_recording_is_one_line(measured: Lab, how: str, reason: str) -> None:
    path = record(files(measured), "run", measured.root / "data")
    damage(path, how)
    digests = {row.kernel_digest for row in measured.builds.values()}
    with pytest.raises(DataError, match=reason) as caught:
        Recordings([path]).find("sm_90", digests)
    assert "\n" not in str(caught.value) and "run." in str(caught.value)
    # The station doesn't pass over it to the model: it might have held the launch.
    measured.gpus, measured.recordings = [], [path]
    rows = measured.time("auto").rows
    assert {row.status for row in rows} == {"failed"}
    assert all(reason in row.reason for row in rows)


def test_a_launch_that_lacks_warps_is_noticed(measured: Lab) -> None:
    path = record(files(measured), "run", measured.root / "data")
    raw = read_raw(files(measured)[-1])
    found = Recordings([path]).find("sm_90", {raw.kernel_digest})
    [entry] = found[raw.kernel_digest, raw.launch.settings_digest]
    short = replace(entry, rows=entry.rows.slice(1))
    build = measured.builds[raw.variant.id]
    with pytest.raises(DataError, match=r"damaged entry for .*: 5 rows for 2 warps per repeat"):
        recorded(short, raw.launch, raw.variant, build)


def test_reading_imports_no_pandas(measured: Lab) -> None:
    path = record(files(measured), "run", measured.root / "data")
    code = (
        "import sys; from pathlib import Path; from probelab.timing.recorded import Recordings;"
        f"assert Recordings([Path({str(path)!r})]).find('sm_90', "
        f"{ {row.kernel_digest for row in measured.builds.values()}!r});"
        "assert 'pandas' not in sys.modules and 'pycuda' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_many_blocks_and_launches(measured: Lab) -> None:
    """Several row groups; each launch is found whole."""
    [raw] = [raw for raw in map(read_raw, files(measured)) if raw.launch.warps == 1]
    measured_files = []
    for number in range(200):
        kernel = f"{number * 7919 % 1000:03d}" + "a" * 61
        launch = raw.launch.model_copy(update={"id": f"probe-{number}", "blocks": 16})
        warp = raw.repeats[0].warps[0]
        warps = [warp.model_copy(update={"block": block}) for block in range(16)]
        repeats = [repeat.model_copy(update={"warps": warps}) for repeat in raw.repeats]
        changed: RawResult = raw.model_copy(
            update={"kernel_digest": kernel, "launch": launch, "repeats": repeats}
        )
        path = measured.root / f"raw-{number}.json"
        path.write_text(canonical_json(changed.model_dump(mode="json")))
        measured_files.append(path)
    path = record(measured_files, "many", measured.root / "data")
    assert pq.ParquetFile(path).num_row_groups == 3
    wanted = {read_raw(file).kernel_digest for file in measured_files[::40]}
    found = Recordings([path]).find("sm_90", wanted)
    assert {kernel for kernel, _ in found} == wanted
    build = next(iter(measured.builds.values()))
    for entries in found.values():
        again = recorded(entries[0], entries[0].launch, raw.variant, build)
        assert [len(repeat.warps) for repeat in again.repeats] == [16, 16, 16]
        assert [warp.block for warp in again.repeats[2].warps] == list(range(16))
