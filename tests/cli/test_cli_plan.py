"""`probelab plan` and the pace that its estimate rests on."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from probelab.cli import app
from probelab.pace import Pace, note, paces

ROOT = Path(__file__).parents[2]


def plan(*arguments: str) -> list[list[str]]:
    """The cells of each line that is printed."""
    done = CliRunner().invoke(app, ["plan", "--root", str(ROOT), *arguments])
    assert done.exit_code == 0, done.output
    return [line.split() for line in done.output.splitlines()]


def test_counts_of_the_default_configuration() -> None:
    *each, total = plan()
    assert [row[:4] for row in each[:2]] == [
        ["arithmetic_dependency", "sm_86", "6", "10"],
        ["arithmetic_dependency", "sm_90", "6", "10"],
    ]
    # 6 + 10 + 42 + 28 variants and 10 + 18 + 82 + 52 launches, for two architectures.
    assert total[:4] == ["all", "172", "324", "8"]


def test_settings_filter_a_sweep() -> None:
    only = "only=length == 7 and op == 'fma' and reduction == 'none' and tail == 'last'"
    arguments = ["-C", "probes=[]", "-C", "sweeps=[accumulators]", "-C", "architectures=[sm_90]"]
    [row, _] = plan(*arguments, "-C", only)
    # Lengths of 7 with 1 to 7 accumulators, at one and two warps per sub-core.
    assert row[:4] == ["accumulators", "sm_90", "7", "14"]
    listed = plan(*arguments, "-C", only, "--list")[2:]
    assert {line[-1] for line in listed} == {f"fma_7_{count}acc" for count in range(1, 8)}


@pytest.mark.parametrize("setting", ["repeats", "only=length >", "subset=nope"])
def test_mistakes_are_one_line(setting: str) -> None:
    arguments = ["--root", str(ROOT), "-C", "sweeps=[accumulators]", "-C", setting]
    done = CliRunner().invoke(app, ["plan", *arguments])
    assert done.exit_code == 1
    assert len(done.output.strip().splitlines()) == 1 and "Traceback" not in done.output


def test_pace_tells_a_jobs_least_time_from_that_of_a_piece(tmp_path: Path) -> None:
    assert paces(tmp_path) == {}
    note(tmp_path, "build", "a", 0, 0.5)
    note(tmp_path, "build", "b", 10, 2.5)
    note(tmp_path, "build", "c", 20, 4.5)
    with (tmp_path / "jobs.jsonl").open("a") as stream:
        stream.write('{"station": "build", "ma')
    assert paces(tmp_path) == {"build": Pace(job_s=0.5, piece_s=pytest.approx(0.2))}
    assert paces(tmp_path)["build"].seconds(jobs=2, pieces=100) == pytest.approx(21.0)
