"""Mistakes, broken kernels, lacking tools and interruptions: one clear line, and nothing lost."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.workflow.project import DATASET, ROOT, TINY, Project, Run

ARITHMETIC, CHAIN7 = TINY["probes"]
Done = Callable[[], Project]


def messages(run: Run) -> list[str]:
    """What the lab itself says, without the echo of a failed job's log."""
    lines = [line for line in run.output.splitlines() if line.startswith("probelab: ")]
    return list(dict.fromkeys(lines))


def edit_probe(project: Project, name: str, **changes: object) -> None:
    path = f"config/probes/{name}.yaml"
    probe = yaml.safe_load((project.folder / path).read_text()) | changes
    project.write(path, yaml.safe_dump(probe, sort_keys=False, allow_unicode=True))


def role(name: str) -> dict[str, object]:
    return {"name": name, "intent": {"opcode": "FFMA", "chains": [8]}}


@pytest.mark.parametrize(
    ("changes", "config", "says"),
    [
        ({"colour": "red"}, "", f"config/probes/{ARITHMETIC}.yaml: colour: "),
        ({"roles": 3}, "", f"config/probes/{ARITHMETIC}.yaml: roles: "),
        ({"roles": [role("a"), role("a")]}, "", "'a' stands there twice"),
        ({"roles": [role("a b")]}, "", "'a b' is not a plain identifier"),
        ({}, "repeats=many", "config: repeats: "),
        ({}, "repets=3", "config: repets: "),
        ({}, "architectures=[sm_20]", "can't build sm_20"),
        ({}, "toolchain=/nowhere", "there is no nvcc here"),
    ],
    ids=str,
)
def test_config_mistakes(done: Done, changes: dict[str, object], config: str, says: str) -> None:
    project = done()
    edit_probe(project, ARITHMETIC, **({"claims": []} | changes if changes else {}))
    run = project.run(DATASET, *(["--config", config] if config else []))
    assert run.status != 0 and not run.jobs and not run.work
    assert "Traceback" not in run.output
    [message] = messages(run)
    assert says in message


def test_broken_kernel_leaves_the_other_probes_in_the_report(done: Done) -> None:
    project = done()
    project.edit(f"kernels/{ARITHMETIC}.cu", "probe::add_rn(x,", "no_such_function(x,")
    run = project.run()
    assert run.status == 0, run.output
    report = (project.folder / "results" / "report.md").read_text()
    assert "## Chain 7 tail distribution probe" in report
    assert "independent_fma_7_7acc_once" in report
    # The variants that don't use the broken line are whole, the others say why they are missing.
    assert f"{ARITHMETIC}.cu, line " in report
    assert 'identifier "no_such_function" is undefined' in report
    project.edit(f"kernels/{ARITHMETIC}.cu", "no_such_function(x,", "probe::add_rn(x,")
    assert project.run(DATASET).status == 0
    assert (project.folder / DATASET).read_bytes()


def test_broken_shape_is_kept_out_and_strict_makes_it_an_error(done: Done) -> None:
    project = done()
    path = f"config/probes/{ARITHMETIC}.yaml"
    probe = yaml.safe_load((project.folder / path).read_text())
    probe["roles"][3]["intent"]["chains"] = [15]
    project.write(path, yaml.safe_dump(probe, sort_keys=False, allow_unicode=True))
    run = project.run(DATASET)
    assert run.status == 0, run.output
    strict = project.run(DATASET, "--config", "strict=true")
    assert strict.status != 0
    [message] = messages(strict)
    assert "shape broken: " in message and "expected 15 FADD" in message
    # The other probe went on.
    assert (project.folder / "results" / "timing" / f"{CHAIN7}.sm_86.b.json").exists()


def test_without_gxx_one_line_and_the_next_run_takes_up(tmp_path: Path) -> None:
    project = Project.create(tmp_path / "project")
    tools = tmp_path / "bin"
    tools.mkdir()
    for folder in ("/usr/bin", "/bin"):
        for path in Path(folder).iterdir():
            if not path.name.startswith(("g++", "gcc", "cc", "c++", "x86_64-linux-gnu-g")):
                (tools / path.name).unlink(missing_ok=True)
                (tools / path.name).symlink_to(path)
    done = subprocess.run(
        project.command("results/build/" + f"{ARITHMETIC}.sm_86.b.json"),
        cwd=project.folder,
        env=project.environment | {"PATH": str(tools)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "probelab: g++: there is no g++, which nvcc needs (apt-get install g++)" in done.stderr
    assert "Traceback" not in done.stderr
    assert project.run(DATASET).status == 0


def test_unwritable_store_is_one_line(done: Done) -> None:
    project = done()
    run = project.run(DATASET, "--config", "cache=/proc/nowhere")
    assert run.status != 0 and "Traceback" not in run.output
    [message] = messages(run)
    assert "/proc/nowhere: can't write to the store" in message
    run = project.run(DATASET)
    assert run.status == 0 and not run.work


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")
def test_full_disk_is_one_line_and_the_next_run_takes_up(done: Done, tmp_path: Path) -> None:
    project = done()
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "none", str(disk)], check=False
    )
    if mounted.returncode:
        pytest.skip("this machine doesn't let root mount a tmpfs")
    try:
        project.edit(f"kernels/{ARITHMETIC}.cu", "0.55f", "0.65f")
        run = project.run(DATASET, "--config", f"cache={disk}")
    finally:
        subprocess.run(["umount", str(disk)], check=True)
    assert run.status != 0 and "Traceback" not in run.output
    assert any("space" in message for message in messages(run)), run.output
    assert project.run(DATASET).status == 0


def test_killed_run_is_taken_up(first: tuple[Project, Run], tmp_path: Path) -> None:
    project = Project.create(tmp_path / "project")
    running = subprocess.Popen(
        project.command(DATASET),
        cwd=project.folder,
        env=project.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    # Somewhere in the middle: one chunk is through two stations, the rest isn't.
    deadline = time.monotonic() + 120
    while not list(project.folder.glob("results/sass/*.json")) and time.monotonic() < deadline:
        time.sleep(0.02)
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()
    made = project.logged()
    assert 0 < len(made) < 60
    assert project.run("--unlock").status == 0
    run = project.run(DATASET)
    assert run.status == 0, run.output
    done = [(line["station"], line["key"]) for line in project.logged()]
    assert len(done) == len(set(done)), "work that was whole was done again"
    names = [DATASET, "results/measurements.parquet"]
    assert project.bytes(names) == first[0].bytes(names)


PLAIN = """
struct ProbeRecord { unsigned long long progress, cycles; float sink; unsigned role, warp_slot;
                     unsigned block, sm_id, reserved; };
extern "C" __global__ void mine(ProbeRecord* records, unsigned long long budget) {
    float x = threadIdx.x;
    unsigned long long progress = 0;
    const long long start = clock64();
#pragma unroll 1
    while (clock64() - start < budget) {
        x = __fmaf_rn(x, x, 1.0f);
        x = __fmaf_rn(x, x, 2.0f);
        ++progress;
    }
    const unsigned long long cycles = clock64() - start;
    if (threadIdx.x % 32 == 0) {
        const unsigned slot = threadIdx.x / 32;
        records[blockIdx.x * (blockDim.x / 32) + slot] = {progress, cycles, x, 0, slot,
                                                          blockIdx.x, 0, 0};
    }
}
"""


def test_a_kernel_of_ones_own_without_macros(done: Done) -> None:
    project = done()
    project.write("kernels/mine.cu", PLAIN)
    probe = {
        "name": "mine",
        "title": "Mine",
        "question": "What do two squarings cost?",
        "kernel": "mine.cu",
        "placements": ["isolated"],
        "roles": [{"name": "squares", "intent": {"opcode": "FFMA", "chains": [2]}}],
    }
    project.write("config/probes/mine.yaml", yaml.safe_dump(probe))
    run = project.run("--config", "probes=[mine]")
    assert run.status == 0, run.output
    report = (project.folder / "results" / "report.md").read_text()
    assert "single-register FFMA chain of 2" in report


def test_the_projects_own_config_is_as_the_tests_assume() -> None:
    config = yaml.safe_load((ROOT / "config" / "config.yaml").read_text())
    assert config["repeats"] == 10 and config["clock_budget_cycles"] == 10_000_000
    assert config["architectures"] == ["sm_86", "sm_90"]
