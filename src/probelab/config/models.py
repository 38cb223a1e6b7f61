"""What a configuration may say. `config/README.md` documents each key for users."""

import re
from collections import Counter
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from probelab.schema.intent import Intent
from probelab.schema.plan import MAX_WARP_SLOTS, WARP_SIZE

IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
OPCODE = re.compile(r"[A-Z][A-Z0-9]*")
ARCHITECTURE = re.compile(r"sm_[0-9]{2,3}[a-z]?")
FLAG = re.compile(r"-{1,2}[A-Za-z][A-Za-z0-9_-]*(=[A-Za-z0-9_.,+-]+)?")


def _identifier(value: str) -> str:
    if not IDENTIFIER.fullmatch(value) or len(value) > 64:
        raise ValueError(
            f"{value!r} is not a plain identifier; use letters, digits and _, at most 64 of them"
        )
    if value in CPP_KEYWORDS:
        raise ValueError(f"{value!r} is a word of C++; choose another name")
    return value


#: Names become C++ types; these can't.
CPP_KEYWORDS = frozenset(
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t "
    "char8_t class co_await co_return co_yield compl concept const const_cast consteval constexpr "
    "constinit continue decltype default delete do double dynamic_cast else enum explicit export "
    "extern false float for friend goto if inline int long mutable namespace new noexcept not "
    "not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires "
    "return short signed sizeof static static_assert static_cast struct switch template this "
    "thread_local throw true try typedef typeid typename union unsigned using virtual void "
    "volatile wchar_t while xor xor_eq State".split()
)


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
    joined = not value.startswith("--") and name[:1] in JOINED_FLAGS
    if name in OWN_FLAGS or joined:
        raise ValueError(f"{value!r} is set by the lab itself; see config/README.md")
    if name not in CODE_FLAGS:
        raise ValueError(
            f"{value!r} is not among the flags that a probe may set; see config/README.md"
        )
    return value


#: Flags that change the machine code and nothing else, neither what nvcc writes nor where.
CODE_FLAGS = frozenset(
    "use_fast_math O0 O1 O2 O3 optimize fmad ftz prec-div prec-sqrt maxrregcount lineinfo "
    "generate-line-info G device-debug dopt extra-device-vectorization restrict std Xptxas "
    "ptxas-options expt-relaxed-constexpr expt-extended-lambda extended-lambda w disable-warnings "
    "diag-suppress Wno-deprecated-gpu-targets Werror".split()
)


#: What the lab passes itself, and what would change where or what nvcc writes.
OWN_FLAGS = frozenset(
    "arch gpu-architecture gencode generate-code code gpu-code cubin ptx fatbin c dc dw dlink lib "
    "device-c device-w device-link relocatable-device-code rdc lto dlto run o output-file odir "
    "output-directory include-path include pre-include define-macro undefine-macro keep keep-dir "
    "save-temps time dryrun ccbin compiler-bindir x link shared MD MMD M MM MF E optf options-file "
    "library library-path optix-ir ltoir".split()
)
#: Short flags whose value may follow without a sign, as in -DNAME: a macro, a folder.
JOINED_FLAGS = frozenset("DUIL")


def _no_truth_value(value: Any) -> Any:
    """YAML's `true` and `yes` are no numbers, though Python counts with them."""
    if isinstance(value, bool):
        raise ValueError(f"{value} is not a number")
    return value


def _text_or_number(value: Any) -> Any:
    """A number as text and nothing as none: `--config retime=2`, `--config retime=`."""
    if value is None:
        return ""
    return str(value) if isinstance(value, (int, float)) else value


def _one_line(value: str) -> str:
    if not value.isprintable():
        raise ValueError(f"{value[:40]!r} is not one line of printable text")
    return value


def _float32(value: float) -> float:
    if value != 0 and not 1.2e-38 <= abs(value) <= 3.4e38:
        raise ValueError(f"{value} is no normal number of 32 bits")
    return value


Item = TypeVar("Item")


def _unique(values: list[Item]) -> list[Item]:
    for value in values:
        if values.count(value) > 1:
            raise ValueError(f"{value!r} stands there twice")
    return values


Several = Annotated[list[Item], Field(min_length=1), AfterValidator(_unique)]
Number = BeforeValidator(_no_truth_value)

Identifier = Annotated[str, AfterValidator(_identifier)]
Architecture = Annotated[str, AfterValidator(_architecture)]
KernelFile = Annotated[str, AfterValidator(_kernel_file)]
Flag = Annotated[str, AfterValidator(_flag)]
Text = Annotated[str, Field(min_length=1)]
#: One line of a report.
Line = Annotated[str, Field(min_length=1), AfterValidator(_one_line)]

#: Of files in config/; may be none.
Names = Annotated[list[str], AfterValidator(_unique)]
Placements = Several[Literal["isolated", "coresident"]]
Dispatches = Several[Literal["in_loop", "hoisted"]]
Threads = Annotated[int, Number, AfterValidator(_threads)]
Blocks = Annotated[int, Number, Field(ge=1, le=65_535)]
Cycles = Annotated[int, Number, Field(ge=1000, le=10**9)]
Seed = Annotated[float, Number, Field(allow_inf_nan=False), AfterValidator(_float32)]


class Section(BaseModel):
    """A part of the configuration; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Role(Section):
    """A dependency shape that a warp executes, and what its SASS must show."""

    name: Identifier
    defines: dict[Identifier, Annotated[int, Number]] = Field(
        default={}, description="further -D settings of this role's own kernel"
    )
    reference: Identifier | None = Field(
        default=None, description="the role that this one's progress is compared with"
    )
    intent: Intent | None = Field(
        default=None, description="without it the shape reads 'not checked'"
    )

    @model_validator(mode="after")
    def _intent_possible(self) -> "Role":
        if self.intent is None:
            return self
        opcode, chains = self.intent.opcode, self.intent.chains
        if not OPCODE.fullmatch(opcode):
            raise ValueError(
                f"role {self.name!r}: opcode {opcode!r} is not the name of an instruction without "
                "modifiers, like FFMA"
            )
        if not chains or min(chains) < 1 or chains != sorted(chains, reverse=True):
            raise ValueError(
                f"role {self.name!r}: chains {chains} are not counts from 1 in descending order"
            )
        return self


class Scope(Section):
    """The kernel form under which a claim is tested."""

    placement: Literal["isolated", "coresident"]
    dispatch: Literal["none", "in_loop", "hoisted"] = "none"
    threads_per_block: Threads

    @model_validator(mode="after")
    def _dispatch_fits(self) -> "Scope":
        if (self.placement == "isolated") != (self.dispatch == "none"):
            raise ValueError(
                f"placement {self.placement} can't go with dispatch {self.dispatch}; isolated goes "
                "with none, coresident with in_loop or hoisted"
            )
        return self


class Claim(Section):
    """A statement that the data confirms, refutes or leaves open."""

    id: Identifier
    statement: str
    source: str = Field(description="where it is stated, for instance 'second note, 10.4'")
    scope: Scope
    expect: str | None = Field(
        default=None,
        description=(
            "orderings of roles by progress: 'a > b ≈ c', or several, 'a > b; a > c'; none: judged "
            "by other means"
        ),
    )

    def ordering(self) -> list[tuple[str, str, str]]:
        """Neighbours in `expect` as (left role, '>' or '≈', right role)."""
        return [
            (parts[i - 1], parts[i], parts[i + 1])
            for parts in self._orderings()
            for i in range(1, len(parts) - 1, 2)
        ]

    def _orderings(self) -> list[list[str]]:
        """The words of each ordering in `expect`."""
        return [] if self.expect is None else [part.split() for part in self.expect.split(";")]

    @model_validator(mode="after")
    def _form(self) -> "Claim":
        for parts in self._orderings():
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

    placements: Placements | None = None
    dispatches: Dispatches | None = None
    isolated_threads_per_block: Several[Threads] | None = None
    coresident_threads_per_block: Several[Threads] | None = None
    blocks: Blocks | None = None
    clock_budget_cycles: Cycles | None = None
    seed: Seed | None = None


class Probe(LaunchSettings):
    """One experiment."""

    name: Identifier
    title: Line
    question: Line
    kernel: KernelFile
    flags: list[Flag] = []
    roles: list[Role] = Field(min_length=1)
    coresident: Several[Several[Identifier]] | None = Field(
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

    @property
    def coresident_sets(self) -> list[list[str]]:
        """The sets of roles that share a kernel."""
        return self.coresident or [self.role_names]

    @model_validator(mode="after")
    def _names_fit(self) -> "Probe":
        names = self.role_names
        for name, count in Counter(names).items():
            if count > 1:
                raise ValueError(f"roles: {name!r} stands there twice; give each role its own name")
        for role in self.roles:
            if role.reference == role.name:
                raise ValueError(f"roles: {role.name!r} is its own reference")
            if role.reference is not None and role.reference not in names:
                raise ValueError(
                    f"roles: {role.name!r} has the reference {role.reference!r}, which is no role "
                    "of this probe"
                )
        own = [role.name for role in self.roles if role.defines]
        if own and self.placements != ["isolated"]:
            raise ValueError(
                f"roles: {own[0]!r} has -D settings of its own, so it can't share a kernel; give "
                "the probe `placements: [isolated]`"
            )
        for name in (name for members in self.coresident or [] for name in members):
            if name not in names:
                raise ValueError(f"coresident: {name!r} is no role of this probe")
        return self

    @model_validator(mode="after")
    def _claims_fit(self) -> "Probe":
        ids = [claim.id for claim in self.claims]
        for claim in self.claims:
            if ids.count(claim.id) > 1:
                raise ValueError(f"claims: the id {claim.id!r} stands there twice")
            for left, _, right in claim.ordering():
                if left == right:
                    raise ValueError(f"claims: {claim.id!r} compares {left!r} with itself")
            compared = {name for left, _, right in claim.ordering() for name in (left, right)}
            for name in sorted(compared - set(self.role_names)):
                raise ValueError(f"claims: {claim.id!r} names {name!r}, which is no role")
            together = any(compared <= set(members) for members in self.coresident_sets)
            if claim.scope.placement == "coresident" and not together:
                raise ValueError(
                    f"claims: {claim.id!r} is about coresident roles that share no kernel; put "
                    "them into one set under `coresident`"
                )
        return self


class Lab(LaunchSettings):
    """The whole configuration."""

    @model_validator(mode="after")
    def _something_to_do(self) -> "Lab":
        if not self.probes and not self.sweeps:
            raise ValueError(
                "probes: neither probes nor sweeps are named, so nothing is to be done"
            )
        return self

    probes: Names
    sweeps: Names
    subset: Annotated[str, BeforeValidator(_text_or_number)]
    only: Annotated[str, BeforeValidator(_text_or_number)]
    architectures: Several[Architecture]
    toolchain: Text
    placements: Placements
    dispatches: Dispatches
    isolated_threads_per_block: Several[Threads]
    coresident_threads_per_block: Several[Threads]
    blocks: Blocks
    clock_budget_cycles: Cycles
    seed: Seed
    repeats: Annotated[int, Number, Field(ge=1, le=10_000)]
    warmup: Annotated[int, Number, Field(ge=0, le=100)]
    backend: Literal["auto", "pycuda", "recorded", "model"]
    timeout_s: Annotated[float, Number, Field(gt=0, le=3600)]
    retime: Annotated[str, BeforeValidator(_text_or_number)]
    chunk_size: Annotated[int, Number, Field(ge=1, le=200)]
    strict: bool
    cache: Text
