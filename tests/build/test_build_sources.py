"""Which files a kernel consists of, and when they are another kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

from probelab.build.sources import source_digest, source_files
from probelab.errors import DataError


@pytest.fixture
def kernels(tmp_path: Path) -> Path:
    folder = tmp_path / "project" / "kernels"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "x.h").write_text("int x;\n")
    (folder / "y.h").write_text("int y;\n")
    (tmp_path / "project" / "outside.h").write_text("int z;\n")
    return folder


def names(kernel: Path) -> list[str]:
    return [path.name for path in source_files(kernel)]


FORMS = {
    "quoted": '#include "sub/x.h"\n',
    "angled": "#include <sub/x.h>\n",
    "behind a byte order mark": '\ufeff#include "sub/x.h"\n',
    "through itself": '#include "sub/../sub/x.h"\n',
    "spaced": '\t # include\t"sub/x.h" // why\r\n',
    "no space": '#include"sub/x.h"\n',
    "comment between": '#/* a */include /* b */ "sub/x.h"\n',
    "comment before": '/* a\n*/ #include "sub/x.h"\n',
    "continued": '#include \\\n "sub/x.h"\n',
    "imported": '#import "sub/x.h"\n',
    "slashes in a string": 'const char* a = "/*";\n#include "sub/x.h"\nconst char* b = "*/";\n',
}


@pytest.mark.parametrize("form", FORMS)
def test_a_header_counts_however_it_is_included(kernels: Path, form: str) -> None:
    kernel = kernels / "k.cu"
    kernel.write_text(FORMS[form], encoding="utf-8")
    assert source_files(kernel) == [kernel, kernels / "sub" / "x.h"]
    before = source_digest(kernel)
    (kernels / "sub" / "x.h").write_text("int edited;\n")
    assert source_digest(kernel) != before


@pytest.mark.parametrize("text", ['// #include "y.h"\n', '/*\n#include "y.h"\n#include Y\n*/\n'])
def test_comments_include_nothing(kernels: Path, text: str) -> None:
    (kernels / "k.cu").write_text(text)
    assert names(kernels / "k.cu") == ["k.cu"]


def test_headers_are_followed_beside_their_includer_first(kernels: Path) -> None:
    (kernels / "sub" / "y.h").write_text("int another;\n")
    (kernels / "sub" / "x.h").write_text('#include "y.h"\n#include <y.h>\n#include <vector>\n')
    (kernels / "k.cu").write_text('#include "sub/x.h"\n')
    expected = [kernels / name for name in ("k.cu", "sub/x.h", "sub/y.h", "y.h")]
    assert source_files(kernels / "k.cu") == expected


def test_cycles_end(kernels: Path) -> None:
    (kernels / "k.cu").write_text('#include "sub/x.h"\n')
    (kernels / "sub" / "x.h").write_text('#include "../sub/x.h"\n#include "../k.cu"\n')
    assert names(kernels / "k.cu") == ["k.cu", "x.h"]


def test_what_lies_outside_counts_wherever_the_project_lies(kernels: Path, tmp_path: Path) -> None:
    (kernels / "k.cu").write_text('#include "../outside.h"\n')
    outside = kernels.parent / "outside.h"
    assert source_files(kernels / "k.cu") == [kernels / "k.cu", outside]
    before = source_digest(kernels / "k.cu")
    moved = kernels.parent.rename(tmp_path / "moved") / "kernels"
    assert source_digest(moved / "k.cu") == before
    (tmp_path / "moved" / "outside.h").write_text("int edited;\n")
    assert source_digest(moved / "k.cu") != before
    (moved / "k.cu").write_text(f"#include <{tmp_path / 'moved' / 'outside.h'}>\n")
    assert names(moved / "k.cu") == ["k.cu", "outside.h"]


def test_links_are_resolved_but_looked_from(kernels: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.cu"
    elsewhere.write_text('#include "y.h"\n')
    (kernels / "k.cu").symlink_to(elsewhere)
    (tmp_path / "way").symlink_to(kernels.parent)
    linked = tmp_path / "way" / "kernels" / "k.cu"
    assert source_files(linked) == [elsewhere, kernels / "y.h"]
    assert source_digest(linked) == source_digest(kernels / "k.cu")


def test_an_include_that_only_a_macro_names_is_one_clear_line(kernels: Path) -> None:
    (kernels / "sub" / "x.h").write_text("#define H <y.h>\n#include H\n")
    (kernels / "k.cu").write_text('#include "sub/x.h"\n')
    with pytest.raises(DataError) as caught:
        source_files(kernels / "k.cu")
    assert str(caught.value) == "x.h: #include H can't be tracked: name the file in it"


def test_a_missing_kernel_and_an_impossible_name(kernels: Path) -> None:
    with pytest.raises(DataError, match="can't be read"):
        source_files(kernels / "none.cu")
    (kernels / "k.cu").write_text(f'#include "{"x" * 5000}"\n#include "a\0b"\n#include "sub"\n')
    assert names(kernels / "k.cu") == ["k.cu"]
