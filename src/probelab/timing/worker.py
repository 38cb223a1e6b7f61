"""The process that runs kernels: `python -m probelab.timing.worker`.

Requests and answers, one JSON object a line:

* `{"do": "open", "uuid": …}` → `{"ok": true, "device": {…}}`, or `{"ok": false, "reason": …,
  "missing": …}`; `missing` is true if PyCUDA can't be imported.
* `{"do": "launch", "cubin": …, …}` (the fields of `driver.LaunchRequest`) → `{"ok": true, …}`
  with the fields of `driver.LaunchAnswer`, or `{"ok": false, "reason": …, "usable": …}`; after
  `usable: false` the CUDA context is lost and the process of no more use.
"""

from base64 import b64encode
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from probelab.timing.driver import Driver, DriverError, LaunchRequest
from probelab.timing.serve import serve


class Worker:
    """Answers requests by means of a driver that the first request opens."""

    def __init__(self, open_driver: Callable[[str], Driver]) -> None:
        self._open_driver = open_driver
        self._driver: Driver | None = None

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """The answer to one request."""
        if request["do"] == "open":
            return self._open(request["uuid"])
        return self._launch(LaunchRequest(**request["launch"]))

    def _open(self, uuid: str) -> dict[str, Any]:
        try:
            self._driver = self._open_driver(uuid)
            return {"ok": True, "device": self._driver.device()}
        except ImportError as error:
            return {"ok": False, "reason": _line(error), "missing": True}
        except Exception as error:  # whatever the GPU library throws
            return {"ok": False, "reason": _line(error), "missing": False}

    def _launch(self, request: LaunchRequest) -> dict[str, Any]:
        if self._driver is None:
            return {"ok": False, "reason": "no device is open", "usable": False}
        started_at = datetime.now(UTC).isoformat(timespec="milliseconds")
        try:
            result = asdict(self._driver.launch(request))
        except DriverError as error:
            return {"ok": False, "reason": _line(error), "usable": error.usable}
        except Exception as error:  # a fault of this code must not pass for one of the kernel
            reason = f"{type(error).__name__}: {_line(error)}"
            return {"ok": False, "reason": reason, "usable": False}
        result["records"] = b64encode(result["records"]).decode()
        return {"ok": True, "started_at": started_at.replace("+00:00", "Z"), **result}


def _line(error: Exception) -> str:
    """An exception's text in one line."""
    return " ".join(str(error).split()) or type(error).__name__


def main() -> None:
    """Serve standard input."""

    def open_driver(uuid: str) -> Driver:
        # Only a process that is to use a GPU may import PyCUDA, and this is the place.
        from probelab.timing.pycuda_backend import CudaDriver  # noqa: PLC0415

        return CudaDriver(uuid)

    serve(Worker(open_driver).answer)


if __name__ == "__main__":
    main()
