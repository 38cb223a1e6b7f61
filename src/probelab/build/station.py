"""Build a chunk: what the store has is linked, the rest is compiled in as few units as can be."""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from probelab.build.cubin import KernelImage, read_kernels
from probelab.build.reference import build_reference
from probelab.build.resources import Resources, parse
from probelab.build.sources import source_digest
from probelab.build.unit import CompileError, compile_unit
from probelab.canonical import digest
from probelab.codehash import code_hash
from probelab.errors import DataError
from probelab.schema.manifests import BuildManifest, BuildRow
from probelab.schema.plan import Chunk, Variant
from probelab.store import LOST, Store, forget, link
from probelab.toolchain import Toolchain, host_compiler

STATION = "build"
CUBIN = "kernel.cubin"
ROW = "row.json"

#: Sizes (bytes) of the parameters that the harness passes: records, clock budget, seed, role map.
CONTRACT_PARAMETERS = (8, 8, 4, 32)


@dataclass(frozen=True)
class Bench:
    """Where and with what a chunk is built."""

    kernels: Path
    toolchain: Toolchain
    results: Path
    store: Store


def build_chunk(chunk: Chunk, bench: Bench) -> BuildManifest:
    """Build every variant of a chunk; a variant that fails is a row with its reason.

    Cubins and host references are linked into `<results>/build/<chunk>/`.

    Raises:
        ToolError, DataError: if nothing can be built here at all.
    """
    host_compiler()
    code = code_hash(__name__)
    digests = {
        name: source_digest(bench.kernels / name)
        for name in sorted({variant.kernel for variant in chunk.variants})
    }
    keys = {
        variant.id: _key(variant, digests[variant.kernel], bench.toolchain, code)
        for variant in chunk.variants
    }

    def stored(variant: Variant) -> BuildRow | None:
        return bench.store.read(STATION, keys[variant.id], ROW, BuildRow.model_validate_json)

    missing = [variant for variant in chunk.variants if stored(variant) is None]
    failures = _make(missing, keys, digests, bench)
    folder = bench.results / STATION / chunk.id
    references = {
        kind: _reference(kind, chunk.variants, digests[kind[0]], folder, bench, code)
        for kind in sorted({_reference_kind(variant) for variant in chunk.variants})
    }
    rows = []
    for variant in chunk.variants:
        row, entry = stored(variant), bench.store.get(STATION, keys[variant.id])
        if row is None or entry is None:
            rows.append(failures.get(variant.id, _failed(variant, LOST)))
            continue
        link(entry / CUBIN, folder / f"{variant.id}.cubin")
        update: dict[str, object] = {"cubin": f"{STATION}/{chunk.id}/{variant.id}.cubin"}
        reference, roles = references[_reference_kind(variant)]
        if reference:
            update["reference"] = f"{STATION}/{chunk.id}/{reference}"
            update["reference_roles"] = roles or variant.roles
            update["reference_settings"] = [value for _, value in sorted(variant.defines.items())]
        rows.append(row.model_copy(update=update))
    kept = {f"{row.id}.cubin" for row in rows if row.status == "ok"}
    forget(folder, kept | {name for name, _ in references.values()})
    return BuildManifest(station=STATION, chunk=chunk.id, rows=rows)


def _key(variant: Variant, source: str, toolchain: Toolchain, code: str) -> str:
    return digest(
        {
            "variant": variant.model_dump(),
            "source": source,
            "nvcc": toolchain.nvcc_version,
            "environment": toolchain.environment,
            "code": code,
        }
    )


def _reference_kind(variant: Variant) -> tuple[str, bool]:
    """The kernel file, and whether the host reference is to take settings as arguments."""
    return variant.kernel, bool(variant.defines)


def _reference(
    kind: tuple[str, bool],
    variants: Iterable[Variant],
    source: str,
    folder: Path,
    bench: Bench,
    code: str,
) -> tuple[str, list[str]]:
    """Name of the linked host reference (empty: none) and the roles it knows, if it knows any."""
    name, by_settings = kind
    known = {role for v in variants if _reference_kind(v) == kind for role in v.roles}
    roles = [] if by_settings else sorted(known)
    path = build_reference(bench.kernels / name, source, roles, bench.store, code)
    if path is None:
        return "", []
    target = f"{Path(name).stem}.{'settings' if by_settings else 'reference'}.so"
    link(path, folder / target)
    return target, roles


def _make(
    variants: Sequence[Variant], keys: dict[str, str], sources: dict[str, str], bench: Bench
) -> dict[str, BuildRow]:
    """Compile `variants` into the store; rows of those that failed, by variant id."""

    def unit_of(variant: Variant) -> tuple[str, str, tuple[str, ...]]:
        return variant.kernel, variant.arch, tuple(variant.flags)

    groups = [
        list(members)
        for _, members in itertools.groupby(sorted(variants, key=unit_of), key=unit_of)
    ]
    failures: dict[str, BuildRow] = {}
    for members in groups:
        failures |= _make_unit(members, keys, sources, bench)
    return failures


def _make_unit(
    variants: Sequence[Variant], keys: dict[str, str], sources: dict[str, str], bench: Bench
) -> dict[str, BuildRow]:
    """Compile one unit, or variant by variant if it doesn't compile or shares module data."""
    # In the store's own file system, so that its entries can share one cubin by hard links.
    with bench.store.scratch() as folder:
        try:
            cubin, log = compile_unit(variants, bench.kernels, bench.toolchain, folder)
            kernels = _read(cubin)
        except CompileError as error:
            if len(variants) == 1:
                return {variants[0].id: _failed(variants[0], error.reason)}
        else:
            # Constants and variables of a module belong to all its kernels, so kernels that
            # have some are identified only when they are alone.
            if len(variants) == 1 or not any(kernel.module_data for kernel in kernels):
                return _keep(variants, cubin, log, kernels, keys, sources, bench)
    failures: dict[str, BuildRow] = {}
    for variant in variants:
        failures |= _make_unit([variant], keys, sources, bench)
    return failures


def _read(cubin: Path) -> list[KernelImage]:
    try:
        return read_kernels(cubin)
    except DataError as error:
        raise CompileError(f"nvcc didn't make a cubin: {error.what}", "") from None


def _keep(
    variants: Sequence[Variant],
    cubin: Path,
    log: str,
    kernels: list[KernelImage],
    keys: dict[str, str],
    sources: dict[str, str],
    bench: Bench,
) -> dict[str, BuildRow]:
    """Put a unit's kernels into the store; rows of variants without a usable kernel."""
    resources = parse(log)
    failures: dict[str, BuildRow] = {}
    for variant in variants:
        try:
            kernel = _kernel_of(variant, kernels)
        except DataError as error:
            failures[variant.id] = _failed(variant, str(error))
            continue
        row = BuildRow(
            id=variant.id,
            status="ok",
            symbol=kernel.symbol,
            kernel_digest=kernel.digest,
            source_digest=sources[variant.kernel],
            arch=variant.arch,
            nvcc_version=bench.toolchain.nvcc_version,
            flags=variant.flags,
            parameter_bytes=kernel.parameter_bytes,
            **asdict(resources.get(kernel.symbol, Resources(registers=kernel.registers))),
        )
        with bench.store.make(STATION, keys[variant.id], variant.id) as entry:
            (entry / ROW).write_text(row.model_dump_json(), encoding="utf-8")
            link(cubin, entry / CUBIN)
    return failures


def _kernel_of(variant: Variant, kernels: list[KernelImage]) -> KernelImage:
    """The variant's kernel: by its symbol, else the only one of the cubin."""
    named = [kernel for kernel in kernels if kernel.symbol == variant.symbol]
    if not named and len(kernels) != 1:
        raise DataError(
            f"the kernel isn't called PROBE_NAME, and there are {len(kernels)} kernels",
            where=variant.kernel,
            hint="see docs/kernels.md",
        )
    kernel = (named or kernels)[0]
    sizes = tuple(kernel.parameter_bytes)
    if not sizes or sizes != CONTRACT_PARAMETERS[: len(sizes)]:
        raise DataError(
            f"kernel {kernel.symbol} has parameters of {list(sizes)} bytes, not the first of "
            f"{list(CONTRACT_PARAMETERS)}",
            where=variant.kernel,
            hint="see docs/kernels.md",
        )
    return kernel


def _failed(variant: Variant, reason: str) -> BuildRow:
    return BuildRow(
        id=variant.id, status="failed", reason=reason, arch=variant.arch, flags=variant.flags
    )
