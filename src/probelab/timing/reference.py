"""The host reference: what the sink of a warp must be after so many iterations.

A reference is a shared object built from the kernel's own source. It knows the kernel's roles by
index, or takes the settings of a variant. It is a user's code and may hang or crash, so it is
called in a process of its own: `python -m probelab.timing.reference`.
"""

import ctypes
import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from probelab.errors import ToolError
from probelab.timing.child import Child, ChildDiedError, ChildTimeoutError, python_command
from probelab.timing.judge import Query
from probelab.timing.serve import serve

#: Of a reference that knows roles, and of one that takes settings.
BY_ROLE = "probe_reference"
BY_SETTINGS = "probe_reference_settings"
#: Wall-clock bound on the reference of one launch; the process may still have to start.
TIMEOUT_S = 60.0

_WARP_ARGUMENTS = (
    ctypes.c_uint,
    ctypes.c_float,
    ctypes.POINTER(ctypes.c_ulonglong),
    ctypes.c_int,
    ctypes.POINTER(ctypes.c_float),
)


class HostReference:
    """A host reference loaded into this process."""

    def __init__(self, path: Path, settings: Sequence[int] = ()) -> None:
        """Load it.

        Args:
            path: the shared object.
            settings: of the variant, in the order of their names; none: it knows roles.

        Raises:
            ToolError: if it can't be loaded or has no such function.
        """
        try:
            self._function = ctypes.CDLL(str(path.resolve()))[BY_SETTINGS if settings else BY_ROLE]
        except (OSError, AttributeError) as error:
            raise ToolError(f"can't load the host reference: {error}", where=path.name) from None
        shape = (ctypes.POINTER(ctypes.c_int), ctypes.c_int) if settings else (ctypes.c_int,)
        self._function.restype = ctypes.c_int
        self._function.argtypes = [*shape, *_WARP_ARGUMENTS]
        self._settings = tuple(settings)
        self._path = path

    def sinks(self, query: Query, seed: float) -> list[float]:
        """Sinks (float32) for each of the query's iterations; the GIL is released meanwhile.

        Raises:
            ToolError: if the reference refuses.
        """
        wanted = sorted(set(query.iterations))
        count = len(wanted)
        iterations = (ctypes.c_ulonglong * count)(*wanted)
        sinks = (ctypes.c_float * count)()
        shape: tuple[Any, ...] = (query.role,)
        if self._settings:
            number = len(self._settings)
            shape = ((ctypes.c_int * number)(*self._settings), number)
        status = self._function(*shape, query.thread, seed, iterations, count, sinks)
        if status != 0:
            what = f"settings {list(self._settings)}" if self._settings else f"role {query.role}"
            raise ToolError(
                f"the host reference refuses {what} (status {status})", where=self._path.name
            )
        known = dict(zip(wanted, sinks, strict=True))
        return [known[value] for value in query.iterations]


class ReferenceProcess:
    """Host references in a child process, started when the first is needed."""

    def __init__(self, command: Sequence[str] | None = None, timeout_s: float = TIMEOUT_S) -> None:
        """
        Args:
            command: how to start the child; None: this module.
            timeout_s: wall-clock bound on one call of `sinks`.
        """
        self._command = command or python_command("probelab.timing.reference")
        self._timeout_s = timeout_s
        self._child: Child | None = None

    def sinks(
        self, path: Path, seed: float, queries: Sequence[Query], settings: Sequence[int] = ()
    ) -> dict[tuple[int, int, int], float | None]:
        """Sinks by (role, thread, iterations); None stands for what is no finite number.

        Args:
            path: the shared object.
            seed: the kernel's argument.
            queries: what is wanted.
            settings: of the variant, if the reference takes settings.

        Raises:
            ToolError: if the reference can't be loaded, refuses, hangs or crashes.
        """
        if not queries:
            return {}
        request = {
            "library": str(path.resolve()),
            "settings": list(settings),
            "seed": seed,
            "queries": [[query.role, query.thread, query.iterations] for query in queries],
        }
        try:
            if self._child is None:
                self._child = Child(self._command)
            answer = self._child.ask(request, self._timeout_s)
        except (ChildTimeoutError, ChildDiedError) as error:
            self._child = None
            raise ToolError(f"the host reference failed: {error}", where=path.name) from None
        if not answer["ok"]:
            raise ToolError(answer["reason"])
        return {
            (query.role, query.thread, count): sink if math.isfinite(sink) else None
            for query, sinks in zip(queries, answer["sinks"], strict=True)
            for count, sink in zip(query.iterations, sinks, strict=True)
        }

    def close(self) -> None:
        """End the child, if there is one."""
        if self._child is not None:
            self._child.close()
            self._child = None


def answerer() -> Callable[[dict[str, Any]], dict[str, Any]]:
    """The child's side: a function that answers requests; a library stays loaded."""

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        try:
            reference = HostReference(Path(request["library"]), request["settings"])
            queries = [Query(role, thread, tuple(n)) for role, thread, n in request["queries"]]
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                results = list(
                    pool.map(lambda query: reference.sinks(query, request["seed"]), queries)
                )
        except ToolError as error:
            return {"ok": False, "reason": str(error)}
        return {"ok": True, "sinks": results}

    return answer


def main() -> None:
    """Serve standard input."""
    serve(answerer())


if __name__ == "__main__":
    main()
