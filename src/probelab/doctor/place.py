"""Disk, the configuration and the data that comes with the project."""

import os
import shutil
import tempfile
from pathlib import Path

from probelab.config.load import Configuration
from probelab.doctor.check import Check, size
from probelab.errors import ProbelabError
from probelab.timing.recording import read_provenance

#: A default run takes about 0.1 GB; below the first is a warning, below the second an end.
_ROOM = 1e9
_LEAST_ROOM = 2e8


def _existing(path: Path) -> Path:
    """The folder itself, or the nearest one above it that exists."""
    path = path.absolute()
    while not path.is_dir():
        path = path.parent
    return path


def room(name: str, path: Path) -> Check:
    """Whether a folder that the lab writes to takes files, and how much."""
    place = _existing(path)
    try:
        with tempfile.TemporaryFile(dir=place):
            pass
        free = shutil.disk_usage(place).free
    except OSError as error:
        return Check(
            name=name,
            status="missing",
            found=f"{path} can't be written: {error.strerror}",
            hint=f"give yourself the right to write there: chown -R {os.getuid()} {place}",
        )
    found = f"{path}, {size(free)} free"
    if free < _LEAST_ROOM:
        return Check(name=name, status="missing", found=found, hint="make room")
    if free < _ROOM:
        return Check(name=name, status="warning", found=found, hint="make room: probelab cache gc")
    return Check(name=name, status="ok", found=found)


def same_disk(cache: Path, results: Path) -> list[Check]:
    """A word on results that are copies because the store lies on another disk."""
    if _existing(cache).stat().st_dev == _existing(results).stat().st_dev:
        return []
    return [
        Check(
            name="links",
            status="warning",
            found="the store and the results are on different disks, so files are copied",
            hint="nothing is wrong; `cache` in config/config.yaml moves the store",
        )
    ]


def configuration(found: Configuration | ProbelabError) -> Check:
    """The configuration, or the first thing that is wrong with it."""
    if isinstance(found, ProbelabError):
        return Check(name="config", status="missing", found=str(found), hint="see config/README.md")
    lab = found.lab
    return Check(
        name="config",
        status="ok",
        found=f"{len(found.probes)} probes for {', '.join(lab.architectures)}; "
        f"backend {lab.backend}",
    )


def recordings(folder: Path) -> list[Check]:
    """The recorded measurements at hand."""
    paths = sorted(folder.glob("*.parquet"))
    if not paths:
        return [
            Check(
                name="recordings",
                status="warning",
                found=f"none in {folder}, so without a GPU there are only predictions",
                hint="time on a machine with a GPU: docs/setup.md",
            )
        ]
    return [_recording(path) for path in paths]


def _recording(path: Path) -> Check:
    try:
        provenance = read_provenance(path)
    except ProbelabError as error:
        return Check(
            name=f"recording {path.stem}",
            status="warning",
            found=error.what,
            hint=error.hint or f"git checkout -- {path.parent}",
        )
    devices = ", ".join(sorted({device.name for device in provenance.devices}))
    return Check(
        name=f"recording {path.stem}",
        status="ok",
        found=f"{provenance.launches} launches of {', '.join(provenance.archs)} on {devices}, "
        f"{provenance.measured_from[:10]}",
    )
