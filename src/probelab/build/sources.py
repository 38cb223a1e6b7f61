"""The source files of a kernel, and their identity."""

import re
from pathlib import Path

from probelab.canonical import digest, digest_file
from probelab.errors import DataError

_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)


def source_files(kernel: Path) -> list[Path]:
    """A kernel file and the files that it includes by `#include "…"`, in order of discovery.

    Headers of the toolkit (`#include <…>`) belong to the toolchain's identity instead.

    Raises:
        DataError: if the kernel file is missing.
    """
    found: list[Path] = []
    waiting = [kernel]
    while waiting:
        path = waiting.pop(0)
        if path in found:
            continue
        try:
            text = path.read_bytes()
        except OSError as error:
            raise DataError(
                f"can't be read: {error.strerror}",
                where=str(path),
                hint="kernels lie in kernels/, see docs/kernels.md",
            ) from None
        found.append(path)
        for name in _INCLUDE.findall(text):
            # A header that isn't beside its includer is looked for beside the kernel, as with -I.
            relative = name.decode(errors="replace")
            for folder in (path.parent, kernel.parent):
                if (folder / relative).is_file():
                    waiting.append(folder / relative)
                    break
    return found


def source_digest(kernel: Path) -> str:
    """Digest of the contents of all source files of a kernel, wherever they lie."""
    files = source_files(kernel)
    return digest(
        [
            [path.name if path == kernel else path.relative_to(kernel.parent).as_posix(), content]
            for path, content in ((path, digest_file(path)) for path in files)
        ]
    )
