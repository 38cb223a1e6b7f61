"""The source files of a kernel, and their identity."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from probelab.canonical import digest, digest_file
from probelab.errors import DataError

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_CONTINUED_LINE = re.compile(rb"\\[ \t]*\r?\n")
#: Strings are matched so that what looks like a comment in them isn't taken for one.
_COMMENT_OR_STRING = re.compile(
    rb"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.DOTALL
)
_INCLUDE = re.compile(
    rb"^[ \t]*#[ \t]*(?:include|include_next|import)\b[ \t]*(?P<name>\S[^\r\n]*)", re.MULTILINE
)
_NAME = re.compile(rb'"(?P<quoted>[^"\r\n]+)"|<(?P<angled>[^>\r\n]+)>')


@dataclass(frozen=True)
class _Source:
    """A file as its includer reaches it.

    Attributes:
        path: its folder without links, its own name as spelt: the compiler looks for what it
            includes there, even if the file itself is a link to elsewhere.
        resolved: the file itself.
    """

    path: Path
    resolved: Path

    @classmethod
    def at(cls, path: Path) -> "_Source":
        folder = path.parent.resolve()
        return cls(folder / path.name, path.resolve())


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(
            f"can't be read: {error.strerror}",
            where=str(path),
            hint="kernels lie in kernels/, see docs/kernels.md",
        ) from None


def _without_comments(text: bytes) -> bytes:
    def kept(found: re.Match[bytes]) -> bytes:
        return b" " if found[0].startswith(b"/") else found[0]

    return _COMMENT_OR_STRING.sub(kept, text)


def _included(source: _Source, folders: tuple[Path, ...]) -> list[Path]:
    """What a file includes and is found beside it (`"…"` only) or in one of `folders`.

    Raises:
        DataError: for an include whose file only a macro names.
    """
    text = _CONTINUED_LINE.sub(b"", _read(source.path).removeprefix(_BYTE_ORDER_MARK))
    found: list[Path] = []
    for include in _INCLUDE.finditer(_without_comments(text)):
        name = _NAME.match(include["name"])
        if name is None:
            shown = include["name"].decode(errors="replace").strip()
            raise DataError(
                f"#include {shown} can't be tracked: name the file in it", where=source.path.name
            )
        relative = os.fsdecode(name["quoted"] or name["angled"])
        beside = (source.path.parent,) if name["quoted"] else ()
        # A name that is found nowhere is the toolkit's or the system's, or nvcc says it's missing.
        candidates = (Path(os.path.join(folder, relative)) for folder in (*beside, *folders))  # noqa: PTH118
        found += [path for path in candidates if os.path.isfile(path)][:1]  # noqa: PTH113
    return found


def _sources(kernel: Path) -> list[_Source]:
    """A kernel file and all that it includes, in order of discovery."""
    first = _Source.at(kernel)
    folders = (first.path.parent,)
    found: dict[_Source, None] = {}
    waiting = [first]
    while waiting:
        source = waiting.pop(0)
        if source in found:
            continue
        found[source] = None
        waiting += [_Source.at(path) for path in _included(source, folders)]
    return list(found)


def source_files(kernel: Path) -> list[Path]:
    """A kernel file and the files that it includes, in order of discovery, links resolved.

    They are found as nvcc finds them, beside the includer or below the kernel's folder, by
    `#include "…"` and `#include <…>`, wherever they then lie. What is found at neither place
    belongs to the toolchain's identity instead. Conditions aren't looked at: an include counts
    even where `#if` leaves it out.

    Raises:
        DataError: if a file can't be read, or includes a file that only a macro names.
    """
    return list(dict.fromkeys(source.resolved for source in _sources(kernel)))


def source_digest(kernel: Path) -> str:
    """Digest of the contents of all source files of a kernel, wherever they lie.

    Raises:
        DataError: as `source_files`.
    """
    sources = _sources(kernel)
    folder = sources[0].path.parent

    def name(source: _Source) -> str:
        # What lies elsewhere goes by its name: its path may differ from machine to machine.
        inside = source.path.is_relative_to(folder)
        return source.path.relative_to(folder).as_posix() if inside else source.path.name

    return digest([[name(source), digest_file(source.resolved)] for source in sources])
