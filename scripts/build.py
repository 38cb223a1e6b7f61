"""Compile the variants of a chunk."""

from pathlib import Path

from probelab.build.station import Bench, build_chunk
from probelab.script import Options, parser, run
from probelab.store import Store
from probelab.toolchain import Toolchain


def main(options: Options) -> None:
    """Call the station and write its manifest."""
    bench = Bench(
        kernels=options.kernels,
        toolchain=Toolchain.find(options.toolchain),
        results=options.out.parents[1],
        store=Store(options.cache),
    )
    build_chunk(options.plan, bench).write(options.out)


if __name__ == "__main__":
    arguments = parser(__doc__, "--plan", "--toolchain", "--cache", "--out")
    arguments.add_argument("--kernels", type=Path, required=True, help="folder of the kernels")
    run(main, arguments)
