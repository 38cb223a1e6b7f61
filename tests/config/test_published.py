"""The published figures: as printed, of roles that exist, and arithmetically right."""

import csv
from pathlib import Path

import pytest

from probelab.config.load import load, read_yaml

COLUMNS = [
    "role",
    "progress",
    "ratio_percent",
    "ratio_difference_percent",
    "reference",
    "note",
]


def table(root: Path, name: str) -> dict[str, dict[str, str]]:
    with (root / "data" / "published" / name).open(encoding="utf-8", newline="") as stream:
        reader = csv.DictReader(stream)
        rows = {row["role"]: row for row in reader}
        assert reader.fieldnames == COLUMNS
    return rows


def ratio(rows: dict[str, dict[str, str]], role: str) -> float:
    """Progress against the reference role, in %."""
    reference = rows[role]["reference"]
    return 100 * float(rows[role]["progress"]) / float(rows[reference]["progress"])


@pytest.mark.parametrize("name", ["arithmetic_dependency", "chain7_tail_distribution"])
def test_roles_and_references_are_the_probes(root: Path, name: str):
    settings = read_yaml(root / "config" / "config.yaml")
    (probe,) = load({**settings, "probes": [name]}, root).probes
    assert probe.published is not None
    rows = table(root, probe.published.file)
    assert list(rows) == probe.role_names
    for role in probe.roles:
        printed = rows[role.name]["reference"]
        assert printed in (role.reference or "", role.name if role.reference is None else "")


def test_first_note(root: Path):
    rows = table(root, "arithmetic_dependency.csv")
    progress = {role: int(row["progress"]) for role, row in rows.items()}
    assert progress == {
        "independent_fma": 56_459,
        "independent_add": 56_458,
        "dependent_fma_chain": 52_929,
        "dependent_add_chain": 49_401,
    }
    assert ratio(rows, "dependent_fma_chain") == pytest.approx(93.748, abs=0.0005)
    assert ratio(rows, "dependent_add_chain") == pytest.approx(87.500, abs=0.0005)
    assert rows["dependent_fma_chain"]["ratio_percent"] == "93.75"
    assert rows["dependent_add_chain"]["ratio_percent"] == "87.5"


DIFFERENCES = {
    "independent_fma_7_2acc_4_3": ("57321.8", "7.28"),
    "independent_fma_7_3acc_3_2_2": ("54855.8", "2.66"),
    "independent_fma_7_4acc_tail_a3_missing": ("47372.1", "-11.34"),
    "independent_fma_7_4acc_tail_a0_missing": ("44225.5", "-17.23"),
    "independent_fma_7_7acc_once": ("40877.9", "-23.50"),
    "independent_fma_8_4acc_balanced": ("38119.3", "10.2"),
}


@pytest.mark.parametrize("role", DIFFERENCES)
def test_second_note(root: Path, role: str):
    rows = table(root, "chain7_tail_distribution.csv")
    progress, difference = DIFFERENCES[role]
    assert rows[role]["progress"] == progress
    assert rows[role]["ratio_difference_percent"] == difference
    digits = len(difference.partition(".")[2])
    assert round(ratio(rows, role) - 100, digits) == float(difference)


def test_second_note_references(root: Path):
    rows = table(root, "chain7_tail_distribution.csv")
    assert (rows["dependent_fma_7"]["progress"], rows["dependent_fma_8"]["progress"]) == (
        "53432.1",
        "34586.7",
    )
    assert rows["dependent_fma_7"]["ratio_percent"] == "100.0"


def test_what_the_second_note_leaves_ambiguous(root: Path):
    rows = table(root, "chain7_tail_distribution.csv")
    a3, a0, seven, eight, once, four = (
        float(rows[role]["progress"])
        for role in (
            "independent_fma_7_4acc_tail_a3_missing",
            "independent_fma_7_4acc_tail_a0_missing",
            "dependent_fma_7",
            "dependent_fma_8",
            "independent_fma_7_7acc_once",
            "independent_fma_8_4acc_balanced",
        )
    )
    # "About 6.6 %" between the tails is meant in % of the larger.
    assert 100 * (1 - a0 / a3) == pytest.approx(6.64, abs=0.005)
    assert 100 * (a3 / a0 - 1) == pytest.approx(7.11, abs=0.005)
    # "The worst" means among the seven-step roles.
    assert once > four > eight
    # One step more costs 102 cycles per iteration, which the note doesn't remark on.
    assert 1e7 / eight - 1e7 / seven == pytest.approx(102.0, abs=0.05)


def test_the_readme_names_each_table(root: Path):
    folder = root / "data" / "published"
    text = (folder / "README.md").read_text(encoding="utf-8")
    assert {path.name for path in folder.glob("*.csv")} == {
        line.removeprefix("## ") for line in text.splitlines() if line.endswith(".csv")
    }
    for column in COLUMNS:
        assert f"| `{column}` |" in text
