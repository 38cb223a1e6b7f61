from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from probelab.build.station import Bench, build_chunk
from probelab.config.sweeps import Point
from probelab.errors import ToolError
from probelab.sass import parse_listing
from probelab.sass.kernel import Kernel
from probelab.schema.manifests import BuildRow
from probelab.store import Store
from probelab.toolchain import Toolchain
from tests.sass.sass_support import KERNELS
from tests.sweeps.sweeps_support import POINTS, chunk, variant


@pytest.fixture(scope="session")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    try:
        toolchain = Toolchain.find()
    except ToolError as error:
        pytest.skip(str(error))
    folder = tmp_path_factory.mktemp("sweeps")
    return Bench(KERNELS, toolchain, folder / "results", Store(folder / "cache"))


@dataclass(frozen=True)
class Built:
    """Points as built in one unit, by role."""

    rows: dict[str, BuildRow]
    kernels: dict[str, Kernel]
    results: Path

    def reference(self, point: Point) -> Path:
        return self.results / self.rows[point.role].reference


@pytest.fixture(scope="session")
def built(bench: Bench) -> Callable[..., Built]:
    """Builds points for an architecture, all of `POINTS` unless others are named."""

    @functools.cache
    def build(arch: str, points: tuple[Point, ...] = tuple(POINTS)) -> Built:
        variants = {point.role: variant(point, arch) for point in points}
        rows = build_chunk(chunk([*variants.values()]), bench).by_id()
        assert [row.reason for row in rows.values() if row.status != "ok"] == []
        kernels: dict[str, Kernel] = {}
        for cubin in {row.cubin for row in rows.values()}:
            listing = bench.toolchain.run("cuobjdump", ["--dump-sass", str(bench.results / cubin)])
            kernels |= {kernel.name: kernel for kernel in parse_listing(listing.stdout)}
            if len(kernels) >= len(variants):
                break
        return Built(
            {role: rows[one.id] for role, one in variants.items()},
            {role: kernels[one.symbol] for role, one in variants.items()},
            bench.results,
        )

    return build
