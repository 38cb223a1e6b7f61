"""How figures are printed."""

import pytest

from probelab.report import naming
from probelab.report.markdown import MOST_ROWS, first_line, table


def test_ratios_in_the_form_of_each_note() -> None:
    assert naming.ratio(52929 / 56459, "percent") == "93.75 %"
    assert naming.ratio(49401 / 56458, "percent") == "87.50 %"
    assert naming.ratio(57321.8 / 53432.1, "difference") == "+7.28 %"
    assert naming.ratio(47372.1 / 53432.1, "difference") == "-11.34 %"
    assert naming.ratio(None, "percent") == ""
    assert naming.ratio_interval(0.9374, 0.9376, "percent") == "[93.74, 93.76]"
    assert naming.ratio_interval(1.07, 1.08, "difference") == "[+7.00, +8.00]"


def test_a_difference_that_rounds_to_nothing_has_no_minus() -> None:
    assert naming.percent(-0.001) == "+0.00 %"


@pytest.mark.parametrize(
    ("value", "text"), [(66.0, "66"), (57.5, "57.5"), (187.148, "187.15"), (1200.0, "1,200")]
)
def test_cycles(value: float, text: str) -> None:
    assert naming.cycles(value) == text


def test_ranges_run_over_the_lengths_there_are() -> None:
    assert naming.ranges([1, 2, 4, 7, 8, 16], [1, 2, 3, 4, 7, 8, 16]) == "1–2, 4–16"
    assert naming.ranges([], [1]) == ""


def test_sources_are_named_by_backend() -> None:
    row = {"arch": "sm_86", "device": ""}
    assert naming.source_label({**row, "backend": "model"}) == "predicted from SASS (sm_86)"
    assert naming.source_label({**row, "backend": ""}) == ""
    for backend in ("pycuda", "recorded"):
        measured = {"arch": "sm_90", "device": "NVIDIA H200", "backend": backend}
        assert naming.source_label(measured) == "measured on NVIDIA H200 (sm_90)"


def test_a_table_drops_empty_columns_and_escapes_bars() -> None:
    text = table(["a", "b", "c"], [["x|y", "", "1"], ["z", " ", "22"]], right=(2,))
    assert text.splitlines() == [
        r"| a    |   c |",
        r"| ---- | --: |",
        r"| x\|y |   1 |",
        r"| z    |  22 |",
    ]
    assert table(["a"], []) == ""


def test_a_table_of_very_many_rows_is_cut() -> None:
    lines = table(["a", "b"], [[str(n), "x"] for n in range(MOST_ROWS + 1200)]).splitlines()
    assert len(lines) == 2 + MOST_ROWS + 1
    assert lines[-1].startswith("| … 1,200 more rows; summary.parquet has all |")


def test_a_first_line_is_short() -> None:
    assert first_line("\n  one \ntwo") == "one"
    assert len(first_line("x" * 1000)) == 300
