"""Time the launches of a chunk: on a GPU, else from a recording, else by the model."""

from pathlib import Path

from probelab.schema.manifests import BuildManifest, PredictManifest, ShapeManifest
from probelab.script import Options, parser, run, tell
from probelab.store import Store
from probelab.timing.station import time_chunk


def main(options: Options) -> Store:
    """Call the station and write its manifest."""
    store = Store(options.cache)
    predictions = PredictManifest.read(options.predict)
    manifest = time_chunk(
        predictions.plan,
        BuildManifest.read(options.build),
        ShapeManifest.read(options.shape),
        predictions,
        options.settings,
        options.out.parents[1],
        store,
        sorted(options.recordings.glob("*.parquet")),
    )
    manifest = manifest.model_copy(update={"machine": options.machine})
    manifest.write(options.out)
    failed = [row.reason for row in manifest.rows if row.status == "failed"]
    tell(manifest.chunk, "launch(es) failed", failed)
    return store


if __name__ == "__main__":
    arguments = parser(__doc__, "--settings", "--build", "--shape", "--predict", "--cache", "--out")
    arguments.add_argument("--machine", required=True, help="the GPUs that are here, as JSON")
    arguments.add_argument(
        "--recordings", type=Path, required=True, help="folder of recorded measurements"
    )
    run(main, arguments)
