"""Disassemble the variants of a chunk."""

from probelab.sass.station import sass_chunk
from probelab.schema.manifests import BuildManifest
from probelab.script import Options, parser, run
from probelab.store import Store
from probelab.toolchain import Toolchain


def main(options: Options) -> Store:
    """Call the station and write its manifest."""
    store = Store(options.cache)
    manifest = sass_chunk(
        BuildManifest.read(options.build),
        Toolchain.find(options.toolchain),
        options.out.parents[1],
        store,
    )
    manifest.write(options.out)
    return store


if __name__ == "__main__":
    run(main, parser(__doc__, "--build", "--toolchain", "--cache", "--out"))
