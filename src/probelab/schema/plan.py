"""What is to be done: variants, their launches, and the chunks that carry them."""

import json
from typing import Any, Literal, Self

from pydantic import Field

from probelab.canonical import canonical_json, digest
from probelab.schema.base import Record

Placement = Literal["isolated", "coresident"]
Dispatch = Literal["none", "in_loop", "hoisted"]

#: Warp slots that a role map covers: 1,024 threads.
MAX_WARP_SLOTS = 32
SUB_CORES = 4
#: Bits of a variant's id hash; a chunk's prefix can't be longer.
HASH_BITS = 48
WARP_SIZE = 32


class Variant(Record):
    """One kernel as compiled, but for the source text and the tools' versions."""

    id: str = Field(description="<probe>-<12 hex digits of the hash of all other fields>")
    probe: str
    kernel: str = Field(description="file name below kernels/")
    roles: list[str] = Field(description="one role when isolated, else all that it mixes, in order")
    placement: Placement
    dispatch: Dispatch
    arch: str = Field(description="sm_86, sm_90, …")
    flags: list[str] = Field(description="nvcc flags of the probe")
    defines: dict[str, int] = Field(default_factory=dict, description="further -D settings")

    @classmethod
    def make(cls, **fields: Any) -> Self:
        """A variant with the id that its other fields give it."""
        probe = str(fields["probe"])
        return cls(id=f"{probe}-{digest(fields)[: HASH_BITS // 4]}", **fields)

    @property
    def symbol(self) -> str:
        """Kernel symbol under which the lab compiles this variant."""
        return "k_" + self.id.rpartition("-")[2]


class Launch(Record):
    """A variant as run."""

    id: str = Field(description="<variant id>-<8 hex digits of the hash of all other fields>")
    variant: str
    threads_per_block: int
    blocks: int
    clock_budget_cycles: int
    role_map: list[int] = Field(
        description="index into the variant's roles for each warp slot of a block"
    )
    seed: float = Field(description="value of the kernel's `seed` argument")

    @classmethod
    def make(cls, variant: str, **fields: Any) -> Self:
        """A launch of a variant (by id), with the id that its other fields give it."""
        return cls(id=f"{variant}-{digest(fields)[:8]}", variant=variant, **fields)

    @property
    def warps(self) -> int:
        """Warps per block."""
        return self.threads_per_block // WARP_SIZE

    @property
    def warps_per_sub_core(self) -> float:
        """Warps of one block that share a sub-core; below 1 if some sub-core stays idle."""
        return self.warps / SUB_CORES

    @property
    def settings_digest(self) -> str:
        """Identity of the launch apart from the kernel: what `recorded` looks up."""
        return digest(self.model_dump(exclude={"id", "variant"}))


class Chunk(Record):
    """A part of one probe's variants for one architecture: one job per station."""

    id: str = Field(description="<probe>.<arch>.b<prefix bits of the variants' id hash>")
    probe: str
    arch: str
    variants: list[Variant]
    launches: list[Launch]

    def packed(self) -> str:
        """The chunk as short canonical JSON, for a command line, which can't be long.

        Ids are left out, as they follow from the rest; so is what all variants share, and
        launches of equal settings name them once.
        """
        variants = [variant.model_dump(exclude={"id"}) for variant in self.variants]
        common = {
            key: value
            for key, value in (variants[0] if variants else {}).items()
            if all(other[key] == value for other in variants)
        }
        own = [{k: v for k, v in variant.items() if k not in common} for variant in variants]
        place = {variant.id: index for index, variant in enumerate(self.variants)}
        settings: list[dict[str, Any]] = []
        launches = []
        for launch in self.launches:
            fields = launch.model_dump(exclude={"id", "variant"})
            if fields not in settings:
                settings.append(fields)
            launches.append([place[launch.variant], settings.index(fields)])
        return canonical_json(
            {
                "chunk": [self.id, self.probe, self.arch],
                "common": common,
                "variants": own,
                "settings": settings,
                "launches": launches,
            }
        )

    @classmethod
    def unpacked(cls, text: str) -> Self:
        """The chunk that `packed` gave.

        Raises:
            ValueError: if `text` isn't one.
        """
        content = json.loads(text)
        chunk, probe, arch = content["chunk"]
        variants = [Variant.make(**content["common"], **own) for own in content["variants"]]
        launches = [
            Launch.make(variants[place].id, **content["settings"][setting])
            for place, setting in content["launches"]
        ]
        return cls(id=chunk, probe=probe, arch=arch, variants=variants, launches=launches)


class TimingSettings(Record):
    """How launches are timed; not part of a launch's identity."""

    repeats: int
    warmup: int = Field(description="launches of each variant before the first repeat counts")
    backend: Literal["auto", "pycuda", "recorded", "model"]
    timeout_s: float = Field(description="wall-clock bound on one launch")
    retime: str = Field(default="", description="change it to measure again what is stored")
