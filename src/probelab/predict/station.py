"""Station *predict*: the cost of each launch from its SASS alone."""

import json
from pathlib import Path

from probelab.canonical import digest
from probelab.codehash import code_hash
from probelab.errors import DataError
from probelab.predict import predict_launch
from probelab.sass import parse_listing
from probelab.schema.manifests import (
    BuildManifest,
    PredictManifest,
    PredictRow,
    SassManifest,
    ShapeManifest,
    ShapeRow,
)
from probelab.schema.plan import Chunk, Launch, Variant
from probelab.store import Store

STATION = "predict"
ROWS = "rows.json"


def predict_chunk(
    chunk: Chunk,
    build: BuildManifest,
    sass: SassManifest,
    shape: ShapeManifest,
    results: Path,
    store: Store,
) -> PredictManifest:
    """Predict every launch of a chunk; one that can't be predicted has its reason."""
    code = code_hash(__name__)
    built, listed, shaped = build.by_id(), sass.by_id(), shape.by_id()
    rows: list[PredictRow] = []
    for variant in chunk.variants:
        launches = [launch for launch in chunk.launches if launch.variant == variant.id]
        verdict = shaped.get(variant.id)
        if verdict is None or verdict.status in ("failed", "broken"):
            reason = f"shape {verdict.status}: {verdict.reason}" if verdict else "no shape"
            rows += [
                PredictRow(id=launch.id, variant=variant.id, status="not predicted", reason=reason)
                for launch in launches
            ]
            continue
        key = digest(
            {
                "kernel": built[variant.id].kernel_digest,
                "shape": verdict.model_dump(exclude={"id"}),
                "variant": variant.model_dump(),
                "launches": [launch.model_dump() for launch in launches],
                "code": code,
            }
        )
        made = store.read(STATION, key, ROWS, _parsed)
        if made is None:
            made = _predict(variant, launches, verdict, results / listed[variant.id].listing)
            with store.make(STATION, key, variant.id) as folder:
                text = json.dumps([row.model_dump() for row in made])
                (folder / ROWS).write_text(text, encoding="utf-8")
        rows += made
    return PredictManifest(station=STATION, chunk=chunk.id, plan=chunk, rows=rows)


def _parsed(text: bytes) -> list[PredictRow]:
    return [PredictRow.model_validate(row) for row in json.loads(text)]


def _predict(
    variant: Variant, launches: list[Launch], shape: ShapeRow, listing: Path
) -> list[PredictRow]:
    try:
        kernel = parse_listing(listing.read_text(encoding="utf-8"))[0]
        return [predict_launch(kernel, shape, variant, launch) for launch in launches]
    except (OSError, DataError) as error:
        return [
            PredictRow(id=launch.id, variant=variant.id, status="failed", reason=str(error))
            for launch in launches
        ]
