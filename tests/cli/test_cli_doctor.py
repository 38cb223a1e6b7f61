"""`probelab doctor` here, and on machines that lack something."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from probelab.doctor import gpu, place, python, tools
from probelab.doctor.check import size
from probelab.doctor.diagnose import diagnose, project_root
from probelab.errors import ToolError
from probelab.timing.devices import Gpu
from probelab.toolchain import Toolchain

H200 = Gpu(0, "NVIDIA H200", "GPU-1", "9.0", "580.95.05")


def by_name(checks: list[Any]) -> dict[str, Any]:
    return {check.name: check for check in checks}


@pytest.fixture(scope="module")
def here() -> Any:
    """The diagnosis of this machine."""
    return diagnose(Path(__file__).resolve().parents[2])


def test_the_reproduction_can_run_here(here: Any) -> None:
    found = by_name(here.checks)
    assert here.ready, [check for check in here.checks if check.status == "missing"]
    for name in ("Python", "Snakemake", "g++", "nvcc", "cuobjdump", "nvdisasm", "config"):
        assert found[name].status == "ok", found[name]
    assert "sm_86" in found["architectures"].found


def test_every_trouble_comes_with_what_to_do(here: Any) -> None:
    assert all(check.hint for check in here.checks if check.status == "missing")


def test_json_and_lines(call, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    done = call("doctor", "--json")
    told = json.loads(done.stdout)
    assert done.exit_code == (0 if told["ready"] else 1)
    assert {"name", "status", "found", "hint", "needed_for"} == told["checks"][0].keys()
    plain = call("doctor")
    for check in told["checks"]:
        assert check["found"] in plain.stdout
    assert "The reproduction can run here." in plain.stdout


def test_a_missing_tool_stops_the_run(call, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    real = shutil.which
    monkeypatch.setattr(
        shutil, "which", lambda name, *rest: None if name == "g++" else real(name, *rest)
    )
    done = call("doctor")
    assert done.exit_code == 1
    assert "apt-get install g++" in done.stdout
    assert "can't run here yet" in done.stdout


def test_a_missing_git_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    check = tools.command("git", "git", "development")
    assert (check.status, check.hint) == ("warning", "apt-get install git")


def test_a_tool_that_does_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "g++"
    broken.write_text("#!/bin/sh\nexit 3\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    check = tools.command("g++", "g++", "run")
    assert check.status == "missing"
    assert "doesn't run" in check.found


def toolkit(folder: Path, **versions: str) -> str:
    """A folder of commands that tell the given versions."""
    for name, version in versions.items():
        tool = folder / name
        tool.write_text(
            f"#!/bin/sh\ncase $1 in --version) echo 'release, V{version}';; *) echo sm_80;; esac\n"
        )
        tool.chmod(0o755)
    return str(folder)


def test_no_toolkit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    [check] = tools.cuda("/nowhere", ["sm_86"])
    assert (check.name, check.status) == ("nvcc", "missing")
    assert "make setup" in check.hint
    toolkit(tmp_path, nvcc="13.0.88", cuobjdump="13.0.88", nvdisasm="13.0.88")
    [check] = tools.cuda("/nowhere", ["sm_86"])
    assert check.hint.endswith(f"--config toolchain={tmp_path}")


def test_tools_of_two_releases(tmp_path: Path) -> None:
    choice = toolkit(tmp_path, nvcc="13.2.86", cuobjdump="13.0.88", nvdisasm="13.2.86")
    check = by_name(tools.cuda(choice, ["sm_80"]))["CUDA release"]
    assert check.status == "warning"
    assert "cuobjdump 13.0.88" in check.found


def test_an_architecture_that_nvcc_lacks(tmp_path: Path) -> None:
    choice = toolkit(tmp_path, nvcc="13.2.86", cuobjdump="13.2.86", nvdisasm="13.2.86")
    check = by_name(tools.cuda(choice, ["sm_86", "sm_80"]))["architectures"]
    assert check.status == "missing"
    assert "can't build sm_86;" in check.found


def test_a_disassembler_is_missing(tmp_path: Path) -> None:
    choice = toolkit(tmp_path, nvcc="13.2.86", cuobjdump="13.2.86")
    found = by_name(tools.cuda(choice, ["sm_80"]))
    assert found["nvdisasm"].status == "missing"
    assert "CUDA release" not in found


def test_a_tool_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    choice = toolkit(tmp_path, nvcc="13.2.86", cuobjdump="13.2.86", nvdisasm="13.2.86")

    def hang(*_: Any, **__: Any) -> Any:
        raise ToolError("took longer than 60 s", where="nvcc")

    monkeypatch.setattr(Toolchain, "run", hang)
    assert all(check.status == "missing" for check in tools.cuda(choice, []))


LOCK = """\
alpha==1.0 \\
    --hash=sha256:00
beta==2.0 ; python_full_version < '3' \\
    --hash=sha256:00
beta==3.0 ; python_full_version >= '3' \\
    --hash=sha256:00
gamma==1.5 \\
    --hash=sha256:00
"""


@pytest.mark.parametrize(
    ("here", "status", "found"),
    [
        ({"alpha": "1.0", "beta": "3.0", "gamma": "1.5"}, "ok", "3, as requirements.lock"),
        ({"alpha": "1.0", "beta": "2.0", "gamma": "1.5"}, "warning", "beta is 2.0, pinned 3.0"),
        ({"alpha": "1.0", "beta": "3.0"}, "warning", "no gamma"),
        ({"beta": "3.0", "gamma": "1.5"}, "missing", "no alpha"),
    ],
)
def test_packages_against_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, here: dict[str, str], status: str, found: str
) -> None:
    (tmp_path / "requirements.lock").write_text(LOCK)
    (tmp_path / "pyproject.toml").write_text('[project]\ndependencies = ["Alpha>=1"]\n')
    monkeypatch.setattr(python, "installed", lambda: here)
    check = python.packages(tmp_path)
    assert check.status == status
    assert found in check.found


def test_no_lock_is_a_warning(tmp_path: Path) -> None:
    assert python.packages(tmp_path).status == "warning"


def test_bytecode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = tmp_path / "module.py"
    module.touch()
    monkeypatch.setattr(python, "_sources", lambda _: iter([module]))
    assert python.bytecode().status == "warning"
    monkeypatch.setattr(python, "_compiled", lambda _: True)
    assert python.bytecode().status == "ok"


def test_cluster_plugins_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    packages = {"snakemake": "9.27.1", "snakemake-executor-plugin-slurm": "2.8.0"}
    monkeypatch.setattr(python, "installed", lambda: packages)
    assert python.snakemake().found == "9.27.1; executors: local, slurm"


def test_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check = place.room("store", tmp_path / "not" / "yet")
    assert check.status in {"ok", "warning"}

    def usage(free: float) -> Any:
        return lambda _: shutil._ntuple_diskusage(0, 0, free)  # type: ignore[attr-defined]

    monkeypatch.setattr(shutil, "disk_usage", usage(5e8))
    assert place.room("store", tmp_path).status == "warning"
    monkeypatch.setattr(shutil, "disk_usage", usage(1e6))
    assert place.room("store", tmp_path).status == "missing"


def test_no_right_to_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: Any) -> Any:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(place.tempfile, "TemporaryFile", refuse)
    check = place.room("results", tmp_path)
    assert check.status == "missing"
    assert "Permission denied" in check.found


def test_recordings(tmp_path: Path) -> None:
    [check] = place.recordings(tmp_path)
    assert check.status == "warning"
    (tmp_path / "broken.parquet").touch()
    [check] = place.recordings(tmp_path)
    assert (check.name, check.status) == ("recording broken", "warning")


def test_a_broken_config_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.yaml").write_text("probes: [\n")
    diagnosis = diagnose(tmp_path)
    check = by_name(diagnosis.checks)["config"]
    assert check.status == "missing"
    assert "\n" not in check.found
    assert not diagnosis.ready


def test_the_project_is_found_from_a_folder_in_it(root: Path, tmp_path: Path) -> None:
    assert project_root(root / "docs") == root
    assert project_root(tmp_path) == root


class TestGpu:
    """The lines on GPUs, with the driver's answers replaced."""

    @pytest.fixture(autouse=True)
    def machine(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(gpu, "driver_present", lambda: True)
        monkeypatch.setattr(gpu, "all_gpus", lambda: [H200])
        monkeypatch.setattr(gpu, "pycuda_present", lambda: False)
        self.set_state(monkeypatch, gpu.State(sm_clock_mhz=345, max_sm_clock_mhz=1980))

    @staticmethod
    def set_state(monkeypatch: pytest.MonkeyPatch, state: gpu.State) -> None:
        monkeypatch.setattr(gpu, "state", lambda _: state)

    def test_no_driver(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(gpu, "driver_present", lambda: False)
        [check] = gpu.checks(["sm_90"], None)
        assert (check.name, check.status, check.needed_for) == ("driver", "missing", "gpu")

    def test_no_gpu(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(gpu, "all_gpus", list)
        [check] = gpu.checks(["sm_90"], None)
        assert (check.name, check.status) == ("GPU", "missing")

    def test_a_gpu(self) -> None:
        found = by_name(gpu.checks(["sm_86", "sm_90"], None))
        assert found["driver"].found == "580.95.05"
        assert found["GPU 0"].status == "ok"
        assert found["GPU 0"].found == "NVIDIA H200, sm_90, SM clock 345 of 1980 MHz"
        assert (found["PyCUDA"].status, found["PyCUDA"].hint) == ("missing", "make pycuda")

    @pytest.mark.parametrize(
        ("state", "hint"),
        [
            (gpu.State(processes=2), "another process spoils"),
            (gpu.State(mig=True), "partition"),
            (gpu.State(throttle_reasons=("sw_power_cap",)), "PERFORMANCE"),
        ],
    )
    def test_a_gpu_in_trouble(
        self, monkeypatch: pytest.MonkeyPatch, state: gpu.State, hint: str
    ) -> None:
        self.set_state(monkeypatch, state)
        check = by_name(gpu.checks(["sm_90"], None))["GPU 0"]
        assert check.status == "warning"
        assert hint in check.hint

    def test_a_gpu_that_nothing_is_built_for(self) -> None:
        check = by_name(gpu.checks(["sm_86"], None))["GPU 0"]
        assert "add sm_90 to `architectures`" in check.hint

    def test_a_hidden_gpu(self) -> None:
        check = by_name(gpu.checks(["sm_90"], ""))["GPU 0"]
        assert check.hint == "CUDA_VISIBLE_DEVICES hides it"

    def test_why_pycuda_could_not_be_built(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        failure = tmp_path / "pycuda.failure"
        failure.write_text("PyCUDA could not be built: no such header\n")
        monkeypatch.setattr(gpu, "FAILURE", failure)
        assert gpu.pycuda().found == "PyCUDA could not be built: no such header"

    def test_a_pycuda_that_does_not_load(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(gpu, "pycuda_present", lambda: True)
        check = gpu.pycuda()
        # Not installed on most machines that run this test; where it is, it loads.
        assert check.status == "ok" or "doesn't load: " in check.found


@pytest.mark.parametrize(
    ("count", "shown"), [(999, "999 B"), (1500, "1.5 kB"), (2e9, "2.0 GB"), (3e12, "3.0 TB")]
)
def test_size(count: float, shown: str) -> None:
    assert size(count) == shown
