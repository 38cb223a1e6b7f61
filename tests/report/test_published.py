"""Published figures: the notes' tables, and one line for each kind of damage."""

from pathlib import Path

import pytest

from probelab.config.models import Probe
from probelab.errors import DataError
from probelab.report.published import read_published
from tests.aggregate.synthetic import NOTE_1

HEADER = "role,progress,ratio_percent,ratio_difference_percent,reference,note\n"
PROBE = Probe.model_validate(
    {**NOTE_1, "published": {"file": "one.csv", "title": "One", "source": "first note"}}
)


def read(folder: Path, text: str):
    (folder / "one.csv").write_text(text, encoding="utf-8")
    return read_published(folder, PROBE)


def test_both_forms_of_a_ratio(tmp_path: Path) -> None:
    first, second, third = read(
        tmp_path,
        HEADER
        + "independent_fma,56459,,,,the reference\n"
        + "dependent_fma_chain,52929,93.75,,independent_fma,\n"
        + "\n"
        + "dependent_add_chain,,,-12.5,independent_add,\n",
    )
    assert (first.progress, first.ratio, first.note) == (56459, None, "the reference")
    assert (second.ratio, second.reference) == (0.9375, "independent_fma")
    assert (third.progress, third.ratio) == (None, 0.875)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("role,progress\n", "one.csv, line 1: the columns are role, progress"),
        ("", "one.csv, line 1: the columns are missing"),
        (HEADER + "nobody,1,,,,\n", "one.csv, line 2: role: 'nobody' is no role of arithmetic"),
        (HEADER + "independent_fma,many,,,,\n", "line 2: progress: 'many' is not a number"),
        (HEADER + "independent_fma,nan,,,,\n", "line 2: progress: 'nan' is not a number"),
        (HEADER + "independent_fma,1,2,3,,\n", "line 2: give ratio_percent or"),
        (HEADER + "independent_fma,1\n", "line 2: 2 cells, not 6"),
        (HEADER + "independent_fma,1,,,x,\n", "line 2: reference: 'x' is no role"),
        (
            HEADER + "independent_fma,1,,,,\n" * 2,
            "line 3: role 'independent_fma' stands there twice",
        ),
        (HEADER + '"independent_fma,1,,,,\n', "not CSV"),
    ],
)
def test_a_bad_row_is_named_by_file_and_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError) as error:
        read(tmp_path, text)
    assert message in str(error.value)


def test_a_missing_file_and_no_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"one\.csv: can't read the published figures"):
        read_published(tmp_path, PROBE)
    (tmp_path / "one.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match="not UTF-8"):
        read_published(tmp_path, PROBE)
    assert read_published(tmp_path, Probe.model_validate(NOTE_1)) == []
