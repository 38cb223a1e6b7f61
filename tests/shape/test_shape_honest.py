"""Kernels of nvcc's making whose loops hold more, or less, than two dependent FFMA."""

from __future__ import annotations

import pytest

from probelab.sass import parse_listing
from probelab.schema.intent import Intent
from probelab.schema.manifests import ShapeRow
from probelab.shape import check
from tests.sass.sass_support import Compile

INTENT = Intent(opcode="FFMA", chains=[2], setup="allowed")
STEPS = "x = __fmaf_rn(x, f, f); x = __fmaf_rn(x, f, f);"
DEADLINE = "static_cast<unsigned long long>(clock64()) < deadline"

TEXT = """
struct ProbeRecord { unsigned long long progress, cycles; float sink; unsigned role, warp_slot,
                     block, sm_id, reserved; };
extern "C" __global__ void NAME(ProbeRecord* records, unsigned long long budget, float seed) {
    __shared__ volatile float s[32];
    s[threadIdx.x % 32] = seed;
    __syncthreads();
    const float f = __fmaf_rn(threadIdx.x + 1, 0x1p-23f, 1.0f);
    float x = threadIdx.x * seed, last = x;
    unsigned n = threadIdx.x + (unsigned)budget;
    COUNTER progress = 0;
    AROUND {
    const unsigned long long start = clock64(), deadline = start + budget;
#pragma unroll 1
    while (CONDITION) { BODY; INCREMENT; }
    const unsigned long long end = clock64();
    if (threadIdx.x % 32 == 0)
        records[n] = {progress, end - start, x, (unsigned)last, 0, 0, 0, 0};
    }
}
"""

OK: dict[str, dict[str, str]] = {
    "plain": {},
    "counter_of_64_bits": {"COUNTER": "unsigned long long"},
    "difference": {"CONDITION": "clock64() - start < budget", "COUNTER": "unsigned long long"},
    "short_clock": {"CONDITION": "clock() - (unsigned)start < (unsigned)budget"},
    "bounded": {"CONDITION": f"{DEADLINE} && progress < 1000000"},
}

BROKEN: dict[str, tuple[dict[str, str], str]] = {
    "integer_chain": (
        {"BODY": STEPS + 'asm volatile("mad.lo.u32 %0, %0, %0, %1;" : "+r"(n) : "r"(n));' * 20},
        "of use to neither body nor loop: 20 IMAD",
    ),
    "second_counter": ({"BODY": STEPS + "n += threadIdx.x"}, "neither body nor loop: 1 I"),
    "by_two": ({"INCREMENT": "progress += 2"}, "the counter goes up by 2 in each iteration"),
    "around": (
        {"AROUND": "for (unsigned i = 0; i < (unsigned)budget; ++i, ++n)"},
        "the timed loop lies inside another loop",
    ),
    "store": ({"BODY": STEPS + "records[9].sink = x"}, "neither body nor loop: 1 STG"),
    "load": ({"BODY": STEPS.replace("f);", "s[3]);")}, "reads what LDS at"),
    "uses_counter": (
        {"BODY": STEPS.replace("f);", "__uint_as_float(progress));")},
        "nothing in the loop counts its iterations",
    ),
    "ends_by_value": (
        {"CONDITION": f"{DEADLINE} && x < 1e30f"},
        "comparison of the clock: 1 FSETP",
    ),
    "ends_by_memory": ({"CONDITION": f"{DEADLINE} && s[n % 32] < 1"}, "comparison of the clock: "),
    "ends_by_count": (
        {"CONDITION": "progress < 1000000", "BODY": STEPS + "clock64()"},
        "",  # the clock read is dead, so that it isn't even a timed loop
    ),
    "second_clock": ({"BODY": STEPS + "n ^= (unsigned)clock64()"}, "found 2"),
    "copy": ({"BODY": "last = x;" + STEPS}, "of use to neither body nor loop: 1 "),
    "barrier": ({"BODY": STEPS + "__syncthreads()"}, "neither body nor loop: 1 BAR"),
    "warp_barrier": ({"BODY": STEPS + "__syncwarp()"}, "neither body nor loop: 1 NOP"),
    "one_folded": (
        {"BODY": "x = __fmaf_rn(x, f, f); float y = __fmaf_rn(f, f, seed)"},
        "expected 2 FFMA on the path, found 1",
    ),
}

#: Whether the steps are taken depends on something that isn't known.
NOT_CHECKED: dict[str, dict[str, str]] = {
    "condition": {"BODY": f"if (n & 1) {{ {STEPS} }}"},
    "condition_of_progress": {"BODY": f"if (progress & 1) {{ {STEPS} }}"},
    "sometimes_counted": {"INCREMENT": "progress += x > 3.0f"},
}


def source() -> str:
    parts = []
    cases = OK | {name: changes for name, (changes, _) in BROKEN.items()} | NOT_CHECKED
    for name, changes in cases.items():
        text = TEXT.replace("NAME", name)
        defaults = {
            "COUNTER": "unsigned",
            "AROUND": "",
            "CONDITION": DEADLINE,
            "BODY": STEPS,
            "INCREMENT": "++progress",
        }
        for word, default in defaults.items():
            text = text.replace(word, changes.get(word, default))
        parts.append(text.partition("};\n")[2])
    return TEXT.partition("};\n")[0] + "};\n" + "".join(parts)


@pytest.mark.parametrize("arch", [86, 90, 120])
def test_what_passes_and_what_does_not(compile_cuda: Compile, arch: int) -> None:
    listing = compile_cuda(source(), arch, "-w", "-use_fast_math").listing
    kernels = {kernel.name: kernel for kernel in parse_listing(listing)}

    def verdict(name: str) -> ShapeRow:
        return check(kernels[name], ["role"], "isolated", "none", {"role": INTENT})

    for name in OK:
        assert (verdict(name).status, verdict(name).reason) == ("ok", ""), name
    for name, (_, finding) in BROKEN.items():
        row = verdict(name)
        assert row.status == "broken", name
        assert finding in row.reason, (name, row.reason)
    for name in NOT_CHECKED:
        row = verdict(name)
        assert row.status == "not checked", name
        assert "it isn't known whether" in row.reason, (name, row.reason)
