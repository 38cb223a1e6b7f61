"""Predict the launches of a chunk from the SASS alone."""

from probelab.predict.station import predict_chunk
from probelab.schema.manifests import BuildManifest, SassManifest, ShapeManifest
from probelab.script import Options, parser, run
from probelab.store import Store


def main(options: Options) -> Store:
    """Call the station and write its manifest."""
    store = Store(options.cache)
    manifest = predict_chunk(
        options.plan,
        BuildManifest.read(options.build),
        SassManifest.read(options.sass),
        ShapeManifest.read(options.shape),
        options.out.parents[1],
        store,
    )
    manifest.write(options.out)
    return store


if __name__ == "__main__":
    run(main, parser(__doc__, "--plan", "--build", "--sass", "--shape", "--cache", "--out"))
