"""What is looked at before a run submits anything: settings with which it would wait for ever.

Slurm takes some jobs that it can never start, and Snakemake's plugin goes on waiting when it can't
learn that a job has ended. Each of these is asked about here, within a bound on the wall clock.
"""

import logging
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from probelab.errors import ConfigError, ToolError

#: Bound on one question to Slurm, in seconds; its own programs wait for a controller for longer.
TIMEOUT_S = 30
#: States of nodes on which jobs start.
_USABLE = frozenset({"allocated", "completing", "idle", "mixed", "planned"})
#: squeue is believed only if Slurm shows an ended job for so many times the first interval.
_INTERVALS = 3

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Request:
    """What a job asks of Slurm, as arguments of sbatch.

    Attributes:
        rule: that the job belongs to.
        arguments: of sbatch.
    """

    rule: str
    arguments: tuple[str, ...]

    @classmethod
    def of(cls, rule: str, threads: int, resources: Mapping[str, Any]) -> "Request":
        """The request that the plugin makes of a job's resources."""
        named = {
            "slurm_account": "--account",
            "slurm_partition": "--partition",
            "runtime": "--time",
            "mem_mb": "--mem",
            "constraint": "--constraint",
            "qos": "--qos",
            "gres": "--gres",
        }
        arguments = [f"--cpus-per-task={threads}"]
        arguments += [
            f"{option}={resources[name]}" for name, option in named.items() if resources.get(name)
        ]
        if gpus := resources.get("gpu"):
            model = resources.get("gpu_model")
            arguments += [f"--gpus={model}:{gpus}" if model else f"--gpus={gpus}", "--nodes=1"]
        arguments += shlex.split(str(resources.get("slurm_extra") or ""))
        return cls(rule, tuple(arguments))


def check_executor(workflow: Any) -> None:
    """Check the executor of a run that is about to start.

    Args:
        workflow: Snakemake's.

    Raises:
        ConfigError: if a setting can't work.
        ToolError: if the batch system doesn't answer.
    """
    settings = workflow.executor_settings
    if type(settings).__module__ != "snakemake_executor_plugin_slurm":
        return
    check_status(settings.status_command, settings.init_seconds_before_status_checks)
    jobs = [job for job in workflow.dag.needrun_jobs() if not (job.is_local or job.is_norun)]
    check_requests(
        Request.of(job.rule.name, job.threads, dict(job.resources.items())) for job in jobs
    )


def check_status(command: str | None, first_s: int | None) -> None:
    """Whether the run can learn that a job has ended.

    Args:
        command: `sacct` or `squeue`, with which the plugin asks.
        first_s: seconds before it asks for the first time.

    Raises:
        ConfigError: if it can't.
        ToolError: if Slurm's controller doesn't answer.
    """
    shown = _ask(["scontrol", "show", "config"])
    if shown.returncode:
        raise ToolError(
            f"Slurm's controller doesn't answer: {_last_line(shown)}",
            where="scontrol",
            hint="nothing was submitted; is this a machine that can submit?",
        )
    found = re.search(r"^MinJobAge\s*=\s*(\d+)", shown.stdout, re.MULTILINE)
    remembered_s = int(found[1]) if found else 0
    needed_s = _INTERVALS * (first_s or 0)
    sacct_here = shutil.which("sacct") is not None
    # As the plugin decides.
    falls_back = command == "squeue" and remembered_s < needed_s and sacct_here
    if not falls_back and (command != "sacct" or not sacct_here):
        return
    asked = _ask(["sacct", "--allocations", "--noheader", "--starttime=now", "--name=probelab"])
    if asked.returncode == 0:
        return
    if falls_back:
        raise ConfigError(
            f"Slurm forgets an ended job after {remembered_s} s, squeue needs {needed_s} s, and "
            f"sacct can't be asked instead: {_last_line(asked)}",
            where="slurm-init-seconds-before-status-checks",
            hint=f"set it to {max(1, remembered_s // _INTERVALS)} or less",
        )
    raise ConfigError(
        f"sacct can't tell when a job has ended: {_last_line(asked)}",
        where="slurm-status-command",
        hint="set it to squeue, as profiles/slurm does",
    )


def check_requests(requests: Iterable[Request]) -> None:
    """Whether Slurm could ever start such jobs; nothing is submitted.

    While nodes are down or drained, Slurm says the same of a job that could run on them, so then
    it is only a warning.

    Raises:
        ConfigError: with the first one that it couldn't.
    """
    for request in dict.fromkeys(requests):
        answer = _ask(["sbatch", "--test-only", *request.arguments, "--wrap=true"])
        if answer.returncode == 0:
            continue
        error = ConfigError(
            f"Slurm refuses such a job: {_last_line(answer)}",
            where=f"{request.rule}: {shlex.join(request.arguments)}",
            hint="nothing was submitted; docs/clusters.md says how to adapt a profile",
        )
        if "configuration is not available" not in error.what or not _nodes_away():
            raise error
        logger.warning(
            "probelab: %s: %s while some nodes are down or drained; its jobs may wait",
            error.where,
            error.what,
        )


def _nodes_away() -> bool:
    """Whether some node, or a whole partition, takes no jobs at the moment."""
    shown = _ask(["sinfo", "--noheader", "--Node", "--format=%T %a"])
    nodes = [line.split() for line in shown.stdout.splitlines()]
    return any(state not in _USABLE or partition != "up" for state, partition in nodes)


def _ask(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=TIMEOUT_S
        )
    except subprocess.TimeoutExpired:
        raise ToolError(
            f"no answer within {TIMEOUT_S} s", where=command[0], hint="nothing was submitted"
        ) from None
    except OSError as error:
        raise ToolError(
            f"can't be started: {error.strerror}",
            where=command[0],
            hint="this machine lacks Slurm's programs; start the run where jobs are submitted",
        ) from None


def _last_line(done: subprocess.CompletedProcess[str]) -> str:
    lines = [line.strip() for line in (done.stderr + done.stdout).splitlines() if line.strip()]
    return lines[-1] if lines else f"exit status {done.returncode}"
