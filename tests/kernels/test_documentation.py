"""The examples in docs/kernels.md compile and do what the page says."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.kernels import kernel_listing
from tests.kernels.conftest import KERNELS, Unit, Variant

PAGE = KERNELS.parent / "docs" / "kernels.md"
EXAMPLES = re.findall(r"```cuda\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)


@pytest.fixture
def example(tmp_path: Path) -> Callable[[int], str]:
    def example(index: int) -> str:
        (tmp_path / "probe.cuh").symlink_to(KERNELS / "probe.cuh")
        source = tmp_path / "example.cu"
        source.write_text(EXAMPLES[index], encoding="utf-8")
        return str(source)

    return example


def test_the_probe(example: Callable[[int], str], build: Callable[..., Unit]) -> None:
    roles = {"one_chain_of_12": [12], "two_chains_of_6": [6, 6]}
    variants = tuple(Variant(f"k_{role}", (role,)) for role in roles)
    coresident = tuple(Variant(f"k_{d}", tuple(roles), d) for d in ("IN_LOOP", "HOISTED"))
    kernels = build(example(0), variants + coresident, 90).kernels
    for role, lengths in roles.items():
        (loop,) = kernel_listing.timed_loops(kernels[f"k_{role}"])
        assert kernel_listing.chains(loop, "FFMA") == lengths


def test_the_kernel_without_macros(
    example: Callable[[int], str], build: Callable[..., Unit]
) -> None:
    built = build(example(1), (Variant("k", ("mine",)),), 90, by_command_line=True)
    (loop,) = kernel_listing.timed_loops(built.kernels["k"])
    assert kernel_listing.arithmetic(loop) == {"FFMA": 1}


@pytest.mark.parametrize(
    ("variant", "reason"),
    [
        (Variant("k", ("dependent_fma_7", "dependent_fma_8")), "several roles need PROBE_DISPATCH"),
        (Variant("k", ("dependent_fma_7",), "HOISTED"), "a choice needs two roles"),
    ],
)
def test_a_wrong_setting_is_named(
    build: Callable[..., Unit], variant: Variant, reason: str
) -> None:
    with pytest.raises(AssertionError, match=reason):
        build("irregular_fma_shape.cu", (variant,), 86)
