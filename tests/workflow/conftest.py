"""One run from nothing, of which each test takes a copy."""

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.workflow.project import DATASET, Project, Run


@pytest.fixture(scope="session")
def first(tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, Run]:
    """A project and its first run, up to the dataset. Not to be changed: copy it."""
    project = Project.create(tmp_path_factory.mktemp("workflow") / "first")
    run = project.run(DATASET)
    assert run.status == 0, run.output
    return project, run


@pytest.fixture
def done(first: tuple[Project, Run], tmp_path: Path) -> Callable[[], Project]:
    """Makes copies of the project that has run."""
    numbers = itertools.count()
    return lambda: first[0].copy(tmp_path / f"copy{next(numbers)}")
