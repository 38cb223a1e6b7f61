"""Which backend a launch gets, and what stands in its row."""

from pathlib import Path

from probelab.schema.manifests import ShapeRow
from probelab.timing.recording import record
from probelab.timing.results import read_raw
from tests.timing.timing_support import GPU, OTHER_GPU, Lab, make_prediction


def raw_files(lab: Lab) -> list[Path]:
    return sorted((lab.results / "timing").rglob("*.json"))


def recorded_lab(lab: Lab) -> Lab:
    """A lab whose one variant has been measured and recorded, and whose GPU is gone."""
    lab.add(1)
    assert lab.time("pycuda").rows[0].status == "ok"
    lab.recordings = [record(raw_files(lab), "run", lab.root / "data")]
    lab.gpus = []
    return lab


def test_auto_prefers_the_gpu(lab: Lab) -> None:
    [launch] = recorded_lab(lab).launches
    lab.gpus = [GPU]
    row = lab.time().by_id()[launch.id]
    assert (row.status, row.backend) == ("ok", "pycuda")


def test_auto_takes_a_recording_without_a_gpu(lab: Lab) -> None:
    [launch] = recorded_lab(lab).launches
    row = lab.time().by_id()[launch.id]
    assert (row.status, row.backend, row.reason) == ("ok", "recorded", "")
    assert row.raw == f"timing/probe.sm_90.b0/{launch.id}.json"
    assert read_raw(lab.results / row.raw).recording == "run"


def test_auto_takes_a_recording_where_the_gpu_is_another(lab: Lab) -> None:
    recorded_lab(lab).gpus = [OTHER_GPU]
    assert lab.time().rows[0].backend == "recorded"


def test_auto_falls_to_the_model_for_another_launch(lab: Lab) -> None:
    recorded_lab(lab)
    [launch] = lab.launches
    other = launch.model_copy(update={"id": launch.id[:-1] + "x", "clock_budget_cycles": 20000})
    lab.launches = [launch, other]
    lab.predictions[other.id] = make_prediction(other)
    rows = lab.time().by_id()
    assert rows[launch.id].backend == "recorded"
    assert rows[other.id].backend == "model"


def test_auto_falls_to_the_model_for_another_kernel(lab: Lab) -> None:
    recorded_lab(lab)
    [(name, build)] = lab.builds.items()
    lab.builds[name] = build.model_copy(update={"kernel_digest": "0" * 64})
    assert lab.time().rows[0].backend == "model"


def test_auto_with_nothing_says_all_reasons(lab: Lab) -> None:
    [launch] = lab.add(1)
    lab.gpus = [OTHER_GPU]
    lab.predictions[launch.id] = make_prediction(launch, cycles=None)
    [row] = lab.time().rows
    assert (row.status, row.backend, row.raw) == ("not predicted", "", "")
    assert row.reason == (
        "cubin is sm_90, the device is sm_86 (NVIDIA Old); no recording of this kernel and launch; "
        "not predicted: two warps share a sub-core"
    )


def test_explicit_pycuda_names_both_architectures(lab: Lab) -> None:
    lab.add(1)
    lab.gpus = [OTHER_GPU]
    [row] = lab.time("pycuda").rows
    assert row.status == "skipped"
    assert row.reason == "cubin is sm_90, the device is sm_86 (NVIDIA Old)"
    lab.gpus = []
    assert lab.time("pycuda").rows[0].reason == "no GPU is here"


def test_explicit_recorded_and_model_do_not_touch_the_gpu(lab: Lab) -> None:
    [launch] = lab.add(1)
    [row] = lab.time("recorded").rows
    assert (row.status, row.reason) == ("skipped", "no recording of this kernel and launch")
    assert lab.time("model").rows[0].backend == "model"
    del lab.predictions[launch.id]
    assert lab.time("model").rows[0].status == "not predicted"
    assert lab.launched() == []


def test_pycuda_not_installed(lab: Lab) -> None:
    lab.add(1)
    lab.available = False
    [row] = lab.time("pycuda").rows
    assert (row.status, row.reason) == ("skipped", "a GPU is here, but PyCUDA is not installed")
    [row] = lab.time("auto").rows
    assert (row.backend, row.reason) == ("model", "a GPU is here, but PyCUDA is not installed")


def test_pycuda_that_cannot_be_imported_does_not_apply(lab: Lab) -> None:
    lab.add(1)
    lab.scenario["open"] = "missing"
    [row] = lab.time("auto").rows
    assert (row.status, row.backend) == ("ok", "model")
    assert row.reason == ("a GPU is here, but PyCUDA can't be imported: No module named 'pycuda'")


def test_a_failure_on_the_gpu_is_not_papered_over(lab: Lab) -> None:
    recorded_lab(lab)
    lab.gpus = [GPU]
    lab.scenario[lab.variants[0].symbol] = {"do": "poison"}
    [row] = lab.time("auto", retime="again").rows
    assert (row.status, row.backend, row.raw) == ("failed", "pycuda", "")
    assert raw_files(lab) == []


def test_unfit_variants_are_skipped_with_their_reason(lab: Lab) -> None:
    [failed] = lab.add(1, status="failed", reason="error: expected a ';'")
    [broken] = lab.add(2)
    lab.shapes[broken.variant] = ShapeRow(id=broken.variant, status="broken", reason="6 of 7 FFMA")
    [unchecked] = lab.add(3)
    lab.shapes[unchecked.variant] = ShapeRow(id=unchecked.variant, status="not checked")
    [unknown] = lab.add(4)
    del lab.builds[unknown.variant]
    [other] = lab.add(5, parameter_bytes=[8, 4])
    rows = lab.time().by_id()
    assert rows[failed.id].reason == "build failed: error: expected a ';'"
    assert rows[broken.id].reason == "shape broken: 6 of 7 FFMA"
    assert rows[unchecked.id].status == "ok"
    assert rows[unknown.id].reason == "its variant is missing from the build's manifest"
    assert [rows[item.id].status for item in (failed, broken, unknown)] == ["skipped"] * 3
    assert rows[other.id].status == "failed"
    assert "parameters have [8, 4] bytes" in rows[other.id].reason


def test_role_map_that_does_not_fit(lab: Lab) -> None:
    [launch] = lab.add(1)
    lab.launches = [launch.model_copy(update={"role_map": [0]})]
    assert lab.time().rows[0].reason == "the role map names 1 of 2 warp slots"
    lab.launches = [launch.model_copy(update={"role_map": [0, 7]})]
    assert lab.time().rows[0].reason == "the role map [0, 7] does not fit 2 roles"


def test_stale_raw_files_are_removed(lab: Lab) -> None:
    [first] = lab.add(1)
    [second] = lab.add(2)
    lab.time("model")
    folder = lab.results / "timing" / "probe.sm_90.b0"
    (folder / f".{second.id}.json.abc.tmp").write_text("{")
    lab.launches = [first]
    lab.time("model")
    assert [path.name for path in folder.iterdir()] == [f"{first.id}.json"]


def test_model_and_recorded_give_the_same_bytes_each_time(lab: Lab) -> None:
    recorded_lab(lab)
    lab.add(2)
    contents = []
    for _ in range(2):
        manifest = lab.time()
        assert {row.backend for row in manifest.rows} == {"recorded", "model"}
        manifest.write(lab.root / "manifest.json")
        contents.append(
            [path.read_bytes() for path in [*raw_files(lab), lab.root / "manifest.json"]]
        )
    assert contents[0] == contents[1]


def test_model_result(lab: Lab) -> None:
    [launch] = lab.add(1)
    [row] = lab.time("model").rows
    raw = read_raw(lab.results / row.raw)
    assert (raw.backend, raw.device, raw.measured_at) == ("model", None, "")
    assert raw.model_reason == "a taken branch costs 10 cycles"
    [repeat] = raw.repeats
    assert [warp.role for warp in repeat.warps] == ["chain", "split"]
    for warp in repeat.warps:
        assert (warp.progress, warp.cycles, warp.sink) == (10000 / 32.5, 10000, None)
        assert warp.sink_status == "not checked"
    assert len(repeat.warps) == launch.warps
