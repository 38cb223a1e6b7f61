"""Runs from nothing on a real Slurm: where the jobs were, and what each was given."""

import json
import re
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from probelab.schema.raw import RawResult
from tests.cluster.fake_gpus import LAUNCH_S
from tests.cluster.lab import ClusterProject
from tests.workflow.project import DATASET, TINY, Run

pytestmark = pytest.mark.cluster

#: Four roles alone and one coresident kernel; eight and one. Each is one launch.
VARIANTS = 4 + 1 + 8 + 1
CHUNKS = [f"{probe}.sm_86.b" for probe in TINY["probes"]]


def raws(project: ClusterProject, chunk: str) -> list[RawResult]:
    folder = project.folder / "results" / "timing" / chunk
    return [RawResult.model_validate_json(path.read_bytes()) for path in folder.glob("*.json")]


def uuids(results: list[RawResult]) -> set[str]:
    """The devices of a chunk's launches."""
    return {raw.device.uuid for raw in results if raw.device is not None}


def span(results: list[RawResult]) -> tuple[datetime, datetime]:
    """When a chunk's launches began and ended."""
    starts = [datetime.fromisoformat(r.started_at) for raw in results for r in raw.repeats]
    return min(starts), max(starts) + timedelta(seconds=LAUNCH_S)


def assert_whole(project: ClusterProject, run: Run) -> None:
    """Everything was made, once, and timed on the fake GPUs."""
    assert run.status == 0, run.output
    for station in ("build", "sass", "shape", "predict", "timing"):
        assert len(run.variants(station)) == VARIANTS, station
    assert set(run.work.values()) == {1}
    assert (project.folder / DATASET).stat().st_size
    for chunk in CHUNKS:
        manifest = json.loads((project.folder / f"results/timing/{chunk}.json").read_text())
        assert {(row["status"], row["backend"]) for row in manifest["rows"]} == {("ok", "pycuda")}


class TestSlurm:
    def test_a_run_from_nothing(self, first: tuple[ClusterProject, Run]) -> None:
        assert_whole(*first)

    def test_a_chunk_is_one_job_without_a_gpu_and_one_with_one(
        self, first: tuple[ClusterProject, Run]
    ) -> None:
        assert sorted(job.gpus for job in first[0].jobs()) == [0, 0, 1, 1]

    def test_chunks_ran_on_both_nodes(self, first: tuple[ClusterProject, Run]) -> None:
        assert {job.node for job in first[0].jobs() if not job.gpus} == {"n1", "n2"}

    def test_jobs_side_by_side_saw_one_device_each(self, first: tuple[ClusterProject, Run]) -> None:
        project, _ = first
        logs = [(project.folder / f"logs/timing/{chunk}.log").read_text() for chunk in CHUNKS]
        given = [re.findall(r"timing on (\S+), CUDA_VISIBLE_DEVICES=(\S*)$", t, re.M) for t in logs]
        assert sorted(given) == [[("n1", "0")], [("n1", "1")]]
        results = [raws(project, chunk) for chunk in CHUNKS]
        assert {raw.node for chunk in results for raw in chunk} == {"n1"}
        devices = [uuids(chunk) for chunk in results]
        assert sorted(map(sorted, devices)) == [["GPU-n1-0"], ["GPU-n1-1"]]
        (begin, end), (other_begin, other_end) = map(span, results)
        assert begin < other_end and other_begin < end

    def test_a_second_run_does_nothing(self, done: Callable[[], ClusterProject]) -> None:
        project = done()
        run = project.start("slurm").wait()
        assert run.nothing, run.output
        assert not project.jobs()


def test_the_generic_profile_does_the_same(project: ClusterProject) -> None:
    run = project.start("generic").wait()
    assert_whole(project, run)
    assert sorted(job.gpus for job in project.jobs()) == [0, 0, 1, 1]
    for chunk in CHUNKS:
        assert len(uuids(raws(project, chunk))) == 1
        assert "CUDA_VISIBLE_DEVICES=" in (project.folder / f"logs/timing/{chunk}.log").read_text()
    again = project.start("generic").wait()
    assert again.nothing, again.output
