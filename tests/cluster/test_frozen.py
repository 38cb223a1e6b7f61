"""What a queued job holds against the plan that it was submitted with."""

from pathlib import Path

import pytest
import yaml

from probelab import frozen
from probelab.config.load import read_yaml
from probelab.errors import DataError
from probelab.workflow import STATIONS, Workflow
from tests.workflow.project import TINY, Project

ARITHMETIC, CHAIN7 = TINY["probes"]
CHUNKS = [f"{probe}.sm_86.b" for probe in TINY["probes"]]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project in the working directory, its plan written down."""
    project = Project.create(tmp_path / "project")
    monkeypatch.chdir(project.folder)
    monkeypatch.setenv(frozen.VARIABLE, str(frozen.freeze(lab(project))))
    return project


def lab(project: Project) -> Workflow:
    """The workflow as a job finds it."""
    settings = read_yaml(project.folder / "config" / "config.yaml")
    return Workflow.prepare(settings | TINY, project.folder)


def refused(project: Project) -> set[tuple[str, str]]:
    """The jobs that would stop."""
    now = lab(project)
    jobs = [(station, chunk) for station in STATIONS for chunk in CHUNKS]
    return {job for job in jobs if frozen.changed(now, [job])}


def test_nothing_has_changed(project: Project) -> None:
    for path in (project.folder / "kernels").iterdir():
        path.write_bytes(path.read_bytes())
    assert not refused(project)


def test_the_same_plan_is_the_same_file(project: Project) -> None:
    assert str(frozen.freeze(lab(project))) == str(
        next((project.folder / frozen.FOLDER).iterdir()).relative_to(project.folder)
    )


def test_a_kernel_stops_its_own_probes_jobs(project: Project) -> None:
    name = f"kernels/{CHAIN7}.cu"
    project.write(name, "// One more remark.\n" + (project.folder / name).read_text())
    assert refused(project) == {(station, CHUNKS[1]) for station in STATIONS}


def test_an_intent_stops_the_jobs_of_shape(project: Project) -> None:
    name = f"config/probes/{CHAIN7}.yaml"
    probe = yaml.safe_load((project.folder / name).read_text())
    probe["roles"][0]["intent"]["setup"] = "allowed"
    project.write(name, yaml.safe_dump(probe, sort_keys=False, allow_unicode=True))
    assert refused(project) == {("shape", CHUNKS[1])}


def test_a_removed_probe_stops_its_jobs(project: Project) -> None:
    now = Workflow.prepare(
        read_yaml(project.folder / "config" / "config.yaml") | TINY | {"probes": [ARITHMETIC]},
        project.folder,
    )
    assert not frozen.changed(now, [("sass", CHUNKS[0])])
    assert frozen.changed(now, [("sass", CHUNKS[1])])


@pytest.mark.parametrize("folder", ["scripts", "workflow/rules"])
def test_a_stations_command_and_rule_stop_its_jobs(project: Project, folder: str) -> None:
    [path] = (project.folder / folder).glob("predict.*")
    path.write_text(path.read_text() + "\n# One more remark.\n")
    assert refused(project) == {("predict", chunk) for chunk in CHUNKS}


def test_one_line_says_what_has_changed_and_the_log_has_it(project: Project) -> None:
    name = f"kernels/{CHAIN7}.cu"
    project.write(name, "// One more remark.\n" + (project.folder / name).read_text())
    command = ["snakemake", "--target-jobs", f"sass:chunk={CHUNKS[1]}", f"build:chunk={CHUNKS[1]}"]
    with pytest.raises(DataError) as raised:
        frozen.refuse_if_changed(lab(project), [*command, "--allowed-rules", "sass", "build"])
    message = str(raised.value)
    assert message.startswith(f"build, sass of {CHUNKS[1]}: changed after this job was submitted: ")
    assert f"{name}; nothing was done" in message
    log = project.folder / "logs" / "build" / f"{CHUNKS[1]}.log"
    assert log.read_text() == f"probelab: {message}\n"


def test_no_plan_is_no_reason_to_stop(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.edit(f"kernels/{CHAIN7}.cu", "\n", "\n// One more remark.\n")
    for value in ("", ".snakemake/probelab/gone.json"):
        monkeypatch.setenv(frozen.VARIABLE, value)
        assert not refused(project)


@pytest.mark.parametrize("text", ["", "{", "[3]"])
def test_a_damaged_plan_is_one_line(project: Project, text: str) -> None:
    [path] = (project.folder / frozen.FOLDER).iterdir()
    path.write_text(text)
    with pytest.raises(DataError, match=r"\.json: can't be read"):
        refused(project)


def test_jobs_of_other_commands() -> None:
    assert frozen.jobs_of(["snakemake", "--cores", "1"]) == []
    assert frozen.jobs_of(["snakemake", "--target-jobs", "report:"]) == []
