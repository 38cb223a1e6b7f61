"""The store: entries that are whole, damaged, made twice."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from probelab.store import DIGESTS, Store, is_whole

KEY = "ab" + "0" * 62


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(tmp_path / "store")
    put(store)
    return store


def put(store: Store, text: str = "[1]") -> None:
    with store.make("build", KEY, "label") as folder:
        (folder / "row.json").write_text(text)
        (folder / "sub").mkdir()
        (folder / "sub" / "kernel.cubin").write_bytes(b"code")


def work(store: Store) -> int:
    return len((store.root / "work.jsonl").read_text().splitlines())


def test_what_was_made_is_there(store: Store) -> None:
    entry = store.get("build", KEY)
    assert entry is not None
    assert (entry / "sub" / "kernel.cubin").read_bytes() == b"code"
    assert store.read("build", KEY, "row.json", json.loads) == [1]
    assert store.get("build", "cd" + "0" * 62) is None
    assert store.read("build", "cd" + "0" * 62, "row.json", json.loads) is None


def overwrite(path: Path, text: str) -> None:
    path.chmod(0o644)
    path.write_text(text)


DAMAGES: dict[str, Callable[[Path], None]] = {
    "a file is gone": lambda entry: (entry / "row.json").unlink(),
    "a file is empty": lambda entry: overwrite(entry / "row.json", ""),
    "a file is cut": lambda entry: overwrite(entry / "sub" / "kernel.cubin", "co"),
    "the digests are gone": lambda entry: (entry / DIGESTS).unlink(),
    "the digests are cut": lambda entry: overwrite(entry / DIGESTS, '{"row.json":'),
    "the digests are something else": lambda entry: overwrite(entry / DIGESTS, '{"row.json": 3}'),
    "it is empty": lambda entry: [path.unlink() for path in entry.rglob("*.*")] and None,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_entry_is_absent_and_made_again(store: Store, damage: str) -> None:
    entry = store.get("build", KEY)
    assert entry is not None
    DAMAGES[damage](entry)
    assert store.get("build", KEY) is None
    put(store, "[2]")
    assert store.read("build", KEY, "row.json", json.loads) == [2]
    assert work(store) == 2
    assert not [path for path in entry.parent.iterdir() if path.name.startswith(".")]


def test_an_entry_that_is_not_understood_is_removed(store: Store) -> None:
    entry = store.get("build", KEY)
    assert entry is not None
    overwrite(entry / "row.json", "[1}")  # of the same size
    assert store.get("build", KEY) is not None
    assert store.read("build", KEY, "row.json", json.loads) is None
    assert not entry.exists()


def test_entries_of_an_older_lab_have_digests_without_sizes(store: Store) -> None:
    entry = store.get("build", KEY)
    assert entry is not None
    digests = {
        name: one["sha256"] for name, one in json.loads((entry / DIGESTS).read_text()).items()
    }
    overwrite(entry / DIGESTS, json.dumps(digests))
    assert is_whole(entry)
    overwrite(entry / "row.json", "")
    assert not is_whole(entry)


def test_work_that_another_process_did_first_is_logged_once(store: Store) -> None:
    other = "cd" + "0" * 62
    with store.make("build", other, "slower") as slower:
        (slower / "row.json").write_text("slower")
        with store.make("build", other, "quicker") as quicker:
            (quicker / "row.json").write_text("quicker")
    assert work(store) == 2
    entry = store.get("build", other)
    assert entry is not None and (entry / "row.json").read_text() == "quicker"
    assert not [path for path in entry.parent.iterdir() if path.name.startswith(".")]
