"""What all backends share: the toolchain of a build, and the raw JSON files of a chunk."""

from collections.abc import Collection
from pathlib import Path

from pydantic import ValidationError

from probelab.canonical import canonical_json, digest_bytes, write_atomically
from probelab.errors import DataError
from probelab.schema.manifests import BuildRow
from probelab.schema.raw import RAW_SCHEMA_VERSION, RawResult, Toolchain


def toolchain(build: BuildRow) -> Toolchain:
    """What built the kernel, as the build's manifest says."""
    return Toolchain(nvcc_version=build.nvcc_version, flags=build.flags)


def raw_path(chunk: str, launch: str) -> str:
    """Path of a launch's raw JSON, relative to the results directory."""
    return f"timing/{chunk}/{launch}.json"


def write_raw(results: Path, chunk: str, raw: RawResult) -> tuple[str, str]:
    """Write a raw result, whole or not at all.

    Returns:
        Its path relative to the results directory, and its digest.
    """
    relative = raw_path(chunk, raw.launch.id)
    content = (canonical_json(raw.model_dump(mode="json")) + "\n").encode()
    write_atomically(results / relative, content)
    return relative, digest_bytes(content)


def read_raw(path: Path) -> RawResult:
    """Read a raw result.

    Raises:
        DataError: if it is missing, damaged or of another version.
    """
    try:
        raw = RawResult.model_validate_json(path.read_bytes())
    except OSError as error:
        raise DataError(f"can't read the raw result: {error.strerror}", where=str(path)) from None
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise DataError(
            f"not a raw result: {key}: {first['msg']}", where=str(path), hint="time it again"
        ) from None
    if raw.schema_version != RAW_SCHEMA_VERSION:
        raise DataError(
            f"raw result of version {raw.schema_version}, this lab reads {RAW_SCHEMA_VERSION}",
            where=str(path),
        )
    return raw


def remove_stale(results: Path, chunk: str, kept: Collection[str]) -> None:
    """Remove a chunk's raw files, whole or half-written, that are not among `kept`."""
    directory = results / "timing" / chunk
    if not directory.is_dir():
        return
    for path in directory.iterdir():
        if path.suffix in {".json", ".tmp"} and f"timing/{chunk}/{path.name}" not in kept:
            path.unlink(missing_ok=True)
