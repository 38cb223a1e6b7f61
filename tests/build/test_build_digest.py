"""What is another kernel, and what is the same."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import yaml

from probelab.build.cubin import KernelImage, read_kernels
from probelab.build.unit import compile_unit
from probelab.config.load import load
from probelab.errors import DataError
from probelab.plan import plan
from probelab.toolchain import Toolchain
from tests.sass.sass_support import REPOSITORY, Compile

KERNEL = """
%s
extern "C" __global__ void k(float* out) { out[threadIdx.x] = %s; }
"""


def images(compile_cuda: Compile, source: str, arch: int, *flags: str) -> list[KernelImage]:
    return read_kernels(compile_cuda(source, arch, *flags).cubin)


DATA = {
    "a constant": ("__constant__ float a = %s;", "a", ("1.5f", "2.5f")),
    "a constant that only this file sees": (
        "namespace { __constant__ float a[2] = {0, %s}; }",
        "a[threadIdx.x & 1]",
        ("1.5f", "2.5f"),
    ),
    "a variable": ("__device__ float a = %s;", "a", ("1.5f", "2.5f")),
    "its size": ("__device__ float a[%s];", "atomicAdd(a + threadIdx.x % 2, 1)", ("8", "16")),
    "its address": (
        "__device__ float a[4], b[4]; __device__ float* p = %s;",
        "*p + a[threadIdx.x] + b[threadIdx.x]",
        ("a + 1", "b + 1"),
    ),
}


@pytest.mark.parametrize(("case", "arch"), [*((case, 90) for case in DATA), ("its address", 86)])
def test_data_of_the_module_belong_to_the_kernel(
    compile_cuda: Compile, case: str, arch: int
) -> None:
    declaration, value, choices = DATA[case]
    (one,), (other,) = (
        images(compile_cuda, KERNEL % (declaration % choice, value), arch) for choice in choices
    )
    assert one.module_data and other.module_data
    assert one.text_bytes == other.text_bytes
    assert one.digest != other.digest


def test_data_do_not_bring_the_files_path_into_the_digest(compile_cuda: Compile) -> None:
    source = KERNEL % ("namespace { __constant__ float a = 1.5f; __device__ float b; }", "a + b")
    # Another comment is another file to nvcc, which names what is private to a file after it.
    (one,), (other,) = (images(compile_cuda, source + end, 90) for end in ("", "// more\n"))
    assert one.digest == other.digest


def test_functions_of_their_own_belong_to_the_kernel(compile_cuda: Compile) -> None:
    source = KERNEL % ("__device__ __noinline__ float f(float x) { return x * %s; }", "f(out[0])")
    one, other = (
        images(compile_cuda, source % factor, 90, "-rdc=true") for factor in ("3.0f", "5.0f")
    )
    # The function is no kernel.
    assert [image.symbol for image in (*one, *other)] == ["k", "k"]
    assert one[0].digest != other[0].digest


def test_the_name_and_other_kernels_do_not_count(compile_cuda: Compile) -> None:
    source = KERNEL % ("", "threadIdx.x")
    (alone,) = images(compile_cuda, source, 90)
    both = images(compile_cuda, source + source.replace(" k(", " another(").replace("x;", "y;"), 90)
    renamed = images(compile_cuda, source.replace(" k(", " renamed("), 90)
    assert alone.digest in {image.digest for image in both if image.symbol == "k"}
    assert [image.digest for image in renamed] == [alone.digest]
    assert not alone.module_data


def test_every_default_kernel_is_among_the_recorded_ones(
    toolchain: Toolchain, tmp_path: Path
) -> None:
    """A digest that changes its meaning would void the recordings."""
    settings = yaml.safe_load((REPOSITORY / "config" / "config.yaml").read_text())
    configuration = load(settings | {"architectures": ["sm_90"]}, REPOSITORY)
    recorded: set[str] = set()
    for recording in (REPOSITORY / "data" / "recordings").glob("*.parquet"):
        recorded |= set(pd.read_parquet(recording, columns=["kernel_digest"])["kernel_digest"])
    found: set[str] = set()
    by_kernel: dict[str, list] = {}
    for chunk in plan(configuration):
        for variant in chunk.variants:
            by_kernel.setdefault(variant.kernel, []).append(variant)
    assert sum(map(len, by_kernel.values())) == 86
    for name, variants in by_kernel.items():
        folder = tmp_path / name
        folder.mkdir()
        cubin, _ = compile_unit(variants, REPOSITORY / "kernels", toolchain, folder)
        found |= {image.digest for image in read_kernels(cubin)}
    assert found <= recorded


def test_what_is_no_cubin_is_one_clear_line(tmp_path: Path, toolchain: Toolchain) -> None:
    path = tmp_path / "file"
    path.write_text("PTX")
    with pytest.raises(DataError, match="not a readable cubin"):
        read_kernels(path)
    with pytest.raises(DataError, match="no machine code for a GPU"):
        read_kernels(toolchain.tool("nvdisasm"))
    with pytest.raises(DataError, match="not a readable cubin"):
        read_kernels(tmp_path / "none")
