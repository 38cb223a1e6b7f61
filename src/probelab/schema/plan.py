"""What is to be done: variants, their launches, and the chunks that carry them."""

from typing import Literal

from pydantic import Field

from probelab.canonical import digest
from probelab.schema.base import Record

Placement = Literal["isolated", "coresident"]
Dispatch = Literal["none", "in_loop", "hoisted"]

#: Warp slots that a role map covers: 1,024 threads.
MAX_WARP_SLOTS = 32
SUB_CORES = 4
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


class TimingSettings(Record):
    """How launches are timed; not part of a launch's identity."""

    repeats: int
    warmup: int = Field(description="launches of each variant before the first repeat counts")
    backend: Literal["auto", "pycuda", "recorded", "model"]
    timeout_s: float = Field(description="wall-clock bound on one launch")
    retime: str = Field(default="", description="change it to measure again what is stored")
