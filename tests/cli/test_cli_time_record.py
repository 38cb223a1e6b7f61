"""`probelab time` and `probelab record`: what they refuse, and a timing without a GPU."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from probelab.schema.manifests import TimingManifest
from probelab.timing import devices
from probelab.timing.devices import Gpu

H200 = Gpu(0, "NVIDIA H200", "GPU-1", "9.0", "580.95.05")
SETTINGS = ("--repeats", "2", "--warmup", "0", "--timeout", "5")


def one_line(done) -> str:
    """The line that an error printed."""
    assert done.exit_code == 1, done.output
    [line] = done.stderr.splitlines()
    assert line.startswith("probelab: ")
    return str(line)


def test_no_results(call) -> None:
    assert "there are no chunks here" in one_line(call("time", "results"))


def test_no_gpu(call, results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "visible_gpus", list)
    assert "no GPU is here" in one_line(call("time", results, *SETTINGS))


def test_no_pycuda(call, results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "visible_gpus", lambda: [H200])
    monkeypatch.setattr(devices, "pycuda_present", lambda: False)
    assert "no PyCUDA" in one_line(call("time", results, *SETTINGS))


def test_nothing_for_this_gpu(call, results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "visible_gpus", lambda: [H200])
    monkeypatch.setattr(devices, "pycuda_present", lambda: True)
    done = call("time", results, *SETTINGS, "--chunk", "*.sm_86.*")
    assert "nothing here is built for NVIDIA H200 (sm_90)" in one_line(done)
    assert done.stdout == "skipped small.sm_86.b: for sm_86, the GPU is NVIDIA H200 (sm_90)\n"


def test_an_unknown_chunk_names_the_known(call, results: Path) -> None:
    line = one_line(call("time", results, *SETTINGS, "--chunk", "big"))
    assert "no chunk is called big" in line
    assert "small.sm_86.b, small.sm_90.b" in line


def test_no_config_for_what_is_not_given(call, results: Path) -> None:
    line = one_line(call("time", results, "--repeats", "2"))
    assert "config/config.yaml: can't be read" in line


@pytest.mark.parametrize(
    "option", [("--repeats", "0"), ("--backend", "cuda"), ("--timeout", "-1"), ("--warmup", "x")]
)
def test_values_that_make_no_sense(call, results: Path, option: tuple[str, str]) -> None:
    done = call("time", results, *option)
    assert done.exit_code == 2
    assert option[0] in done.stderr


def test_timing_by_the_model(call, results: Path, root: Path) -> None:
    config = root / "config" / "config.yaml"
    done = call("time", results, "--backend", "model", "--config", config)
    assert done.exit_code == 0, done.output
    assert "2 of 2 launches timed, 0 failed" in done.stdout
    manifest = TimingManifest.read(results / "timing" / "small.sm_86.b.json")
    [row] = manifest.rows
    assert (row.status, row.backend) == ("ok", "model")
    raw = json.loads((results / row.raw).read_text())
    assert raw["repeats"][0]["warps"][0]["progress"] == 25.0


def test_a_damaged_manifest(call, results: Path) -> None:
    (results / "build" / "small.sm_86.b.json").write_text("{")
    done = call("time", results, *SETTINGS, "--backend", "model")
    assert "not a manifest of this kind" in one_line(done)


def test_record_needs_a_name(call, results: Path) -> None:
    done = call("record", results)
    assert done.exit_code == 2
    assert "--name" in done.stderr


def test_record_what_is_not_there(call) -> None:
    assert "there is no such file" in one_line(call("record", "nowhere", "--name", "x"))


def test_record_predictions(call, results: Path) -> None:
    call("time", results, *SETTINGS, "--backend", "model")
    assert "no measured raw result" in one_line(call("record", results, "--name", "x"))


def test_record_a_manifest(call, results: Path) -> None:
    line = one_line(call("record", results / "build" / "small.sm_86.b.json", "--name", "x"))
    assert "not a raw result" in line


@pytest.mark.parametrize("name", ["../x", "", "a b"])
def test_record_under_a_bad_name(call, results: Path, name: str) -> None:
    path = results / "build" / "small.sm_86.b.json"
    assert "can't be a recording's name" in one_line(call("record", path, "--name", name))


def test_record_over_another(call, tmp_path: Path) -> None:
    (tmp_path / "x.parquet").touch()
    line = one_line(call("record", tmp_path, "--name", "x", "--into", tmp_path))
    assert "there is a recording of this name" in line


def test_the_command_itself_shows_no_traceback(tmp_path: Path) -> None:
    done = subprocess.run(
        [Path(sys.executable).with_name("probelab"), "time", "nowhere"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("probelab: nowhere/predict: ")


def test_the_command_starts_without_what_it_does_not_need() -> None:
    code = (
        "import sys, probelab.cli; "
        "print(*sorted({'pandas', 'numpy', 'pyarrow', 'pydantic', 'snakemake'} & {*sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
