"""Wrong settings, edits under way, a dead head and a dead node, on a real Slurm."""

from collections.abc import Callable

import pytest

from tests.cluster.lab import ClusterProject, slurm, until
from tests.cluster.test_cluster_runs import CHUNKS, VARIANTS
from tests.workflow.project import TINY, Run

pytestmark = pytest.mark.cluster

ARITHMETIC, CHAIN7 = TINY["probes"]


def messages(run: Run) -> set[str]:
    """What the lab itself says, however often Snakemake shows it."""
    lines = (line.strip() for line in run.output.splitlines())
    return {line for line in lines if line.startswith("probelab: ")}


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (
            ("--slurm-status-command", "sacct"),
            "slurm-status-command: sacct can't tell when a job has ended: Slurm accounting",
        ),
        (
            ("--slurm-init-seconds-before-status-checks", "300"),
            "Slurm forgets an ended job after 600 s, squeue needs 900 s",
        ),
        (("--set-resources", "timing:gpu=5"), "--gpus=5 --nodes=1: Slurm refuses such a job: "),
        (("--set-resources", "timing:slurm_partition=nowhere"), "Invalid partition name"),
        (("--default-resources", "mem_mb=900000000"), "Slurm refuses such a job: "),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_wrong_settings_end_at_once(
    project: ClusterProject, settings: tuple[str, ...], says: str
) -> None:
    run = project.start("slurm", *settings).wait(60)
    assert run.status != 0 and not run.work and not project.jobs()
    [message] = messages(run)
    assert says in message
    assert "Traceback" not in run.output
    # Nothing is left that would hinder the next run.
    assert project.start("slurm", "-n").wait(60).status == 0


def test_too_many_gpus_through_the_generic_profile(project: ClusterProject) -> None:
    run = project.start("generic", "--set-resources", "timing:gpu=5").wait()
    assert run.status != 0
    assert "Requested node configuration is not available" in run.output
    # What needs no GPU is done.
    assert len(run.variants("predict")) == VARIANTS


@pytest.mark.usefixtures("healed")
def test_a_job_that_finds_an_edited_kernel_stops(done: Callable[[], ClusterProject]) -> None:
    project = done()
    header = "kernels/probe.cuh"
    kernel = f"kernels/{ARITHMETIC}.cu"
    texts = {name: (project.folder / name).read_text() for name in (header, kernel)}
    raw = {path: path.read_bytes() for path in project.folder.glob("results/timing/*/*.json")}
    project.write(header, f"// One more remark.\n{texts[header]}")
    slurm("scontrol", "update", "partition=main", "state=down")
    head = project.start("slurm", "--until", "predict")
    until(lambda: len(project.at_work()) == len(CHUNKS), "two jobs in the queue")
    project.write(kernel, f"// Another remark.\n{texts[kernel]}")
    slurm("scontrol", "update", "partition=main", "state=up")
    run = head.wait()
    assert run.status != 0
    [message] = messages(run)
    assert message.startswith("probelab: build, sass, shape, predict of arithmetic_dependency")
    assert f"changed after this job was submitted: {kernel}; nothing was done" in message
    # That chunk alone; it made nothing, and what it had measured is as it was.
    assert run.work and all(label.startswith(CHAIN7) for _, label in run.work)
    arithmetic = [path for path in raw if path.parent.name.startswith(ARITHMETIC)]
    assert arithmetic and all(path.read_bytes() == raw[path] for path in arithmetic)
    # The next run takes it up, with the edit in it.
    run = project.start("slurm", "-n").wait(60)
    assert run.chunks("build") == {ARITHMETIC}


def test_a_killed_head_loses_nothing(project: ClusterProject) -> None:
    head = project.start("slurm")
    until(lambda: bool(project.logged()), "the first piece of work")
    head.kill()
    assert project.at_work()
    # Jobs go on without it, and their manifests have no record of what they were made from.
    until(lambda: len(list(project.folder.glob("results/predict/*.json"))) > 0, "a job's end")
    stuck = project.start("slurm").wait(60)
    assert stuck.status != 0 and "--unlock" in stuck.output
    run = project.recover("slurm").wait()
    assert run.status == 0, run.output
    everything = [(line["station"], line["label"]) for line in project.logged()]
    assert len(everything) == len(set(everything))
    assert sum(station == "timing" for station, _ in everything) == VARIANTS
    assert project.start("slurm").wait(60).nothing
    # A later change of the code is noticed for each of them.
    name = "src/probelab/build/station.py"
    project.write(name, (project.folder / name).read_text() + "\n# One more remark.\n")
    assert project.start("slurm", "-n").wait(60).chunks("build") == {ARITHMETIC, CHAIN7}


@pytest.mark.usefixtures("healed")
def test_a_dead_node_costs_its_jobs_alone(project: ClusterProject) -> None:
    head = project.start("slurm", "--until", "predict")
    until(lambda: len(project.at_work()) == len(CHUNKS), "both jobs run")
    until(lambda: bool(project.logged()), "the first piece of work")
    [lost] = [job for job in project.jobs() if job.node == "n2"]
    slurm("scontrol", "update", "nodename=n2", "state=down", "reason=test")
    until(lambda: bool([job for job in project.jobs() if job.restarts]), "back in the queue")
    # Slurm waits two minutes before it starts such a job again.
    slurm("scontrol", "update", f"jobid={lost.id}", "starttime=now")
    run = head.wait()
    assert run.status == 0, run.output
    jobs = project.jobs()
    assert {job.id for job in jobs if job.restarts} == {lost.id}
    assert {job.node for job in jobs} == {"n1"}
    # Nothing that was in the store was made again.
    assert set(run.work.values()) == {1}
    assert len(run.variants("predict")) == VARIANTS
