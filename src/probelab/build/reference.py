"""The host reference: a kernel file compiled for the CPU, to compute what the sinks must be.

It knows a list of roles; or, for a kernel whose variants have settings of their own, it takes the
settings as arguments, so that one compilation serves all variants.
"""

from collections.abc import Sequence
from pathlib import Path

from probelab.canonical import digest
from probelab.errors import ToolError
from probelab.store import Store
from probelab.toolchain import host_compiler, run_bounded

STATION = "reference"
FILE = "reference.so"

_FLAGS = ("-x", "c++", "-std=c++17", "-O2", "-ffp-contract=off", "-shared", "-fPIC")

#: Wall-clock bound on g++, which takes two seconds for the largest of the lab's own kernels.
TIMEOUT_S = 120.0


def build_reference(
    kernel: Path, source_digest: str, roles: Sequence[str], store: Store, code: str
) -> Path | None:
    """The shared object that computes the sinks of a kernel file, from the store or made now.

    Args:
        kernel: the kernel file.
        source_digest: of it and its headers.
        roles: those that it is to know; none: it takes settings as arguments.
        store: where it is kept.
        code: digest of the code that builds.

    Returns:
        Its path; None for a kernel that doesn't compile for the CPU, as a user's own may not, or
        not within `TIMEOUT_S`.

    Raises:
        ToolError: if there is no g++.
    """
    compiler = host_compiler()
    version = run_bounded([compiler, "-dumpfullversion"], timeout_s=60).stdout.strip()
    key = digest({"source": source_digest, "roles": list(roles), "compiler": version, "code": code})
    entry = store.get(STATION, key)
    if entry is None:
        # As nvcc does, g++ looks for headers beside the kernel even if the kernel is a link.
        folder = kernel.parent.resolve()
        command = [
            *(compiler, *_FLAGS, "-DPROBE_HOST"),
            *([f"-DPROBE_ROLES={','.join(roles)}"] if roles else []),
            *("-I", str(folder), str(folder / kernel.name), "-o", FILE),
        ]
        what = f"{len(roles)} roles" if roles else "all settings"
        try:
            with store.make(STATION, key, f"{kernel.stem}: {what}") as made:
                done = run_bounded(command, cwd=made, timeout_s=TIMEOUT_S)
                if done.returncode < 0:
                    raise ToolError(f"was ended by signal {-done.returncode}", where="g++")
                if done.returncode:
                    (made / "errors.txt").write_text(done.stderr, encoding="utf-8")
        except ToolError:
            # Not kept: another time it may be whole, and in time.
            return None
        entry = store.get(STATION, key)
    if entry is None or not (entry / FILE).is_file():
        return None
    return entry / FILE
