"""The host reference: the roles of a kernel file compiled for the CPU."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from probelab.canonical import digest
from probelab.store import Store
from probelab.toolchain import host_compiler

STATION = "reference"
FILE = "reference.so"

_FLAGS = ("-x", "c++", "-std=c++17", "-O2", "-ffp-contract=off", "-shared", "-fPIC")


def build_reference(
    kernel: Path, source_digest: str, roles: Sequence[str], store: Store, code: str
) -> Path | None:
    """The shared object that computes the sinks of `roles`, from the store or made now.

    Returns:
        Its path; None for a kernel that doesn't compile for the CPU, as a user's own may not.

    Raises:
        ToolError: if there is no g++.
    """
    compiler = host_compiler()
    version = subprocess.run(
        [compiler, "-dumpfullversion"], capture_output=True, text=True, check=False
    ).stdout.strip()
    key = digest({"source": source_digest, "roles": list(roles), "compiler": version, "code": code})
    entry = store.get(STATION, key)
    if entry is None:
        with store.make(STATION, key, f"{kernel.stem}: {len(roles)} roles") as folder:
            done = subprocess.run(
                [
                    *(compiler, *_FLAGS, "-DPROBE_HOST", f"-DPROBE_ROLES={','.join(roles)}"),
                    *(str(kernel.resolve()), "-o", FILE),
                ],
                cwd=folder,
                capture_output=True,
                text=True,
                check=False,
                timeout=600,
            )
            if done.returncode:
                (folder / "errors.txt").write_text(done.stderr, encoding="utf-8")
        entry = store.get(STATION, key)
    if entry is None or not (entry / FILE).is_file():
        return None
    return entry / FILE
