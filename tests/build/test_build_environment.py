"""What else than files and flags changes what nvcc makes."""

from pathlib import Path

import pytest

from probelab.build.station import Bench, build_chunk
from probelab.schema.plan import Chunk, Variant
from probelab.store import Store
from probelab.toolchain import Toolchain

ROOT = Path(__file__).parents[2]


def test_flags_from_the_environment_are_another_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    variant = Variant.make(
        probe="arithmetic_dependency",
        kernel="arithmetic_dependency.cu",
        arch="sm_86",
        flags=[],
        defines={},
        roles=["independent_fma"],
        placement="isolated",
        dispatch="none",
    )
    chunk = Chunk(id="c.sm_86.b", probe="c", arch="sm_86", variants=[variant], launches=[])
    bench = Bench(ROOT / "kernels", Toolchain.find(), tmp_path / "results", Store(tmp_path / "s"))
    plain = build_chunk(chunk, bench).rows[0]
    monkeypatch.setenv("NVCC_APPEND_FLAGS", "-use_fast_math")
    fast = build_chunk(chunk, bench).rows[0]
    # FFMA against FFMA.FTZ.
    assert plain.status == fast.status == "ok"
    assert plain.kernel_digest != fast.kernel_digest
    monkeypatch.delenv("NVCC_APPEND_FLAGS")
    assert build_chunk(chunk, bench).rows[0].kernel_digest == plain.kernel_digest
