"""The lab, once for all tests; projects on it; and a copy of one that has run."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cluster.fake_gpus import meet
from tests.cluster.lab import ClusterProject, Lab, running_lab, why_not
from tests.workflow.project import Run


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A Slurm cluster of two nodes with two GPUs each."""
    if reason := why_not():
        pytest.skip(f"no Slurm here: {reason}")
    with running_lab(tmp_path_factory.mktemp("slurm")) as lab:
        yield lab


@pytest.fixture
def healed(lab: Lab) -> Iterator[None]:
    """Has all nodes take jobs again after the test."""
    yield
    lab.heal()


@pytest.fixture
def project(lab: Lab, tmp_path: Path) -> Iterator[ClusterProject]:
    """A project that has not run."""
    project = lab.project(tmp_path / "project")
    yield project
    project.close()


@pytest.fixture(scope="session")
def first(
    lab: Lab, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[ClusterProject, Run]]:
    """A project that has run through profiles/slurm, its timing jobs on one node."""
    project = lab.project(tmp_path_factory.mktemp("cluster") / "first")
    meet(project.folder)
    head = project.start("slurm", "--set-resources", "timing:slurm_extra='--nodelist=n1'")
    yield project, head.wait()
    project.close()


@pytest.fixture
def done(
    first: tuple[ClusterProject, Run], tmp_path: Path
) -> Iterator[Callable[[], ClusterProject]]:
    """Makes copies of the project that has run."""
    made: list[ClusterProject] = []

    def copy() -> ClusterProject:
        made.append(ClusterProject(first[0].copy(tmp_path / f"copy{len(made)}").folder))
        return made[-1]

    yield copy
    for project in made:
        project.close()
