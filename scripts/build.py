"""Compile the variants of a chunk."""

from pathlib import Path

from probelab.build.station import Bench, build_chunk
from probelab.script import Options, parser, run, tell
from probelab.store import Store
from probelab.toolchain import Toolchain


def main(options: Options) -> Store:
    """Call the station and write its manifest."""
    store = Store(options.cache)
    bench = Bench(
        kernels=options.kernels,
        toolchain=Toolchain.find(options.toolchain),
        results=options.out.parents[1],
        store=store,
    )
    manifest = build_chunk(options.plan, bench)
    manifest.write(options.out)
    failed = [row.reason for row in manifest.rows if row.status == "failed"]
    tell(manifest.chunk, "kernel(s) don't compile", failed)
    return store


if __name__ == "__main__":
    arguments = parser(__doc__, "--plan", "--toolchain", "--cache", "--out")
    arguments.add_argument("--kernels", type=Path, required=True, help="folder of the kernels")
    run(main, arguments)
