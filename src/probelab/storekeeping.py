"""Looking after the content-addressed store: what is in it, is it whole, what can go.

No station uses this, so that an edit of it redoes none.
"""

import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from probelab.canonical import digest_file
from probelab.errors import DataError
from probelab.store import (
    DIGESTS,
    MAKING,
    REMOVING,
    SCRATCH,
    WORK_LOG,
    StoredFile,
    remove_entry,
    stored_files,
)

#: What a killed process left is taken for such after this time.
LEFTOVER_AGE_S = 86_400.0


@dataclass
class StationUse:
    """What a station keeps in the store; a file with several links counts once."""

    entries: int = 0
    files: int = 0
    bytes: int = 0


@dataclass(frozen=True)
class Damage:
    """An entry that is not what was stored."""

    entry: Path
    reason: str


@dataclass
class Verdict:
    """What `verify` found."""

    checked: int = 0
    unknown: int = 0
    damaged: list[Damage] = field(default_factory=list)


@dataclass
class Removal:
    """What `remove_unused` removed, or would remove; bytes that other links keep don't count."""

    entries: int = 0
    leftovers: int = 0
    bytes: int = 0


def _require(root: Path) -> None:
    if not root.is_dir():
        raise DataError(
            "there is no store here", where=str(root), hint="it comes with the first run"
        )


def entries(root: Path) -> Iterator[tuple[str, Path]]:
    """Each entry with its station; what appears or goes meanwhile may be missed."""
    for station in _folders(root):
        for group in _folders(station):
            for entry in _folders(group):
                if len(group.name) == 2 and entry.name.startswith(group.name):
                    yield station.name, entry


def _folders(path: Path) -> list[Path]:
    """The folders in a folder by name, without those that are on their way in or out."""
    try:
        return sorted(p for p in path.iterdir() if p.is_dir() and not p.name.startswith("."))
    except OSError:
        return []


def _files(entry: Path) -> list[Path]:
    return [path for path in sorted(entry.rglob("*")) if path.is_file()]


def stats(root: Path) -> dict[str, StationUse]:
    """Use of the store by station.

    Raises:
        DataError: if there is no store.
    """
    _require(root)
    found: dict[str, StationUse] = {}
    seen: set[tuple[int, int]] = set()
    for station, entry in entries(root):
        use = found.setdefault(station, StationUse())
        use.entries += 1
        for path in _files(entry):
            try:
                state = path.stat()
            except OSError:
                continue
            use.files += 1
            if (state.st_dev, state.st_ino) not in seen:
                seen.add((state.st_dev, state.st_ino))
                use.bytes += state.st_size
    return found


def work_done(root: Path) -> int:
    """Number of lines in the log of work done."""
    try:
        with (root / WORK_LOG).open("rb") as stream:
            return sum(1 for _ in stream)
    except OSError:
        return 0


def verify(root: Path) -> Verdict:
    """Hold every entry against the digests that were stored with it.

    Raises:
        DataError: if there is no store.
    """
    _require(root)
    verdict = Verdict()
    for _, entry in entries(root):
        try:
            reason = _difference(entry, stored_files(entry))
        except FileNotFoundError:
            # Gone while this ran, or of a time before digests were stored.
            verdict.unknown += entry.is_dir()
            continue
        except (OSError, ValueError) as error:
            reason = f"its digests can't be read: {error}"
        if reason:
            verdict.damaged.append(Damage(entry, reason))
        verdict.checked += 1
    return verdict


def _difference(entry: Path, expected: dict[str, StoredFile]) -> str:
    """The first file that is missing, too much or changed; empty if there is none."""
    there = {path.relative_to(entry).as_posix(): path for path in _files(entry)}
    there.pop(DIGESTS, None)
    for name in sorted(expected.keys() | there.keys()):
        if name not in there:
            return f"{name} is missing"
        if name not in expected:
            return f"{name} doesn't belong there"
        if digest_file(there[name]) != expected[name].digest:
            return f"{name} has changed"
    return ""


def remove_unused(root: Path, keep_days: float, *, dry_run: bool = False) -> Removal:
    """Remove entries that no run has used for `keep_days`, and what killed processes left.

    Results keep what they have: they hold links of their own.

    Raises:
        DataError: if there is no store, or it can't be written.
    """
    _require(root)
    if not os.access(root, os.W_OK):
        raise DataError("can't write to the store", where=str(root))
    removal = Removal()
    now = time.time()
    links: dict[tuple[int, int], int] = {}
    for _, entry in list(entries(root)):
        if _age_s(entry, now) < keep_days * 86_400:
            continue
        removal.entries += 1
        removal.bytes += _freed(entry, links)
        if not dry_run:
            remove_entry(entry)
    for leftover in list(_leftovers(root)):
        if _age_s(leftover, now) < LEFTOVER_AGE_S:
            continue
        removal.leftovers += 1
        removal.bytes += _freed(leftover, links)
        if not dry_run:
            shutil.rmtree(leftover, ignore_errors=True)
    return removal


def _age_s(path: Path, now: float) -> float:
    try:
        return now - path.stat().st_mtime
    except OSError:
        return 0.0


def _leftovers(root: Path) -> Iterator[Path]:
    yield from root.glob(f"{SCRATCH}*")
    for beginning in (MAKING, REMOVING):
        yield from root.glob(f"*/??/{beginning}*")


def _freed(folder: Path, links: dict[tuple[int, int], int]) -> int:
    """Bytes of the files whose last link goes with this folder; `links` counts them so far."""
    freed = 0
    for path in _files(folder):
        try:
            state = path.stat()
        except OSError:
            continue
        identity = (state.st_dev, state.st_ino)
        links[identity] = links.get(identity, state.st_nlink) - 1
        if links[identity] == 0:
            freed += state.st_size
    return freed
