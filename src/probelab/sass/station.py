"""Station *sass*: the disassembly of each variant, kept as evidence."""

from collections.abc import Sequence
from pathlib import Path

from probelab.canonical import digest, digest_file
from probelab.codehash import code_hash
from probelab.errors import DataError
from probelab.sass import note_search, parse_listing, split_listing
from probelab.schema.manifests import BuildManifest, BuildRow, SassManifest, SassRow
from probelab.store import IF_DAMAGED, LOST, Store, forget, link
from probelab.toolchain import Toolchain

STATION = "sass"
LISTING = "listing.sass"
MATCHES = "matches.txt"
ROW = "row.json"


def disassemble(cubin: Path, toolchain: Toolchain) -> str:
    """`cuobjdump --dump-sass` of a file.

    Raises:
        ToolError: if cuobjdump can't be run.
        DataError: if it prints no machine code.
    """
    done = toolchain.run("cuobjdump", ["--dump-sass", str(cubin.resolve())])
    if done.returncode or "Function :" not in done.stdout:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise DataError(
            f"cuobjdump finds no machine code: {lines[-1] if lines else 'it printed nothing'}",
            where=str(cubin),
        )
    return done.stdout


def sass_chunk(
    build: BuildManifest, toolchain: Toolchain, results: Path, store: Store
) -> SassManifest:
    """Disassemble what was built; listings are linked into `<results>/sass/<chunk>/`.

    Raises:
        ToolError, DataError: if the disassembler is missing.
    """
    code = code_hash(__name__)
    built = [row for row in build.rows if row.status == "ok"]
    keys = {
        row.id: digest(
            {
                "kernel": row.kernel_digest,
                "symbol": row.symbol,
                "disassembler": toolchain.disassembler_version,
                "code": code,
            }
        )
        for row in built
    }

    def stored(row: BuildRow) -> SassRow | None:
        return store.read(STATION, keys[row.id], ROW, SassRow.model_validate_json)

    missing = [row for row in built if stored(row) is None]
    failures = _make(missing, keys, toolchain, results, store)
    folder = results / STATION / build.chunk
    rows: list[SassRow] = []
    for row in build.rows:
        if row.status != "ok":
            rows.append(SassRow(id=row.id, status="skipped", reason=f"build: {row.reason}"))
            continue
        made, entry = stored(row), store.get(STATION, keys[row.id])
        if made is None or entry is None:
            reason = failures.get(row.id, LOST)
            rows.append(SassRow(id=row.id, status="failed", reason=reason))
            continue
        link(entry / LISTING, folder / f"{row.id}.sass")
        link(entry / MATCHES, folder / f"{row.id}.matches.txt")
        rows.append(
            made.model_copy(
                update={
                    "id": row.id,
                    "listing": f"{STATION}/{build.chunk}/{row.id}.sass",
                    "matches": f"{STATION}/{build.chunk}/{row.id}.matches.txt",
                }
            )
        )
    kept = {row.id for row in rows if row.status == "ok"}
    forget(folder, {f"{name}{end}" for name in kept for end in (".sass", ".matches.txt")})
    return SassManifest(station=STATION, chunk=build.chunk, rows=rows)


def _make(
    rows: Sequence[BuildRow],
    keys: dict[str, str],
    toolchain: Toolchain,
    results: Path,
    store: Store,
) -> dict[str, str]:
    """Disassemble `rows` into the store; the reasons of those that failed, by variant id."""
    # Variants of one unit share a cubin: disassemble it once.
    by_cubin: dict[str, list[BuildRow]] = {}
    failures: dict[str, str] = {}
    for row in rows:
        path = results / row.cubin
        if not path.is_file():
            raise DataError(
                "this cubin is missing", where=row.cubin, hint="snakemake --forcerun build"
            )
        by_cubin.setdefault(digest_file(path), []).append(row)
    for members in by_cubin.values():
        try:
            listings = split_listing(disassemble(results / members[0].cubin, toolchain))
        except DataError as error:
            failures |= {row.id: f"{error} ({IF_DAMAGED})" for row in members}
            continue
        for row in members:
            listing = listings.get(row.symbol)
            if listing is None:
                failures[row.id] = f"the disassembly has no function {row.symbol}"
                continue
            try:
                instructions = len(parse_listing(listing)[0].instructions)
            except DataError as error:
                failures[row.id] = str(error)
                continue
            made = SassRow(
                id=row.id,
                status="ok",
                disassembler_version=toolchain.disassembler_version,
                instructions=instructions,
            )
            with store.make(STATION, keys[row.id], row.id) as entry:
                (entry / LISTING).write_text(listing, encoding="utf-8")
                (entry / MATCHES).write_text(note_search(listing), encoding="utf-8")
                (entry / ROW).write_text(made.model_dump_json(), encoding="utf-8")
    return failures
