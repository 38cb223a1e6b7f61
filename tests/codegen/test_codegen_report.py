"""The section of a sweep: text, tables and charts from the station's datasets."""

import json
from pathlib import Path

import pytest

from probelab.codegen.station import write_codegen
from probelab.codegen.tables import Files
from probelab.config.sweeps import Sweep
from probelab.report.render import write_figures
from probelab.report.station import _environment
from probelab.report.sweeps import sweep_section
from probelab.report.sweeps_data import SweepData, read_sweeps
from tests.codegen.loops import SWEEP, datasets, evidence, points

AXES = {"op": ["fma", "add"], "length": ["1..64"], "accumulators": ["1..8"]}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> SweepData:
    folder = tmp_path_factory.mktemp("codegen")
    write_codegen(*datasets(folder), evidence(), points(), Files.below(folder / "results"))
    return read_sweeps(folder / "results", {SWEEP: 155})[SWEEP]


@pytest.fixture(scope="module")
def sweep() -> Sweep:
    return Sweep(name=SWEEP, title="Loops", question="How many?", axes=AXES)


def text(data: SweepData, sweep: Sweep) -> str:
    section, _ = sweep_section(sweep, data)
    template = _environment().get_template("sweep.md.j2")
    return template.render(section=section, charts="charts")


def test_every_figure_has_its_source_and_occupation(data: SweepData, sweep: Sweep) -> None:
    said = text(data, sweep)
    assert "measured on NVIDIA H200 (sm_90), 1 warp per sub-core: 155 of 155 points" in said
    assert "measured on NVIDIA H200 (sm_90), 8 warps per sub-core" in said
    assert "predicted" not in said.replace("predicted_", "")


def test_both_models_stand_in_one_table(data: SweepData, sweep: Sweep) -> None:
    section, _ = sweep_section(sweep, data)
    rows = [line for line in section["models"].splitlines() if "H200" in line]
    assert len(rows) == 8
    assert sum("number_of_ops alone" in row for row in rows) == 4


def test_rule_regret_and_verdicts(data: SweepData, sweep: Sweep) -> None:
    section, _ = sweep_section(sweep, data)
    assert "1: 1; 2: 2; 3–6: 3; 7–64: 4" in section["rules"]
    assert "always 4" in section["regrets"]
    assert "At chain 29 four accumulators are far ahead. (second note, 13)" in section["verdicts"]
    assert any("hold wherever they could be tested" in line for line in section["headline"])


def test_the_charts(data: SweepData, sweep: Sweep, tmp_path: Path) -> None:
    _, figures = sweep_section(sweep, data)
    assert [figure.name for figure in figures] == [
        "loops_heat_map", "loops_knee", "loops_regret", "loops_cost_model",
    ]  # fmt: skip
    write_figures(figures, tmp_path)
    first = (tmp_path / "loops_heat_map.svg").read_bytes()
    drawn = json.loads((tmp_path / "loops_heat_map.vl.json").read_text())
    assert "measured on NVIDIA H200" in json.dumps(drawn)
    write_figures(figures, tmp_path)
    assert (tmp_path / "loops_heat_map.svg").read_bytes() == first


def test_a_sweep_without_figures_says_so(sweep: Sweep) -> None:
    empty = SweepData(SWEEP, 155, [], [], [], [], [])
    assert "None of the 155 points of this sweep has a figure." in text(empty, sweep)
    assert sweep_section(sweep, empty)[1] == []
