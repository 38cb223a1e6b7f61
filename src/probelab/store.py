"""The content-addressed store: what has been made once under a key is never made again.

An entry is a directory `<root>/<station>/<kk>/<key>` that appears by one rename, so a killed
run leaves no half entry. Its files are read-only and are hard-linked into the results; their
digests and sizes lie beside them. The time of its directory is that of its last use. An entry
that lost a file, or a part of one, counts as absent and is made again; that the content is whole
is what `probelab cache verify` checks.
Work really done is logged, one JSON line each, in `<root>/work.jsonl`.
Looking after the store (statistics, checks, removal) is in `storekeeping`.
"""

import contextlib
import errno
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from probelab.canonical import canonical_json, digest_file
from probelab.errors import DataError

WORK_LOG = "work.jsonl"
#: In each entry: SHA-256 (hex) and size of its other files by path.
DIGESTS = ".digests.json"
#: Beginnings of the names of what a killed process may leave behind; an entry that is removed is
#: moved to the last of them first, so that it disappears by one rename.
MAKING = ".making-"
SCRATCH = ".scratch-"
REMOVING = ".removing-"

_DISK_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM})

#: Why there is no result of work that was done: its entry is gone or damaged already.
LOST = "what was just made isn't in the store any more"
#: What to do about a stored file that can't be understood.
IF_DAMAGED = "`probelab cache verify` finds what is damaged in the store"
#: Another process may put its entry where a damaged one was just removed.
_MOST_TRIES = 3

Content = TypeVar("Content")


@dataclass(frozen=True)
class StoredFile:
    """What is known of a file of an entry; `size` (bytes) is None in an older lab's entries."""

    digest: str
    size: int | None


def stored_files(entry: Path) -> dict[str, StoredFile]:
    """What an entry consists of, by path in it.

    Raises:
        OSError, ValueError: if that can't be read.
    """
    known = json.loads((entry / DIGESTS).read_bytes())
    if not isinstance(known, dict):
        raise ValueError("not a mapping")
    files: dict[str, StoredFile] = {}
    for name, one in known.items():
        match one:
            case {"sha256": str(content), "bytes": int(size)}:
                files[name] = StoredFile(content, size)
            case str(content):
                files[name] = StoredFile(content, None)
            case _:
                raise ValueError(f"no digest of {name}")
    return files


def is_whole(entry: Path) -> bool:
    """Whether an entry has all of its files in their size."""
    try:
        return all(
            size == known.size if known.size is not None else size > 0
            for name, known in stored_files(entry).items()
            for size in ((entry / name).stat().st_size,)
        )
    except (OSError, ValueError):
        return False


def remove_entry(entry: Path) -> None:
    """Remove an entry: it disappears at once, for every process; then its files are deleted."""
    aside = Path(tempfile.mkdtemp(dir=entry.parent, prefix=REMOVING))
    try:
        entry.rename(aside / entry.name)
    except FileNotFoundError:
        pass  # another process was quicker
    finally:
        shutil.rmtree(aside, ignore_errors=True)


class Store:
    """A store below `root`; safe to use from several processes at once."""

    def __init__(self, root: Path) -> None:
        self.root = root
        #: Entries that this object has made.
        self.made = 0

    def _place(self, station: str, key: str) -> Path:
        return self.root / station / key[:2] / key

    def get(self, station: str, key: str) -> Path | None:
        """The directory of an entry, or None if there is none or it isn't whole."""
        place = self._place(station, key)
        if not is_whole(place):
            return None
        # For whoever removes what hasn't been used for long; a store may be read-only.
        with contextlib.suppress(OSError):
            os.utime(place)
        return place

    def read(
        self, station: str, key: str, name: str, parse: Callable[[bytes], Content]
    ) -> Content | None:
        """A file of an entry as `parse` understands it.

        An entry with a file that isn't understood is damaged and is removed.

        Args:
            parse: raises ValueError for what it doesn't understand.

        Returns:
            None if there is no entry, or not any more.
        """
        entry = self.get(station, key)
        if entry is None:
            return None
        try:
            return parse((entry / name).read_bytes())
        except (OSError, ValueError):
            # In a store that can't be written, what is made anew can't be kept either.
            with contextlib.suppress(OSError):
                remove_entry(entry)
            return None

    @contextlib.contextmanager
    def make(self, station: str, key: str, label: str) -> Iterator[Path]:
        """A directory to fill; it becomes the entry when the block ends without an error.

        Args:
            station: the station that does the work.
            key: digest of all inputs of the work.
            label: what the work log calls it, usually the variant's id.

        Raises:
            DataError: if the disk takes no more or can't be written.
        """
        place = self._place(station, key)
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            aside = Path(tempfile.mkdtemp(dir=place.parent, prefix=MAKING))
        except OSError as error:
            raise self._unwritable(error) from None
        try:
            yield aside
            files = [path for path in aside.rglob("*") if path.is_file()]
            digests = {
                path.relative_to(aside).as_posix(): {
                    "sha256": digest_file(path),
                    "bytes": path.stat().st_size,
                }
                for path in files
            }
            (aside / DIGESTS).write_text(canonical_json(digests), encoding="utf-8")
            for path in [*files, aside / DIGESTS]:
                path.chmod(0o444)
            aside.chmod(0o755)
            if _put(aside, place):
                self.made += 1
                self._log(station, key, label)
        except OSError as error:
            if error.errno not in _DISK_ERRORS:
                raise
            raise self._unwritable(error) from None
        finally:
            shutil.rmtree(aside, ignore_errors=True)

    @contextlib.contextmanager
    def scratch(self) -> Iterator[Path]:
        """A temporary folder in the file system of the store.

        Raises:
            DataError: if the disk takes no more or can't be written.
        """
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            folder = tempfile.TemporaryDirectory(dir=self.root, prefix=SCRATCH)
        except OSError as error:
            raise self._unwritable(error) from None
        try:
            with folder as name:
                yield Path(name)
        except OSError as error:
            if error.errno not in _DISK_ERRORS:
                raise
            raise self._unwritable(error) from None

    def _unwritable(self, error: OSError) -> DataError:
        return DataError(
            f"can't write to the store: {error.strerror or error}",
            where=str(self.root),
            hint="make room or choose another place with the config key `cache`, then run again",
        )

    def _log(self, station: str, key: str, label: str) -> None:
        line = json.dumps(
            {
                "station": station,
                "label": label,
                "key": key,
                "at": datetime.now(UTC).isoformat(timespec="seconds"),
            }
        )
        with (self.root / WORK_LOG).open("a", encoding="utf-8") as stream:
            stream.write(line + "\n")


def _put(aside: Path, place: Path) -> bool:
    """Make the directory `aside` the entry; False if another process was quicker."""
    for _ in range(_MOST_TRIES):
        try:
            aside.rename(place)
        except OSError:
            if not place.is_dir():
                raise
            # The other process's entry is as good as this one, but a damaged one isn't.
            if is_whole(place):
                return False
            remove_entry(place)
        else:
            return True
    return False


def link(source: Path, target: Path) -> None:
    """Make `target` the file `source`, by a hard link where the file system can."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.exists() and target.samefile(source):
        return
    aside = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    aside.unlink(missing_ok=True)
    try:
        os.link(source, aside)
    except OSError:
        shutil.copyfile(source, aside)
    aside.replace(target)


def forget(directory: Path, keep: set[str]) -> None:
    """Remove the files of `directory` whose names are not in `keep`."""
    if directory.is_dir():
        for path in directory.iterdir():
            if path.is_file() and path.name not in keep:
                path.unlink()
