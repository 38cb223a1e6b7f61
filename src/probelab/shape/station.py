"""Station *shape*: does each variant's SASS have the shape that its roles declare?"""

from collections.abc import Mapping
from pathlib import Path

from probelab.canonical import digest
from probelab.codehash import code_hash
from probelab.errors import DataError
from probelab.sass import parse_listing
from probelab.schema.intent import Intent
from probelab.schema.manifests import BuildManifest, SassManifest, ShapeManifest, ShapeRow
from probelab.schema.plan import Chunk
from probelab.shape import check
from probelab.store import IF_DAMAGED, Store

STATION = "shape"
ROW = "row.json"


def shape_chunk(
    chunk: Chunk,
    intents: Mapping[str, Intent],
    build: BuildManifest,
    sass: SassManifest,
    results: Path,
    store: Store,
) -> ShapeManifest:
    """Check every variant of a chunk against the intents of its roles."""
    code = code_hash(__name__)
    built, listed = build.by_id(), sass.by_id()
    rows: list[ShapeRow] = []
    for variant in chunk.variants:
        evidence = listed.get(variant.id)
        if evidence is None or evidence.status != "ok":
            reason = evidence.reason if evidence else "no disassembly"
            rows.append(ShapeRow(id=variant.id, status="failed", reason=reason))
            continue
        own = {role: intents[role] for role in variant.roles if role in intents}
        key = digest(
            {
                "kernel": built[variant.id].kernel_digest,
                "disassembler": evidence.disassembler_version,
                "roles": variant.roles,
                "placement": variant.placement,
                "dispatch": variant.dispatch,
                "intents": {role: intent.model_dump() for role, intent in own.items()},
                "code": code,
            }
        )
        row = store.read(STATION, key, ROW, ShapeRow.model_validate_json)
        if row is None:
            try:
                text = (results / evidence.listing).read_text(encoding="utf-8")
                kernel = parse_listing(text)[0]
                row = check(kernel, variant.roles, variant.placement, variant.dispatch, own)
            except (OSError, DataError) as error:
                reason = f"{error} ({IF_DAMAGED})"
                rows.append(ShapeRow(id=variant.id, status="failed", reason=reason))
                continue
            with store.make(STATION, key, variant.id) as folder:
                (folder / ROW).write_text(row.model_dump_json(), encoding="utf-8")
        rows.append(row.model_copy(update={"id": variant.id}))
    return ShapeManifest(station=STATION, chunk=chunk.id, rows=rows)
