"""Runs the launches of a job in worker processes, so that one that hangs or fails costs itself.

The worker is replaced when a launch has taken it down; what was acknowledged before is kept, and
nothing is run twice.
"""

import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from probelab.schema.raw import Device
from probelab.timing.child import Child, ChildDiedError, ChildTimeoutError
from probelab.timing.devices import Gpu
from probelab.timing.driver import LaunchRequest
from probelab.timing.measurement import Sample
from probelab.timing.schedule import Step, plan_steps

logger = logging.getLogger(__name__)

#: Bound on a worker's start, which includes the driver's initialisation: seconds.
START_TIMEOUT_S = 60.0
#: Pause before the one further attempt to start a worker: seconds.
_RETRY_PAUSE_S = 2.0
#: The slowest SM clock that a loaded GPU is expected to have; all since sm_75 run above it.
_SANE_CLOCK_HZ = 1e9


@dataclass(frozen=True)
class Job:
    """A launch that is to be measured."""

    launch: str
    variant: str
    request: LaunchRequest


@dataclass
class Outcome:
    """What came of a launch: `failure` is empty, or the reason for which it was given up."""

    samples: list[Sample] = field(default_factory=list)
    failure: str = ""


class BackendMissingError(Exception):
    """The worker can't import PyCUDA: the backend doesn't apply here at all."""


class _WorkerLostError(Exception):
    """The worker is gone; the launch that it ran has its reason already."""


class Session:
    """The measurement of several launches on one GPU."""

    def __init__(
        self,
        name: str,
        jobs: Sequence[Job],
        *,
        gpu: Gpu,
        repeats: int,
        warmup: int,
        timeout_s: float,
        command: Sequence[str],
        start_timeout_s: float = START_TIMEOUT_S,
        retry_pause_s: float = _RETRY_PAUSE_S,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """
        Args:
            name: of the job; decides the order together with the launches' ids.
            jobs: the launches.
            gpu: that the worker is to use.
            repeats: timed runs of each launch.
            warmup: runs of each launch before its first timed one, and again in a worker that
                replaces another.
            timeout_s: wall-clock bound on one run.
            command: starts a worker.
            start_timeout_s: wall-clock bound on a worker's start.
            retry_pause_s: pause before the second attempt to start one.
            sleep: waits for so many seconds.
        """
        self._jobs = {job.launch: job for job in jobs}
        self._outcomes = {job.launch: Outcome() for job in jobs}
        self._steps = deque(plan_steps(name, list(self._jobs), repeats))
        self._name = name
        self._gpu = gpu
        self._warmup = warmup
        self._timeout_s = timeout_s
        self._command = command
        self._start_timeout_s = start_timeout_s
        self._retry_pause_s = retry_pause_s
        self._sleep = sleep
        self._device: Device | None = None

    @property
    def device(self) -> Device | None:
        """The GPU, as the first worker described it."""
        return self._device

    def run(self) -> dict[str, Outcome]:
        """Run everything; outcomes by launch id.

        Raises:
            BackendMissingError: if PyCUDA can't be imported.
        """
        self._refuse_long_ones()
        while self._live():
            try:
                child = self._start()
            except ChildDiedError as error:
                self._give_up(f"no GPU process could be started: {error}")
                break
            with child:
                try:
                    self._warm(child)
                    self._time(child)
                except _WorkerLostError:
                    child.kill()
        return self._outcomes

    def _refuse_long_ones(self) -> None:
        """Fail launches whose clock budget can't pass within the bound."""
        for job in self._jobs.values():
            expected_s = job.request.clock_budget_cycles / _SANE_CLOCK_HZ
            if expected_s > self._timeout_s:
                self._outcomes[job.launch].failure = (
                    f"a clock budget of {job.request.clock_budget_cycles} cycles takes about "
                    f"{expected_s:.3g} s, more than the bound of {self._timeout_s:g} s on a launch"
                )

    def _live(self) -> list[str]:
        """Launches that still have timed runs before them."""
        due = {step.launch for step in self._steps}
        return [
            launch
            for launch, outcome in self._outcomes.items()
            if launch in due and not outcome.failure
        ]

    def _give_up(self, reason: str) -> None:
        for launch in self._live():
            self._outcomes[launch].failure = reason

    def _start(self) -> Child:
        """A worker with the GPU open; a second attempt is made after a pause.

        Raises:
            ChildDiedError: if it can't be had.
            BackendMissingError: if PyCUDA can't be imported.
        """
        try:
            return self._start_once()
        except ChildDiedError as error:
            logger.warning("%s: GPU process: %s; trying once more", self._name, error)
            self._sleep(self._retry_pause_s)
            return self._start_once()

    def _start_once(self) -> Child:
        child = Child(self._command)
        try:
            answer = child.ask({"do": "open", "uuid": self._gpu.uuid}, self._start_timeout_s)
            if not answer["ok"]:
                if answer["missing"]:
                    raise BackendMissingError(answer["reason"])
                raise ChildDiedError(answer["reason"])
            self._device = Device(
                uuid=self._gpu.uuid,
                driver_version=self._gpu.driver_version,
                **answer["device"],
            )
        except ChildTimeoutError as error:
            raise ChildDiedError(str(error)) from None
        except BaseException:
            child.kill()
            raise
        return child

    def _warm(self, child: Child) -> None:
        """Run every live launch without timing it."""
        for step in plan_steps(self._name + " warm-up", self._live(), self._warmup):
            if not self._outcomes[step.launch].failure:
                self._ask(child, self._jobs[step.launch])

    def _time(self, child: Child) -> None:
        while self._steps:
            step = self._steps.popleft()
            outcome = self._outcomes[step.launch]
            if outcome.failure:
                continue
            answer = self._ask(child, self._jobs[step.launch])
            if answer is not None:
                outcome.samples.append(_sample(step, answer))

    def _ask(self, child: Child, job: Job) -> dict[str, Any] | None:
        """Have a launch run; None if it failed and the worker lives.

        Raises:
            _WorkerLostError: if the launch took the worker down.
        """
        # asdict() would copy deeply; the fields are plain.
        request = {"do": "launch", "launch": vars(job.request)}
        try:
            answer = child.ask(request, self._timeout_s)
        except ChildTimeoutError as error:
            self._fail(job, f"{error}: the GPU process was killed", fatal=True)
            raise _WorkerLostError from None
        except ChildDiedError as error:
            self._fail(job, f"the GPU process {error}", fatal=True)
            raise _WorkerLostError from None
        if answer["ok"]:
            return answer
        self._fail(job, answer["reason"], fatal=not answer["usable"])
        if not answer["usable"]:
            raise _WorkerLostError
        return None

    def _fail(self, job: Job, reason: str, fatal: bool) -> None:
        """Give a launch up, and with it the others of its kernel if it took the worker down."""
        logger.warning("%s: %s", job.launch, reason)
        self._outcomes[job.launch].failure = reason
        if not fatal:
            return
        live = set(self._live())
        for other in self._jobs.values():
            if other.variant == job.variant and other.launch in live:
                self._outcomes[
                    other.launch
                ].failure = f"not tried further: {job.launch} of the same kernel failed: {reason}"


def _sample(step: Step, answer: dict[str, Any]) -> Sample:
    fields = {key: value for key, value in answer.items() if key != "ok"}
    return Sample(repeat=step.repeat, order=step.order, **fields)
