"""From a configuration to variants, launches and chunks: a pure function."""

from collections.abc import Iterable
from typing import Any

from probelab.config.load import Configuration
from probelab.config.models import Lab, Probe
from probelab.errors import ConfigError
from probelab.schema.plan import HASH_BITS, WARP_SIZE, Chunk, Launch, TimingSettings, Variant

#: A command is one argument of a shell, and Linux takes at most 128 KiB of one argument.
LONGEST_PLAN = 100_000


def _setting(lab: Lab, probe: Probe, key: str) -> Any:
    """The probe's own value of `key`, else the lab's."""
    own = getattr(probe, key)
    return getattr(lab, key) if own is None else own


def variants_of(lab: Lab, probe: Probe) -> list[Variant]:
    """Every variant of a probe: architectures × (each role alone, each set in each dispatch)."""
    forms: list[dict[str, Any]] = []
    placements = _setting(lab, probe, "placements")
    if "isolated" in placements:
        forms += [
            {
                "roles": [role.name],
                "placement": "isolated",
                "dispatch": "none",
                "defines": dict(role.defines),
            }
            for role in probe.roles
        ]
    if "coresident" in placements:
        forms += [
            {"roles": members, "placement": "coresident", "dispatch": dispatch, "defines": {}}
            for members in probe.coresident_sets
            for dispatch in _setting(lab, probe, "dispatches")
        ]
    return [
        Variant.make(
            probe=probe.name,
            kernel=probe.kernel,
            arch=arch,
            flags=list(probe.flags),
            **form,
        )
        for arch in lab.architectures
        for form in forms
    ]


def launches_of(lab: Lab, probe: Probe, variant: Variant) -> list[Launch]:
    """Every launch of a variant: one for each number of threads per block."""
    launches = []
    for threads in _setting(lab, probe, f"{variant.placement}_threads_per_block"):
        slots = threads // WARP_SIZE
        if len(variant.roles) > slots:
            raise ConfigError(
                f"{len(variant.roles)} coresident roles don't fit into the {slots} warps of "
                f"{threads} threads",
                where=f"probe {probe.name}",
                hint="raise coresident_threads_per_block, or name smaller sets under `coresident`",
            )
        launches.append(
            Launch.make(
                variant.id,
                threads_per_block=threads,
                blocks=_setting(lab, probe, "blocks"),
                clock_budget_cycles=_setting(lab, probe, "clock_budget_cycles"),
                role_map=[slot % len(variant.roles) for slot in range(slots)],
                seed=_setting(lab, probe, "seed"),
            )
        )
    return launches


def _prefixes(variants: list[Variant], size: int, bits: str = "") -> dict[str, list[Variant]]:
    """Variants by hash prefix; a group of more than `size` splits by its next bit.

    A variant's place depends on its own hash and on how full its neighbourhood is, so adding
    one splits at most the chunk that it falls into.
    """
    if len(variants) <= size or len(bits) == HASH_BITS:
        return {bits: variants} if variants else {}
    halves: dict[str, list[Variant]] = {"0": [], "1": []}
    for variant in variants:
        hash_bits = f"{int(variant.id.rpartition('-')[2], 16):0{HASH_BITS}b}"
        halves[hash_bits[len(bits)]].append(variant)
    return {
        prefix: members
        for bit, half in halves.items()
        for prefix, members in _prefixes(half, size, bits + bit).items()
    }


def chunks_of(
    probe: str, variants: Iterable[Variant], launches: Iterable[Launch], size: int
) -> list[Chunk]:
    """A probe's variants as chunks of at most `size` of one architecture each."""
    by_arch: dict[str, list[Variant]] = {}
    for variant in variants:
        by_arch.setdefault(variant.arch, []).append(variant)
    by_variant: dict[str, list[Launch]] = {}
    for launch in launches:
        by_variant.setdefault(launch.variant, []).append(launch)
    return [
        Chunk(
            id=f"{probe}.{arch}.b{prefix}",
            probe=probe,
            arch=arch,
            variants=sorted(members, key=lambda variant: variant.id),
            launches=[
                launch
                for variant in sorted(members, key=lambda variant: variant.id)
                for launch in sorted(by_variant.get(variant.id, []), key=lambda launch: launch.id)
            ],
        )
        for arch, group in by_arch.items()
        for prefix, members in _prefixes(group, size).items()
    ]


def plan(configuration: Configuration) -> list[Chunk]:
    """All chunks of a configuration, in the order of its probes and architectures.

    Raises:
        ConfigError: if two variants get one id, or roles don't fit into a block.
    """
    lab = configuration.lab
    chunks: list[Chunk] = []
    for probe in configuration.everything:
        variants = variants_of(lab, probe)
        if len({variant.id for variant in variants}) < len(variants):
            raise ConfigError(
                "two variants are the same; is a set of coresident roles given twice?",
                where=f"probe {probe.name}",
            )
        launches = [launch for variant in variants for launch in launches_of(lab, probe, variant)]
        own = chunks_of(probe.name, variants, launches, lab.chunk_size)
        if any(len(chunk.packed()) > LONGEST_PLAN for chunk in own):
            raise ConfigError(
                "the plan of one chunk is too long for a command line",
                where=f"probe {probe.name}",
                hint="lower chunk_size",
            )
        chunks += own
    return chunks


def timing_settings(lab: Lab) -> TimingSettings:
    """What the timing station needs beside the launches."""
    return TimingSettings(
        repeats=lab.repeats,
        warmup=lab.warmup,
        backend=lab.backend,
        timeout_s=lab.timeout_s,
        retime=lab.retime,
    )
