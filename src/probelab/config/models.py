"""What a configuration may say. `config/README.md` documents each key for users."""

import re
from pathlib import PurePosixPath
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from probelab.schema.intent import Intent
from probelab.schema.plan import MAX_WARP_SLOTS, WARP_SIZE

IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
ARCHITECTURE = re.compile(r"sm_[0-9]{2,3}[a-z]?")
#: nvcc flags that a probe may set; anything else could write files or change what is built.
FLAG = re.compile(r"-{1,2}[A-Za-z][A-Za-z0-9_-]*(=[A-Za-z0-9_.,+-]+)?")


def _identifier(value: str) -> str:
    if not IDENTIFIER.fullmatch(value) or len(value) > 64:
        raise ValueError(
            f"{value!r} is not a plain identifier; use letters, digits and _, at most 64 of them"
        )
    return value


def _architecture(value: str) -> str:
    if not ARCHITECTURE.fullmatch(value):
        raise ValueError(f"{value!r} is not an architecture like sm_86")
    return value


def _threads(value: int) -> int:
    if value % WARP_SIZE or not WARP_SIZE <= value <= WARP_SIZE * MAX_WARP_SLOTS:
        raise ValueError(f"{value} is not a multiple of 32 between 32 and 1024")
    return value


def _kernel_file(value: str) -> str:
    path = PurePosixPath(value)
    if path.name != value or path.suffix != ".cu" or not IDENTIFIER.fullmatch(path.stem):
        raise ValueError(f"{value!r} is not the name of a .cu file in kernels/")
    return value


def _flag(value: str) -> str:
    if not FLAG.fullmatch(value):
        raise ValueError(f"{value!r} is not a single nvcc flag of the form -flag or -flag=value")
    name = value.lstrip("-").partition("=")[0]
    if name in OWN_FLAGS:
        raise ValueError(f"{value!r} is set by the lab itself; see config/README.md")
    return value


#: What the lab passes itself, and what would change where or what nvcc writes.
OWN_FLAGS = frozenset(
    "arch gpu-architecture gencode generate-code code gpu-code cubin ptx fatbin c dc dw dlink lib "
    "run o output-file odir output-directory I include-path D define-macro keep dryrun ccbin "
    "compiler-bindir x link shared MD MMD M MM MF E optf options-file".split()
)

Identifier = Annotated[str, AfterValidator(_identifier)]
Architecture = Annotated[str, AfterValidator(_architecture)]
Threads = Annotated[int, AfterValidator(_threads)]
KernelFile = Annotated[str, AfterValidator(_kernel_file)]
Flag = Annotated[str, AfterValidator(_flag)]
Positive = Annotated[int, Field(ge=1)]


class Section(BaseModel):
    """A part of the configuration; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Role(Section):
    """A dependency shape that a warp executes, and what its SASS must show."""

    name: Identifier
    reference: Identifier | None = Field(
        default=None, description="the role that this one's progress is compared with"
    )
    intent: Intent | None = Field(
        default=None, description="without it the shape reads 'not checked'"
    )


class Scope(Section):
    """The kernel form under which a claim is tested."""

    placement: Literal["isolated", "coresident"]
    dispatch: Literal["none", "in_loop", "hoisted"] = "none"
    threads_per_block: Threads


class Claim(Section):
    """A statement that the data confirms, refutes or leaves open."""

    id: Identifier
    statement: str
    source: str = Field(description="where it is stated, for instance 'second note, 10.4'")
    scope: Scope
    expect: str | None = Field(
        default=None,
        description="an ordering of roles by progress: 'a > b ≈ c'; none: judged by other means",
    )

    def ordering(self) -> list[tuple[str, str, str]]:
        """Neighbours in `expect` as (left role, '>' or '≈', right role)."""
        if self.expect is None:
            return []
        parts = self.expect.split()
        return [(parts[i - 1], parts[i], parts[i + 1]) for i in range(1, len(parts) - 1, 2)]

    @model_validator(mode="after")
    def _form(self) -> "Claim":
        if self.expect is not None:
            parts = self.expect.split()
            names, signs = parts[::2], parts[1::2]
            well_formed = len(parts) >= 3 and len(parts) % 2 == 1
            if not (
                well_formed
                and all(sign in (">", "≈") for sign in signs)
                and all(IDENTIFIER.fullmatch(name) for name in names)
            ):
                raise ValueError(
                    f"claim {self.id!r}: expect {self.expect!r} is not of the form 'a > b ≈ c'"
                )
        return self


class Wording(Section):
    """A sentence that the data does not support, and the one that says it right."""

    forbidden: list[str]
    instead: str
    source: str


class Published(Section):
    """Figures that somebody published for this probe, shown beside the lab's own."""

    file: str = Field(description="a CSV in data/published: role, progress, ratio columns")
    title: str
    source: str

    @model_validator(mode="after")
    def _plain_name(self) -> "Published":
        if PurePosixPath(self.file).name != self.file or not self.file.endswith(".csv"):
            raise ValueError(f"{self.file!r} is not the name of a .csv file in data/published/")
        return self


class LaunchSettings(Section):
    """Launch settings; the lab's are the default of each probe's."""

    placements: list[Literal["isolated", "coresident"]] | None = None
    dispatches: list[Literal["in_loop", "hoisted"]] | None = None
    isolated_threads_per_block: list[Threads] | None = None
    coresident_threads_per_block: list[Threads] | None = None
    blocks: Positive | None = None
    clock_budget_cycles: Annotated[int, Field(ge=1000, le=10**9)] | None = None
    seed: Annotated[float, Field(allow_inf_nan=False)] | None = None


class Probe(LaunchSettings):
    """One experiment."""

    name: Identifier
    title: str
    question: str
    kernel: KernelFile
    flags: list[Flag] = []
    roles: list[Role] = Field(min_length=1)
    coresident: list[list[Identifier]] | None = Field(
        default=None, description="sets of roles that share a kernel; default: one set of all roles"
    )
    ratio: Literal["percent", "difference"] = Field(
        default="percent", description="how a ratio to the reference role is printed"
    )
    claims: list[Claim] = []
    wording: list[Wording] = []
    published: Published | None = None

    @property
    def role_names(self) -> list[str]:
        """Names of the roles in order."""
        return [role.name for role in self.roles]

    @model_validator(mode="after")
    def _names_fit(self) -> "Probe":
        names = self.role_names
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"role {name!r} stands there twice; give each role its own name")
        for role in self.roles:
            if role.reference is not None and role.reference not in names:
                raise ValueError(f"role {role.name!r}: its reference {role.reference!r} is no role")
        for members in self.coresident or []:
            for name in members:
                if name not in names:
                    raise ValueError(f"coresident: {name!r} is no role of this probe")
                if members.count(name) > 1:
                    raise ValueError(f"coresident: role {name!r} stands twice in one set")
        ids = [claim.id for claim in self.claims]
        for claim in self.claims:
            if ids.count(claim.id) > 1:
                raise ValueError(f"claim {claim.id!r} stands there twice")
            for left, _, right in claim.ordering():
                for name in (left, right):
                    if name not in names:
                        raise ValueError(f"claim {claim.id!r}: {name!r} is no role of this probe")
        return self


class Lab(LaunchSettings):
    """The whole configuration."""

    probes: list[str] = Field(min_length=1)
    architectures: list[Architecture] = Field(min_length=1)
    toolchain: str
    placements: list[Literal["isolated", "coresident"]] = Field(min_length=1)
    dispatches: list[Literal["in_loop", "hoisted"]] = Field(min_length=1)
    isolated_threads_per_block: list[Threads] = Field(min_length=1)
    coresident_threads_per_block: list[Threads] = Field(min_length=1)
    blocks: Positive
    clock_budget_cycles: Annotated[int, Field(ge=1000, le=10**9)]
    seed: Annotated[float, Field(allow_inf_nan=False)]
    repeats: Annotated[int, Field(ge=1, le=10_000)]
    warmup: Annotated[int, Field(ge=0, le=100)]
    backend: Literal["auto", "pycuda", "recorded", "model"]
    timeout_s: Annotated[float, Field(gt=0, le=3600)]
    retime: str
    chunk_size: Annotated[int, Field(ge=1, le=200)]
    strict: bool
    cache: str

    @model_validator(mode="after")
    def _no_repetition(self) -> "Lab":
        for key in ("probes", "architectures", "placements", "dispatches"):
            values = getattr(self, key)
            for value in values:
                if values.count(value) > 1:
                    raise ValueError(f"{key}: {value!r} stands there twice")
        return self
