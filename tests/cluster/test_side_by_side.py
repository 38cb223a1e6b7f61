"""Timing jobs side by side on one machine, without a batch system."""

from itertools import pairwise
from pathlib import Path

import pytest
import yaml

from probelab.schema.raw import RawResult
from probelab.timing import devices
from tests.cluster import fake_gpus
from tests.cluster.test_cluster_runs import span, uuids
from tests.workflow.project import TINY, Project


def test_each_takes_a_free_gpu_and_none_takes_two_jobs(tmp_path: Path) -> None:
    project = Project.create(tmp_path / "project")
    fake_gpus.install(project.folder, everywhere=True)
    fake_gpus.meet(project.folder)
    settings = {"backend": "auto", "repeats": 3, "chunk_size": 5}
    project.write("tiny.yaml", yaml.safe_dump(TINY | settings))
    assert project.run("all", "--until", "predict", cores=2).status == 0
    run = project.run("all", "--until", "timing", "--resources", "gpu=4", cores=4)
    assert run.status == 0, run.output
    chunks = [
        [RawResult.model_validate_json(path.read_bytes()) for path in folder.glob("*.json")]
        for folder in (project.folder / "results" / "timing").iterdir()
        if folder.is_dir()
    ]
    assert len(chunks) > 2
    by_device: dict[str, list[list[RawResult]]] = {}
    for chunk in chunks:
        [uuid] = uuids(chunk)
        by_device.setdefault(uuid, []).append(chunk)
    # Two devices, both in use at once; on each, one job after the other.
    assert len(by_device) == 2
    (begin, end), (other_begin, other_end) = (
        (min(span(chunk)[0] for chunk in jobs), max(span(chunk)[1] for chunk in jobs))
        for jobs in by_device.values()
    )
    assert begin < other_end and other_begin < end
    for jobs in by_device.values():
        spans = sorted(map(span, jobs))
        assert all(first[1] <= second[0] for first, second in pairwise(spans))


def test_a_lock_on_another_users_file_is_the_same_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a file can't be written, as in a folder like /tmp, the lock needs only to read it."""
    path = tmp_path / "gpu.lock"
    held = devices._lock(path)

    def refuse(*_: object) -> None:
        raise PermissionError

    with monkeypatch.context() as patch:
        patch.setattr(devices.FileLock, "acquire", refuse)
        assert held is not None and devices._lock(path) is None
        held.release()
        foreign = devices._lock(path)
        assert foreign is not None and devices._lock(path) is None
    assert devices._lock(path) is None
    foreign.release()
    assert devices._lock(path) is not None
