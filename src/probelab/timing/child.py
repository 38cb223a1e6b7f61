"""A child process that answers requests, one JSON line each, within a bound on the wall clock.

Code that may hang or crash (a kernel, a user's host reference) runs in such a process, so that it
costs its own result and nothing else.
"""

import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import IO, Any, Self

#: How long a child that was told to end, or killed, may take to be gone.
_END_S = 10.0


class ChildTimeoutError(Exception):
    """The child gave no answer in time; it has been killed."""


class ChildDiedError(Exception):
    """The child ended, or answered with something else than a line of JSON."""


class _LateError(Exception):
    """The deadline has passed."""


def _wait_until(descriptor: int, event: int, deadline: float) -> None:
    """Wait until a pipe can be read or written."""
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, event)
        if not selector.select(max(0.0, deadline - time.monotonic())):
            raise _LateError


def python_command(module: str) -> list[str]:
    """Command that runs a module of this package in a Python like this one.

    `-P` keeps the working directory, where a user may have a `random.py`, off the module path.
    """
    return [sys.executable, "-P", "-m", module]


class Child:
    """A running child process; a context manager that ends it."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str] | None = None):
        """Start it.

        Args:
            command: what to run; nothing passes a shell.
            environment: variables set in addition to this process's.

        Raises:
            ChildDiedError: if it can't be started at all.
        """
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (closed in `kill`)
        self._buffer = b""
        try:
            self._process = subprocess.Popen(
                list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                env={**os.environ, **(environment or {})},
                bufsize=0,
            )
        except OSError as error:
            self._errors.close()
            raise ChildDiedError(f"can't start {command[0]}: {error.strerror}") from None

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    def ask(self, request: Mapping[str, Any], timeout_s: float) -> dict[str, Any]:
        """Send a request and return the answer.

        Raises:
            ChildTimeoutError: if there is none within `timeout_s`; the child has been killed.
            ChildDiedError: if the child has ended or talks nonsense; it has been killed.
        """
        deadline = time.monotonic() + timeout_s
        try:
            self._send(json.dumps(request).encode() + b"\n", deadline)
            line = self._receive(deadline)
        except _LateError:
            self.kill()
            raise ChildTimeoutError(f"no answer within {timeout_s:g} s") from None
        except (OSError, ValueError):  # it has ended, or was killed before
            raise self._died() from None
        try:
            answer = json.loads(line)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            self.kill()
            raise ChildDiedError(f"answered with something else than JSON: {line[:80]!r}")
        return answer

    def _send(self, data: bytes, deadline: float) -> None:
        assert self._process.stdin is not None
        descriptor = self._process.stdin.fileno()
        os.set_blocking(descriptor, False)
        while data:
            _wait_until(descriptor, selectors.EVENT_WRITE, deadline)
            data = data[os.write(descriptor, data) :]

    def _receive(self, deadline: float) -> bytes:
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        while b"\n" not in self._buffer:
            _wait_until(descriptor, selectors.EVENT_READ, deadline)
            part = os.read(descriptor, 1 << 16)
            if not part:
                raise OSError("the output has ended")
            self._buffer += part
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def _died(self) -> ChildDiedError:
        """What is known of a child that has closed its output."""
        try:
            code = self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            code = 0
        complaint = self._complaint()
        self.kill()
        how = f"exit status {code}"
        if code < 0:
            try:
                how = signal.Signals(-code).name
            except ValueError:
                how = f"signal {-code}"
        return ChildDiedError(f"ended with {how}" + (f": {complaint}" if complaint else ""))

    def _complaint(self) -> str:
        """The last line that the child wrote to its error output."""
        if self._errors.closed:
            return ""
        size = self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, size - 4096))
        lines = self._errors.read().decode(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")

    def kill(self) -> None:
        """End the process at once, this one only; nothing happens if it has ended."""
        if self._process.poll() is None:
            self._process.kill()
            # One that is in the driver, out of a signal's reach, ends when that returns.
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_END_S)
        self._close_pipes()

    def close(self) -> None:
        """Close the child's input and let it end on its own, or kill it."""
        if self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_S)
        self.kill()

    def _close_pipes(self) -> None:
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            if stream is not None and not stream.closed:
                with suppress(OSError):
                    stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self.close()
        else:
            self.kill()
