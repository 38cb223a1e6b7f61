"""Time the launches of a chunk: on a GPU, else from a recording, else by the model."""

import os
import sys
from pathlib import Path

from probelab.schema.manifests import BuildManifest, PredictManifest, ShapeManifest
from probelab.script import PLAN_VARIABLE, Options, parser, run, tell
from probelab.store import Store
from probelab.timing.devices import node_name
from probelab.timing.station import time_chunk


def main(options: Options) -> Store:
    """Call the station and write its manifest."""
    if os.environ.get(PLAN_VARIABLE):
        # On a cluster, the log says where a job was and what it was given.
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        given = "all GPUs" if visible is None else f"CUDA_VISIBLE_DEVICES={visible}"
        sys.stderr.write(f"timing on {node_name()}, {given}\n")
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
