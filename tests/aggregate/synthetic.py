"""A small lab made by code: configuration, plan, manifests and raw results, as if it had run.

Progress comes from a function, so that a test states the figures that it checks.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from probelab.config.load import Configuration
from probelab.config.models import Lab, Probe
from probelab.plan import plan
from probelab.schema.manifests import (
    BuildRow,
    PredictRow,
    RoleShape,
    SassRow,
    ShapeRow,
    TimingRow,
    WarpPrediction,
)
from probelab.schema.plan import Chunk, Launch, Variant
from probelab.schema.raw import Device, RawResult, Repeat, Toolchain, WarpResult
from probelab.schema.tidy import Evidence, launches

#: (variant, launch, role, repeat) → mean progress of the role's warps.
Progress = Callable[[Variant, Launch, str, int], float]

DEVICE = Device(
    name="NVIDIA H200",
    uuid="GPU-0",
    compute_capability="9.0",
    driver_version="580.1",
    sm_count=132,
)
TOOLCHAIN = Toolchain(
    nvcc_version="13.2.86", flags=["-use_fast_math"], disassembler_version="13.2.86"
)

LAB: dict[str, Any] = {
    "probes": ["one"],
    "sweeps": [],
    "subset": "",
    "only": "",
    "architectures": ["sm_90"],
    "toolchain": "pinned",
    "placements": ["isolated", "coresident"],
    "dispatches": ["in_loop", "hoisted"],
    "isolated_threads_per_block": [128],
    "coresident_threads_per_block": [256],
    "blocks": 1,
    "clock_budget_cycles": 10_000_000,
    "seed": 1.0,
    "repeats": 10,
    "warmup": 2,
    "backend": "auto",
    "timeout_s": 60,
    "retime": "",
    "chunk_size": 50,
    "strict": False,
    "cache": ".cache",
}

#: The first note's table (section 1), with its reference roles.
NOTE_1: dict[str, Any] = {
    "name": "arithmetic",
    "title": "Arithmetic dependency probe",
    "question": "Does the operation matter more, or the dependency?",
    "kernel": "arithmetic.cu",
    "flags": ["-use_fast_math"],
    "ratio": "percent",
    "roles": [
        {"name": "independent_fma", "intent": {"opcode": "FFMA", "chains": [1] * 8}},
        {
            "name": "independent_add",
            "reference": "independent_fma",
            "intent": {"opcode": "FADD", "chains": [1] * 8},
        },
        {
            "name": "dependent_fma_chain",
            "reference": "independent_fma",
            "intent": {"opcode": "FFMA", "chains": [8]},
        },
        {
            "name": "dependent_add_chain",
            "reference": "independent_add",
            "intent": {"opcode": "FADD", "chains": [8]},
        },
    ],
}
NOTE_1_PROGRESS = {
    "independent_fma": 56459.0,
    "independent_add": 56458.0,
    "dependent_fma_chain": 52929.0,
    "dependent_add_chain": 49401.0,
}

#: The second note's table (10.3).
NOTE_2_PROGRESS = {
    "dependent_fma_7": 53432.1,
    "independent_fma_7_2acc_4_3": 57321.8,
    "independent_fma_7_3acc_3_2_2": 54855.8,
    "independent_fma_7_4acc_tail_a3_missing": 47372.1,
    "independent_fma_7_4acc_tail_a0_missing": 44225.5,
    "independent_fma_7_7acc_once": 40877.9,
    "dependent_fma_8": 34586.7,
    "independent_fma_8_4acc_balanced": 38119.3,
}
_NOTE_2_CHAINS = [[7], [4, 3], [3, 2, 2], [2, 2, 2, 1], [2, 2, 2, 1], [1] * 7, [8], [2] * 4]
NOTE_2: dict[str, Any] = {
    "name": "chain7",
    "title": "Chain 7 tail distribution probe",
    "question": "Does splitting a short chain fail as such?",
    "kernel": "chain7.cu",
    "ratio": "difference",
    "roles": [
        {
            "name": name,
            "reference": None
            if name.startswith("dependent")
            else "dependent_fma_8"
            if "_8_" in name
            else "dependent_fma_7",
            "intent": {"opcode": "FFMA", "chains": chains, "reduction": "each_iteration"},
        }
        for name, chains in zip(NOTE_2_PROGRESS, _NOTE_2_CHAINS, strict=True)
    ],
}

#: Deviations of ten repeats; their mean is 0.
NOISE = [-3.0, 2.0, 1.0, 0.0, -1.0, 4.0, -2.0, 0.0, 1.0, -2.0]


def configure(probes: Sequence[dict[str, Any]], **lab: Any) -> Configuration:
    """A checked configuration without files."""
    models = [Probe.model_validate(probe) for probe in probes]
    return Configuration(
        Lab.model_validate({**LAB, "probes": [m.name for m in models], **lab}), models
    )


class Run:
    """A run of a configuration below `root`: manifests in memory, raw results in files."""

    def __init__(self, root: Path, probes: Sequence[dict[str, Any]], **lab: Any) -> None:
        self.root = root
        self.configuration = configure(probes, **lab)
        self.plan: list[Chunk] = plan(self.configuration)
        self.evidence = Evidence()
        for chunk in self.plan:
            for variant in chunk.variants:
                self._build(variant)

    @property
    def probes(self) -> list[Probe]:
        return self.configuration.probes

    @property
    def launches(self) -> list[tuple[Variant, Launch]]:
        return list(launches(self.plan))

    def find(self, placement: str, dispatch: str = "none", role: str = "", **want: Any) -> Launch:
        """The first launch of this form."""
        for variant, launch in self.launches:
            if (variant.placement, variant.dispatch) != (placement, dispatch):
                continue
            if role and role not in variant.roles:
                continue
            merged = {**variant.model_dump(), **launch.model_dump()}
            if all(merged[key] == value for key, value in want.items()):
                return launch
        raise LookupError((placement, dispatch, role, want))

    def variant(self, launch: Launch) -> Variant:
        return next(variant for variant, other in self.launches if other.id == launch.id)

    def _build(self, variant: Variant) -> None:
        self.evidence.build[variant.id] = BuildRow(
            id=variant.id,
            status="ok",
            symbol=variant.symbol,
            kernel_digest="k" + variant.id[-12:],
            source_digest="s" * 64,
            arch=variant.arch,
            nvcc_version="13.2.86",
            flags=variant.flags,
            registers=24,
        )
        place = f"sass/{variant.id}"
        self.evidence.sass[variant.id] = SassRow(
            id=variant.id,
            status="ok",
            listing=f"{place}.sass",
            matches=f"{place}.matches.txt",
            disassembler_version="13.2.86",
            instructions=96,
        )
        intents = {role.name: role.intent for probe in self.probes for role in probe.roles}
        roles = []
        for role in variant.roles:
            intent = intents[role]
            if intent is None:
                roles.append(RoleShape(role=role, status="not checked", findings=["no intent"]))
                continue
            roles.append(
                RoleShape(
                    role=role,
                    status="ok",
                    opcodes={intent.opcode: intent.count, "MOV": 1, "BRA": 1},
                    chains=intent.chains,
                    accumulators=[[f"R{7 + i}"] for i in range(intent.accumulators)],
                    dispatch=variant.roles.index(role) * 2 if variant.dispatch == "in_loop" else 0,
                    instructions=intent.count + 12,
                    stall_sum=4 * intent.count + 38,
                    description=f"{intent.opcode} chains of {intent.chains}",
                    excerpt=[
                        f"[B------:R-:W-:-:S04] {intent.opcode} R7, R7, R0, R3 ;",
                        "[B------:R-:W-:-:S05] BRA 0x100 ;",
                    ],
                )
            )
        self.evidence.shape[variant.id] = ShapeRow(id=variant.id, status="ok", roles=roles)

    def predict(
        self,
        cycles: Callable[[Variant, Launch, str], float],
        assumptions: Sequence[str] = (),
        terms: Callable[[Variant, str], dict[str, float]] = lambda *_: {},
    ) -> None:
        """Predict what is alone on its sub-core; the rest has its alone figure and a reason."""
        for variant, launch in self.launches:
            shared = launch.warps_per_sub_core > 1
            mixed = variant.placement == "coresident"
            reason = (
                "coresident roles are not modelled"
                if mixed
                else f"{launch.warps_per_sub_core:g} warps share a sub-core"
                if shared
                else ""
            )
            warps = [
                WarpPrediction(
                    warp_slot=slot,
                    role=variant.roles[index],
                    cycles_per_iteration=None
                    if reason
                    else cycles(variant, launch, variant.roles[index]),
                    alone_cycles_per_iteration=cycles(variant, launch, variant.roles[index]),
                    reason=reason,
                    terms=terms(variant, variant.roles[index]),
                    assumptions=list(assumptions),
                )
                for slot, index in enumerate(launch.role_map)
            ]
            self.evidence.predict[launch.id] = PredictRow(
                id=launch.id,
                variant=variant.id,
                status="not predicted" if reason else "ok",
                reason=reason,
                warps=warps,
            )

    def time(
        self,
        progress: Progress,
        backend: str = "pycuda",
        only: Callable[[Variant, Launch], bool] = lambda *_: True,
        **repeat: Any,
    ) -> None:
        """Write raw results of the launches that `only` takes, as `backend`."""
        for variant, launch in self.launches:
            if only(variant, launch):
                self.write(self.raw(variant, launch, progress, backend, **repeat))

    def raw(
        self,
        variant: Variant,
        launch: Launch,
        progress: Progress,
        backend: str = "pycuda",
        spread: float = 0.0,
    ) -> RawResult:
        """The raw result of a launch; warps of a role lie `spread` iterations apart."""
        measured = backend != "model"
        count = self.configuration.lab.repeats if measured else 1
        repeats = []
        for index in range(count):
            warps = []
            for block in range(launch.blocks):
                for slot, role_index in enumerate(launch.role_map):
                    role = variant.roles[role_index]
                    own = [s for s, r in enumerate(launch.role_map) if r == role_index]
                    offset = (own.index(slot) - (len(own) - 1) / 2) * spread
                    warps.append(
                        WarpResult(
                            block=block,
                            warp_slot=slot,
                            role=role,
                            sm_id=0 if measured else None,
                            progress=progress(variant, launch, role, index) + offset,
                            cycles=float(launch.clock_budget_cycles),
                            sink=1.0 if measured else None,
                            sink_status="ok" if measured else "not checked",
                        )
                    )
            repeats.append(
                Repeat(
                    index=index,
                    order=(index * 7) % count,
                    sm_clock_mhz=1980 if measured else None,
                    started_at="2026-11-30T12:00:00Z" if measured else "",
                    warps=warps,
                )
            )
        return RawResult(
            backend=backend,
            launch=launch,
            variant=variant,
            kernel_digest=self.evidence.build[variant.id].kernel_digest,
            source_digest="s" * 64,
            toolchain=TOOLCHAIN,
            harness_version=1,
            device=DEVICE if measured else None,
            measured_at="2026-11-30T12:00:00Z" if measured else "",
            recording="h200-2026-11-30" if backend == "recorded" else "",
            model_reason="" if measured else "sum of stall fields",
            repeats=repeats,
        )

    def write(self, raw: RawResult) -> Path:
        """Write a raw result and the timing row that names it."""
        place = f"timing/{raw.launch.id}.json"
        path = self.root / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(raw.model_dump_json(), encoding="utf-8")
        self.evidence.timing[raw.launch.id] = TimingRow(
            id=raw.launch.id,
            variant=raw.variant.id,
            status="ok",
            backend=raw.backend,
            raw=place,
        )
        return path

    def untimed(self, status: str = "not predicted", reason: str = "") -> None:
        """A timing row of `status` for each launch that has none yet."""
        for variant, launch in self.launches:
            if launch.id not in self.evidence.timing:
                why = reason or self.evidence.predict[launch.id].reason
                self.evidence.timing[launch.id] = TimingRow.model_validate(
                    {"id": launch.id, "variant": variant.id, "status": status, "reason": why}
                )


def from_table(values: dict[str, float], noise: Iterable[float] = (0.0,)) -> Progress:
    """Progress by role, plus `noise` by repeat."""
    by_repeat = list(noise)
    return lambda _variant, _launch, role, repeat: values[role] + by_repeat[repeat % len(by_repeat)]
