"""`probelab cache` on a real small store."""

import os
import time
from pathlib import Path

import pytest

from probelab.store import Store, link

AA, BB = "aa" + "0" * 62, "bb" + "0" * 62


def entry(store: Store, key: str) -> Path:
    return store.root / "build" / key[:2] / key


def age(path: Path, days: float) -> None:
    then = time.time() - days * 86_400
    os.utime(path, (then, then))


@pytest.mark.usefixtures("store")
def test_stats_count_a_shared_file_once(call) -> None:
    done = call("cache", "stats")
    assert done.exit_code == 0
    line = done.stdout.splitlines()[0].split()
    assert line[:3] == ["build", "2", "entries"]
    assert "100.6 kB" in done.stdout
    assert "work done so far: 2 pieces" in done.stdout


@pytest.mark.parametrize("command", [["stats"], ["verify"], ["gc", "--keep-days", "1"]])
def test_no_store_is_one_line(call, command: list[str]) -> None:
    done = call("cache", *command)
    assert done.exit_code == 1
    assert done.stderr == "probelab: .cache: there is no store here (it comes with the first run)\n"


@pytest.mark.usefixtures("store")
def test_a_whole_store_is_verified(call) -> None:
    done = call("cache", "verify")
    assert done.exit_code == 0
    assert done.stdout == "2 entries checked, 0 damaged\n"


def damage_content(folder: Path) -> None:
    (folder / "row.json").chmod(0o644)
    (folder / "row.json").write_text("{}")


def damage_missing(folder: Path) -> None:
    (folder / "row.json").unlink()


def damage_surplus(folder: Path) -> None:
    (folder / "other").touch()


def damage_digests(folder: Path) -> None:
    (folder / ".digests.json").chmod(0o644)
    (folder / ".digests.json").write_text("[")


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (damage_content, "row.json has changed"),
        (damage_missing, "row.json is missing"),
        (damage_surplus, "other doesn't belong there"),
        (damage_digests, "its digests can't be read"),
    ],
)
def test_damage_is_named_and_removed_when_asked(call, store: Store, damage, reason: str) -> None:
    damage(entry(store, BB))
    done = call("cache", "verify")
    assert done.exit_code == 1
    assert reason in done.stdout
    assert "2 entries checked, 1 damaged" in done.stdout
    assert entry(store, BB).exists()
    done = call("cache", "verify", "--remove")
    assert done.exit_code == 0
    assert store.get("build", BB) is None
    assert store.get("build", AA) is not None


def test_entries_of_an_older_lab_are_counted_apart(call, store: Store) -> None:
    (entry(store, BB) / ".digests.json").unlink()
    assert call("cache", "verify").stdout == "1 entries checked, 0 damaged, 1 without digests\n"


def test_gc_keeps_what_was_used(call, store: Store) -> None:
    age(entry(store, AA), 40)
    age(entry(store, BB), 40)
    assert store.get("build", AA) is not None  # a use
    done = call("cache", "gc", "--keep-days", "30", "--dry-run")
    assert done.stdout.startswith("would remove 1 entries and 0 leftovers")
    assert entry(store, BB).exists()
    done = call("cache", "gc", "--keep-days", "30")
    # The cubin stays: the other entry holds a link to it.
    assert done.stdout.startswith("removed 1 entries and 0 leftovers, ")
    assert " kB" not in done.stdout
    assert store.get("build", BB) is None
    assert store.get("build", AA) is not None
    assert call("cache", "verify").exit_code == 0


@pytest.mark.usefixtures("store")
def test_gc_counts_a_file_whose_last_link_goes(call) -> None:
    done = call("cache", "gc", "--keep-days", "0", "--dry-run")
    assert done.stdout == "would remove 2 entries and 0 leftovers, 100.6 kB of disk\n"


def test_results_outlive_their_entry(call, store: Store, tmp_path: Path) -> None:
    target = tmp_path / "results" / "kernel.cubin"
    link(entry(store, AA) / "kernel.cubin", target)
    assert call("cache", "gc", "--keep-days", "0").exit_code == 0
    assert target.read_bytes() == b"x" * 100_000
    assert not list(store.root.rglob(".removing-*"))


def test_gc_removes_only_old_leftovers(call, store: Store) -> None:
    old = [store.root / ".scratch-old", entry(store, AA).parent / ".making-old"]
    new = [store.root / ".scratch-new", entry(store, AA).parent / ".making-new"]
    for folder in old + new:
        folder.mkdir()
        (folder / "file").write_text("x")
    for folder in old:
        age(folder, 2)
    done = call("cache", "gc", "--keep-days", "30")
    assert "0 entries and 2 leftovers" in done.stdout
    assert not any(folder.exists() for folder in old)
    assert all(folder.exists() for folder in new)


@pytest.mark.usefixtures("store")
def test_gc_asks_how_long(call) -> None:
    done = call("cache", "gc")
    assert done.exit_code == 2
    assert "--keep-days" in done.stderr
