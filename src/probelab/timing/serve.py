"""The child's side of `child.py`: requests from standard input, answers to standard output."""

import ctypes
import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

_PR_SET_PDEATHSIG = 1


def serve(answer: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Answer requests until the input ends.

    Whatever else writes to standard output (a driver, a user's library) is led to standard error,
    so that it can't be taken for an answer.

    Args:
        answer: makes the answer to a request; it catches what it expects to fail.
    """
    _end_with_parent()
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        replies.write(json.dumps(answer(json.loads(line))) + "\n")
        replies.flush()


def _end_with_parent() -> None:
    """Have Linux kill this process when its parent ends, so that a killed run leaves no child that
    holds the GPU. Elsewhere the child ends at the end of its input, once it reads it."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
