"""The exported rule: the same answers in JSON, Python and C++, and in machine code."""

import itertools
import subprocess
from pathlib import Path

import pytest

from probelab.codegen.export import RuleBook, accumulators
from probelab.codegen.station import write_codegen
from probelab.codegen.tables import Files
from probelab.errors import DataError, ProbelabError
from probelab.sass import parse_listing
from probelab.schema.intent import Intent
from probelab.shape import check
from probelab.toolchain import Toolchain, host_compiler
from tests.codegen.loops import DATA, datasets, evidence, points

LONGEST = 200
OPS, WARPS = ("fma", "add"), (1, 2, 4, 8)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    folder = tmp_path_factory.mktemp("codegen")
    made = Files.below(folder / "results")
    write_codegen(*datasets(folder), evidence(), points(), made)
    return made


def compiled(source: str, files: Files, folder: Path, *flags: str) -> subprocess.CompletedProcess:
    path = folder / "main.cpp"
    path.write_text(source)
    command = [host_compiler(), "-std=c++17", "-Wall", "-Wextra", "-Werror", "-pedantic", *flags]
    return subprocess.run(
        [*command, f"-I{files.header.parent}", str(path), "-o", str(folder / "main")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_equal_input_gives_equal_bytes(files: Files, tmp_path: Path) -> None:
    again = Files.below(tmp_path / "results")
    write_codegen(*datasets(tmp_path), evidence(), points(), again)
    for name in ("points", "terms", "regrets", "verdicts", "rule", "header"):
        assert getattr(again, name).read_bytes() == getattr(files, name).read_bytes(), name


def test_the_rule_names_what_it_rests_on(files: Files) -> None:
    book = RuleBook.read(files.rule)
    assert len(book.rules) == len(OPS) * len(WARPS)
    known = book.rules[0].provenance
    assert (known.source, known.backends, known.devices) == (
        "measured", ["recorded"], ["NVIDIA H200"],
    )  # fmt: skip
    assert known.measured_at == ["2026-11-30T21:25:00Z"] * 2
    assert len(known.data) == 64
    assert len({one.provenance.data for one in book.rules}) == len(book.rules)


def test_the_python_function(files: Files) -> None:
    assert [accumulators(length, file=files.rule) for length in (1, 2, 6, 7, 64, 1000)] == [
        1, 2, 3, 4, 4, 4,
    ]  # fmt: skip
    assert accumulators(12, op="add", warps_per_sub_core=8, arch="sm_90", file=files.rule) == 1
    with pytest.raises(DataError, match="no rule for mul"):
        accumulators(8, op="mul", file=files.rule)
    with pytest.raises(DataError, match=r"no rule for fma.*3 warps"):
        accumulators(8, warps_per_sub_core=3, file=files.rule)
    with pytest.raises(DataError, match="a chain of 0"):
        accumulators(0, file=files.rule)
    with pytest.raises(DataError, match="there is no rule here"):
        accumulators(8, file=files.rule.with_name("other.json"))


def test_c_plus_plus_gives_the_same_answers(files: Files, tmp_path: Path) -> None:
    body = "\n".join(
        f'for (int n = 1; n <= {LONGEST}; ++n) std::printf("%d ", '
        f"probelab::accumulators(n, probelab::Op::{op}, probelab::Reduction::none, {warps}, 90));"
        for op, warps in itertools.product(OPS, WARPS)
    )
    source = (
        '#include "probelab_accumulators.hpp"\n#include <cstdio>\n'
        "static_assert(probelab::accumulators(29) == 4);\n"
        f"int main() {{ {body} }}\n"
    )
    done = compiled(source, files, tmp_path)
    assert done.returncode == 0, done.stderr
    said = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True).stdout
    assert [int(number) for number in said.split()] == [
        accumulators(length, op=op, warps_per_sub_core=warps, arch="sm_90", file=files.rule)
        for op, warps in itertools.product(OPS, WARPS)
        for length in range(1, LONGEST + 1)
    ]


@pytest.mark.parametrize(
    "call",
    ["0", "8, probelab::Op::mul", "8, probelab::Op::fma, probelab::Reduction::none, 3"],
)
def test_a_question_without_a_rule_does_not_compile(
    call: str, files: Files, tmp_path: Path
) -> None:
    source = (
        f'#include "probelab_accumulators.hpp"\nconstexpr int n = probelab::accumulators({call});\n'
    )
    done = compiled(source, files, tmp_path, "-c")
    assert done.returncode != 0
    assert "no_rule_for_these_settings" in done.stderr


def test_two_files_may_include_it(files: Files, tmp_path: Path) -> None:
    (tmp_path / "other.cpp").write_text('#include "probelab_accumulators.hpp"\n')
    source = '#include "probelab_accumulators.hpp"\n' * 2 + "int main() {}\n"
    done = compiled(source, files, tmp_path, str(tmp_path / "other.cpp"))
    assert done.returncode == 0, done.stderr


def test_without_a_sweep_everything_is_empty(tmp_path: Path) -> None:
    made = Files.below(tmp_path / "results")
    write_codegen(*datasets(tmp_path), evidence(), {}, made)
    assert RuleBook.read(made.rule).rules == []
    done = compiled('#include "probelab_accumulators.hpp"\nint main() {}\n', made, tmp_path)
    assert done.returncode == 0, done.stderr


def test_a_kernel_takes_its_accumulators_from_the_header(files: Files, tmp_path: Path) -> None:
    """The machine code has the number of chains that the rule says, in the lengths that follow."""
    try:
        toolchain = Toolchain.find()
    except ProbelabError as error:
        pytest.skip(str(error))
    wanted = list(itertools.product((1, 2, 5, 7, 29, 64), (1, 2, 8)))
    source = (DATA / "through_header.cu").read_text()
    source += "\n".join(f"KERNEL({length}, {warps})" for length, warps in wanted)
    (tmp_path / "kernel.cu").write_text(source)
    arguments = [
        "-cubin", "-std=c++17", "-arch=sm_90", f"-I{files.header.parent}",
        str(tmp_path / "kernel.cu"), "-o", str(tmp_path / "kernel.cubin"),
    ]  # fmt: skip
    done = toolchain.run("nvcc", arguments)
    assert done.returncode == 0, done.stderr
    listing = toolchain.run("cuobjdump", ["--dump-sass", str(tmp_path / "kernel.cubin")]).stdout
    kernels = {kernel.name: kernel for kernel in parse_listing(listing)}
    seen = set()
    for length, warps in wanted:
        count = accumulators(
            length, op="fma", warps_per_sub_core=warps, arch="sm_90", file=files.rule
        )
        even, rest = divmod(length, count)
        chains = [even + (slot < rest) for slot in range(count)]
        name = f"fma_{length}_at_{warps}"
        intent = Intent(opcode="FFMA", chains=chains, reduction="none")
        row = check(kernels[name], [name], "isolated", "none", {name: intent})
        assert row.status == "ok", row.reason
        assert len(row.roles[0].accumulators) == count
        seen.add(count)
    assert len(seen) > 3
