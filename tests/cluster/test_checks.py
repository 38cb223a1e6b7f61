"""What is asked of Slurm before anything is submitted, with programs that only play Slurm."""

import logging
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from probelab import cluster
from probelab.cluster import Request, check_requests, check_status
from probelab.errors import ConfigError, ToolError

Play = Callable[[str, str], None]

CONFIG = "echo 'MaxArraySize = 1001'; echo 'MinJobAge               = 300 sec'"
NO_ACCOUNTING = "echo 'Slurm accounting storage is disabled' >&2; exit 1"
IMPOSSIBLE = "echo 'allocation failure: Requested node configuration is not available' >&2; exit 1"


@pytest.fixture
def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Play:
    """Puts a shell script in the place of one of Slurm's programs; there are no others."""
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/usr/bin{os.pathsep}/bin")
    real = cluster.shutil.which
    monkeypatch.setattr(
        cluster.shutil, "which", lambda name: real(name) if (tmp_path / name).exists() else None
    )

    def write(program: str, script: str) -> None:
        (tmp_path / program).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / program).chmod(0o755)

    write("scontrol", CONFIG)
    return write


def test_squeue_that_remembers_long_enough(play: Play) -> None:
    play("sacct", NO_ACCOUNTING)
    check_status("squeue", 40)


def test_squeue_that_forgets_too_soon(play: Play) -> None:
    play("sacct", NO_ACCOUNTING)
    with pytest.raises(
        ConfigError, match=r"after 300 s, squeue needs 600 s.*set it to 100 or less"
    ):
        check_status("squeue", 200)
    play("sacct", "exit 0")
    check_status("squeue", 200)


def test_sacct_with_and_without_accounting(play: Play) -> None:
    play("sacct", NO_ACCOUNTING)
    with pytest.raises(ConfigError, match=r"accounting storage is disabled \(set it to squeue"):
        check_status("sacct", 40)
    play("sacct", "exit 0")
    check_status("sacct", 40)


def test_a_site_without_sacct(play: Play) -> None:
    """The plugin asks squeue then, whatever it was told."""
    play("scontrol", CONFIG)
    check_status("sacct", 40)
    check_status("squeue", 200)


def test_no_controller(play: Play) -> None:
    play("scontrol", "echo 'Unable to contact slurm controller (connect failure)' >&2; exit 1")
    with pytest.raises(ToolError, match=r"doesn't answer: Unable to contact slurm controller"):
        check_status("squeue", 5)


def test_a_controller_that_never_answers(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "TIMEOUT_S", 0.2)
    play("scontrol", "exec sleep 60")
    with pytest.raises(ToolError, match=r"scontrol: no answer within 0.2 s"):
        check_status("squeue", 5)


def test_no_slurm(play: Play, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    play("scontrol", CONFIG)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    with pytest.raises(ToolError, match=r"scontrol: can't be started"):
        check_status("squeue", 5)


def test_requests_of_one_form_are_asked_once(play: Play, tmp_path: Path) -> None:
    play("sbatch", f'echo "$*" >> {tmp_path}/asked')
    resources = {"runtime": 30, "mem_mb": 4000, "gpu": 0, "tmpdir": "/tmp"}
    requests = [Request.of("build", 1, resources) for _ in range(3)]
    requests.append(
        Request.of(
            "timing",
            1,
            resources
            | {"gpu": 1, "slurm_partition": "gpu", "slurm_extra": "--nodelist=n1 --nice=5"},
        )
    )
    check_requests(requests)
    assert (tmp_path / "asked").read_text().splitlines() == [
        "--test-only --cpus-per-task=1 --time=30 --mem=4000 --wrap=true",
        "--test-only --cpus-per-task=1 --partition=gpu --time=30 --mem=4000 --gpus=1 --nodes=1 "
        "--nodelist=n1 --nice=5 --wrap=true",
    ]


def test_other_forms_of_a_gpu() -> None:
    assert Request.of("timing", 2, {"gpu": 0, "gres": "gpu:1"}).arguments == (
        "--cpus-per-task=2",
        "--gres=gpu:1",
    )
    model = Request.of("timing", 1, {"gpu": 1, "gpu_model": "h100"})
    assert "--gpus=h100:1" in model.arguments


@pytest.mark.parametrize(
    ("nodes", "refused"),
    [
        ("idle up\nallocated up", True),
        ("mixed up", True),
        ("idle up\ndrained up", False),
        ("down* up", False),
        ("idle inact", False),
    ],
)
def test_a_job_that_fits_no_node(
    play: Play, caplog: pytest.LogCaptureFixture, nodes: str, refused: bool
) -> None:
    """Slurm says the same while the node that it would fit is down, so then it is a warning."""
    play("sbatch", IMPOSSIBLE)
    play("sinfo", f"printf '{nodes}\\n'")
    requests = [Request.of("timing", 1, {"gpu": 5})]
    if refused:
        with pytest.raises(ConfigError, match=r"timing: .*--gpus=5.*: Slurm refuses such a job"):
            check_requests(requests)
    else:
        with caplog.at_level(logging.WARNING):
            check_requests(requests)
        assert "some nodes are down or drained" in caplog.text


def test_an_unknown_partition_is_refused_whatever_the_nodes(play: Play) -> None:
    play("sbatch", "echo 'allocation failure: Invalid partition name specified' >&2; exit 1")
    play("sinfo", "echo 'down up'")
    with pytest.raises(ConfigError, match=r"Invalid partition name"):
        check_requests([Request.of("build", 1, {"slurm_partition": "nowhere"})])
