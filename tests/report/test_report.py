"""The report as a whole, from synthetic runs."""

import json
import re
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from probelab.aggregate import aggregate
from probelab.analyse import analyse
from probelab.config.models import Probe
from probelab.errors import DataError
from probelab.report import ReportSummary, report
from probelab.report.data import sweep_of
from probelab.schema.manifests import BuildRow, TimingRow
from probelab.schema.plan import TimingSettings
from tests.aggregate.synthetic import (
    NOISE,
    NOTE_1,
    NOTE_1_PROGRESS,
    NOTE_2,
    NOTE_2_PROGRESS,
    Run,
    from_table,
)

PROGRESS = from_table({**NOTE_1_PROGRESS, **NOTE_2_PROGRESS}, NOISE)
SCOPE = {"placement": "coresident", "dispatch": "in_loop", "threads_per_block": 256}
WORDING = {
    "forbidden": ["FMA is faster than ADD"],
    "instead": "In this kernel shape, the ADD chain is the stricter one.",
    "source": "first note, 12",
}
PUBLISHED = {"file": "chain7.csv", "title": "The note's table", "source": "second note, 10.3"}

#: Dependent and four-accumulator chains, 40 roles: 38 + 4 cycles a step, or 46 + 1.
LENGTHS = range(1, 21)
SWEEP = {
    "name": "sweep",
    "title": "Sweep probe",
    "question": "From which length on?",
    "kernel": "sweep.cu",
    "ratio": "difference",
    "coresident": [
        ["dependent_fma_2", "independent_fma_2", "dependent_fma_20", "independent_fma_20"]
    ],
    "roles": [
        role
        for length in LENGTHS
        for role in (
            {"name": f"dependent_fma_{length}", "intent": {"opcode": "FFMA", "chains": [length]}},
            {
                "name": f"independent_fma_{length}",
                "reference": f"dependent_fma_{length}",
                "intent": {"opcode": "FFMA", "chains": [1] * length},
            },
        )
    ],
}


def sweep_cycles(_variant, _launch, role: str) -> float:
    length = int(role.rpartition("_")[2])
    return 38.0 + 4 * length if role.startswith("dependent") else 46.0 + length


def write(run: Run, out: Path | None = None, settings: TimingSettings | None = None) -> str:
    """Aggregate, analyse, report; the report's text."""
    make(run, out, settings)
    return ((out or run.root) / "report.md").read_text(encoding="utf-8")


def make(
    run: Run, out: Path | None = None, settings: TimingSettings | None = None
) -> ReportSummary:
    """Aggregate, analyse, report; what the report tells its caller."""
    folder = out or run.root
    folder.mkdir(exist_ok=True)
    measurements = folder / "measurements.parquet"
    aggregate(run.root, run.plan, run.evidence, measurements)
    datasets = {name: folder / f"{name}.parquet" for name in ("summary", "comparisons")}
    analyse(measurements, run.plan, run.evidence, run.probes, **datasets)
    return report(
        run.root,
        run.plan,
        run.evidence,
        run.probes,
        measurements=measurements,
        **datasets,
        published=run.root,
        out=folder / "report.md",
        charts=folder / "charts",
        settings=settings,
    )


def line_of(text: str, *parts: str) -> str:
    """The first line that has all parts."""
    return next(line for line in text.splitlines() if all(part in line for part in parts))


@pytest.fixture(scope="module")
def noted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, str]:
    """Both notes' tables as if measured in all forms, with claims, rules and figures."""
    claims = [
        {
            "id": "two_gain",
            "statement": "Two accumulators gain.",
            "source": "second note, 10.4",
            "scope": SCOPE,
            "expect": "independent_fma_7_2acc_4_3 > dependent_fma_7",
        },
        {
            "id": "eight_tie",
            "statement": "The roles of eight steps tie.",
            "source": "nobody",
            "scope": SCOPE,
            "expect": "independent_fma_8_4acc_balanced ≈ dependent_fma_8",
        },
        {"id": "why", "statement": "The sink costs.", "source": "second note, 12", "scope": SCOPE},
    ]
    run = Run(
        tmp_path_factory.mktemp("noted"),
        [
            {**NOTE_1, "wording": [WORDING]},
            {**NOTE_2, "claims": claims, "published": PUBLISHED},
        ],
        architectures=["sm_86", "sm_90"],
        isolated_threads_per_block=[128, 256],
    )
    (run.root / "chain7.csv").write_text(
        "role,progress,ratio_percent,ratio_difference_percent,reference,note\n"
        "dependent_fma_7,53432.1,100.0,,dependent_fma_7,\n"
        "independent_fma_7_2acc_4_3,57321.8,,7.28,dependent_fma_7,rounded\n"
    )
    values = {**NOTE_1_PROGRESS, **NOTE_2_PROGRESS}
    run.predict(lambda _, __, role: round(1e7 / values[role]), ["a branch costs 10 cycles"])

    def progress(variant, launch, role, repeat):
        # Alone, the tail doesn't matter and four accumulators gain.
        alone = variant.placement == "isolated" and "4acc_tail" in role
        return PROGRESS(variant, launch, role, repeat) * (1.25 if alone else 1)

    run.time(progress, "recorded", only=lambda variant, _: variant.arch == "sm_90")
    run.time(
        lambda _variant, _launch, role, _repeat: 1e7 / round(1e7 / values[role]),
        "model",
        only=lambda variant, launch: variant.arch == "sm_86" and launch.warps_per_sub_core <= 1,
    )
    run.untimed()
    return run, write(run)


def test_the_notes_figures_in_the_notes_form(noted: tuple[Run, str]) -> None:
    _, text = noted
    assert "93.75 %" in line_of(text, "| `dependent_fma_chain`", "52,929.0")
    assert "87.50 %" in line_of(text, "| `dependent_add_chain`", "49,401.0")
    assert "+7.28 %" in line_of(text, "| `independent_fma_7_2acc_4_3`", "57,321.8", "± ")
    assert "-11.34 %" in line_of(text, "4acc_tail_a3_missing`", "47,372.1")
    assert "`independent_fma ≈ independent_add > dependent_fma_chain > dependent_add_chain`" in text


def test_it_begins_with_what_the_run_shows(noted: tuple[Run, str]) -> None:
    _, text = noted
    start = text[: text.index("## Arithmetic dependency probe")]
    assert "2 probes, 32 kernels for sm_86 and sm_90, 56 launches" in start
    assert "28 measured on NVIDIA H200 (sm_90), 12 predicted from SASS (sm_86)" in start
    assert "16 without a figure" in start
    assert "The SASS of 32 of 32 kernels has the shape that its roles declare." in start
    assert "recording h200-2026-11-30" in start
    # 2acc is ahead of its reference in every form; the two with a tail only if alone.
    assert (
        "5 roles against `dependent_fma_7`: in_loop, 2 ahead (+2.66 % to +7.28 %) and 3 behind "
        "(-23.50 % to -11.34 %); hoisted, 2 ahead (+2.66 % to +7.28 %) and 3 behind (-23.50 % to "
        "-11.34 %); isolated (128 threads), 4 ahead (+2.66 % to +10.82 %) and 1 behind "
        "(`independent_fma_7_7acc_once`, -23.50 %); isolated (256 threads), 4 ahead"
    ) in start
    assert "1 of 1 pairs of roles stand as published." in start


def test_settings_stand_under_the_notes_names(noted: tuple[Run, str]) -> None:
    _, text = noted
    for name, value in (
        ("probe", "`chain7`"),
        ("threads_per_block", "coresident: 256; isolated: 128 and 256"),
        ("warps_per_block", "coresident: 8; isolated: 4 and 8"),
        ("repeat", "10"),
        ("clock_budget_cycles", "10,000,000"),
        ("focus", "progress of 8 roles; 6 of them against"),
        ("compile flags", "`-use_fast_math`"),
        ("arch", "sm_86 and sm_90"),
    ):
        assert re.search(rf"^\| {re.escape(name)} +\| .*{re.escape(value)}", text, re.M), name


def test_what_depends_on_the_form_is_said(noted: tuple[Run, str]) -> None:
    _, text = noted
    line = line_of(text, "| `independent_fma_7_4acc_tail_a3_missing`", "**yes**")
    assert "behind, -11.34 %" in line
    assert "ahead, +10.82 %" in line
    assert line_of(text, "| `independent_fma_7_7acc_once`", "behind").endswith(
        "| no                   |"
    )
    # Of the notes' roles with a reference all were run in both placements: they can be recounted.
    assert "for 2 of the 6 roles that were run isolated and coresident, being ahead of" in text
    assert (
        len(re.findall(r"^\| `independent_fma_\w+`.*\| (?:no|\*\*yes\*\*) +\|$", text, re.M)) == 6
    )


def test_what_is_not_predicted_has_its_reason_and_the_alone_figure(noted: tuple[Run, str]) -> None:
    _, text = noted
    form = text[text.index("#### chain7, isolated, 256 threads: measured") :]
    header = [cell.strip() for cell in line_of(form, "| role").split("|")]
    cells = [cell.strip() for cell in line_of(form, "| `dependent_fma_7`").split("|")]
    assert cells[header.index("predicted")] == "–"
    assert cells[header.index("alone (predicted)")] == "187"
    assert "<sub>Not predicted: 2 warps share a sub-core.</sub>" in text
    assert "#### chain7: forms without a figure" in text
    assert (
        "- sm_86: no figure for coresident, in_loop, 256 threads; coresident, hoisted, 256 "
        "threads; isolated, 256 threads."
    ) in text
    last = text[text.index("## What is missing and why") :]
    assert "2 warps share a sub-core" in last
    assert "arithmetic (sm_86) and chain7 (sm_86): isolated, 256 threads" in last
    assert "sm_86: a branch costs 10 cycles" in text


def test_published_figures_stand_beside(noted: tuple[Run, str]) -> None:
    _, text = noted
    assert "The note's table; source: second note, 10.3." in text
    line = line_of(text[text.index("### Published figures") :], "`independent_fma_7_2acc_4_3`")
    assert [cell.strip() for cell in line.split("|")[2:6]] == [
        "57,321.8",
        "+7.28 %",
        "57,321.8",
        "+7.28 %",
    ]
    assert "`independent_fma_7_2acc_4_3`: rounded" in text


def test_claims_are_observations(noted: tuple[Run, str]) -> None:
    _, text = noted
    assert "Coresident, in_loop, 256 threads: measured on NVIDIA H200 (sm_90):" in text
    # 57,321.8 / 53,432.1, also where it agrees.
    line = line_of(text, "| `two_gain`")
    assert re.search(
        r"\| agrees +\| `independent_fma_7_2acc_4_3` > `dependent_fma_7` \(\+7\.28 %\)", line
    )
    line = line_of(text, "| `eight_tie`")
    assert "| differs" in line
    assert "`independent_fma_8_4acc_balanced` > `dependent_fma_8` (+10.21 %)" in line
    assert (
        "Coresident, in_loop, 256 threads: sm_86, no answer to any: independent_fma_7_2acc_4_3 "
        "has no figure in this form."
    ) in text
    assert "- `two_gain`: Two accumulators gain. (second note, 10.4)" in text
    assert "- `why`: The sink costs. (second note, 12; no ordering, judged by a later" in text


def test_rules_on_wording_are_quoted(noted: tuple[Run, str]) -> None:
    _, text = noted
    assert (
        "- Not: *FMA is faster than ADD*.\n  The source writes instead, about its own "
        "measurement: “In this kernel shape, the ADD chain is the stricter one.” (first note, 12)"
    ) in text
    assert "Not so in this run" not in text


def test_sass_evidence(noted: tuple[Run, str]) -> None:
    _, text = noted
    assert "Does the SASS have the intended shape? **Yes**: 48 of 48 bodies" in text
    line = line_of(text, "`independent_fma_7_2acc_4_3`", "R7, R8", "listing")
    assert "4 + 3" in line
    assert "7× FFMA" in line
    assert re.search(r"\[listing\]\(sass/chain7-\w+\.sass\) · \[search\]\(sass/.*\.txt\)", line)
    assert "```text\n[B------:R-:W-:-:S04] FFMA R7, R7, R0, R3 ;" in text


def test_charts_come_in_three_formats_and_name_their_source(noted: tuple[Run, str]) -> None:
    run, text = noted
    names = set(re.findall(r"\(charts/(\w+)\.png\)", text))
    assert names == {
        "arithmetic_progress",
        "arithmetic_forms",
        "chain7_progress",
        "chain7_forms",
        "prediction_error",
    }
    charts = run.root / "charts"
    for name in names:
        assert (charts / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        specification = json.loads((charts / f"{name}.vl.json").read_text())
        assert "vega-lite" in specification["$schema"]
        svg = (charts / f"{name}.svg").read_text()
        assert "measured on NVIDIA H200 (sm_90)" in svg
    assert len(list(charts.iterdir())) == 3 * len(names)
    svg = (charts / "chain7_forms.svg").read_text()
    assert "predicted from SASS (sm_86)" in svg
    assert ">independent_fma_7_4acc_tail_a3_missing<" in svg
    assert "…" not in svg


def test_every_link_leads_somewhere_and_markdown_holds(noted: tuple[Run, str]) -> None:
    run, text = noted
    html = MarkdownIt("commonmark").enable("table").render(text)
    headings = {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in
                re.findall(r"<h\d>(.*?)</h\d>", html)}  # fmt: skip
    for target in re.findall(r'(?:href|src)="([^"]+)"', html):
        if target.startswith("#"):
            assert target[1:] in headings
        elif not target.startswith("sass/"):
            assert (run.root / target).exists(), target
    assert "<p>|" not in html  # a table that isn't one
    assert html.count("<details>") == html.count("</details>")
    assert "\n\n\n" not in text


def test_equal_data_gives_equal_bytes_and_no_path_of_this_machine(
    noted: tuple[Run, str], tmp_path: Path
) -> None:
    run, text = noted
    again = write(run, tmp_path / "elsewhere")
    assert again.replace(f"../../{run.root.parent.name}", "") != ""
    for path in sorted((run.root / "charts").iterdir()):
        assert path.read_bytes() == (tmp_path / "elsewhere" / "charts" / path.name).read_bytes()
    assert write(run) == text
    assert str(run.root) not in text
    assert "/tmp" not in text


def test_a_stale_chart_goes(noted: tuple[Run, str]) -> None:
    run, _ = noted
    stale = run.root / "charts" / "old.svg"
    stale.write_text("")
    write(run)
    assert not stale.exists()


def test_nothing_predicted_is_called_measured(tmp_path: Path) -> None:
    run = Run(tmp_path, [NOTE_1, SWEEP], architectures=["sm_86"])
    cycles = {role: 1e7 / value for role, value in NOTE_1_PROGRESS.items()}

    def model(variant, launch, role):
        return cycles.get(role) or sweep_cycles(variant, launch, role)

    run.predict(model)
    run.time(
        lambda variant, launch, role, _: 1e7 / model(variant, launch, role),
        "model",
        only=lambda variant, _: variant.placement == "isolated",
    )
    run.untimed()
    text = write(run)
    assert "> Nothing in this report was measured: every figure is a prediction." in text
    assert "measured on" not in text
    assert "± " not in text
    assert "95 % interval]" not in text
    assert "- isolated, 128 threads, predicted from SASS (sm_86): `independent_fma" in text
    for path in (tmp_path / "charts").glob("*.svg"):
        assert "measured on" not in path.read_text(), path.name
        assert "predicted from SASS (sm_86)" in path.read_text(), path.name
    assert "No launch has both a prediction and a measurement." in text


def test_a_sweep_is_told_over_length(tmp_path: Path) -> None:
    run = Run(tmp_path, [SWEEP])
    run.predict(sweep_cycles)
    run.time(lambda variant, launch, role, _: 1e7 / sweep_cycles(variant, launch, role))
    text = write(run)
    # 46 + n against 38 + 4n: behind below 8/3, ahead above.
    assert (
        "`independent_fma` against `dependent_fma` of the same length (isolated, 128 threads, "
        "measured on NVIDIA H200 (sm_90)): behind at 1–2; ahead at 3–20 instructions; largest "
        "difference +78.79 %, at 20." in text
    )
    line = line_of(text, "|      7 |")
    assert [cell.strip() for cell in line.split("|")[1:-1]] == [
        "7", "66", "53", "66", "53", "+0.0 %", "+0.0 %", "+24.53 %",
    ]  # fmt: skip
    assert set(re.findall(r"\(charts/(\w+)\.png\)", text)) == {
        "sweep_cycles",
        "sweep_ratio",
        "sweep_forms",
        "prediction_error",
    }
    assert "The timed loop of 2 roles (sm_90)" in text
    assert "`independent_fma_2 > dependent_fma_2" not in text  # 48 cycles against 46: behind
    assert "`dependent_fma_2 > independent_fma_2 > independent_fma_20 > dependent_fma_20`" in text


def test_only_names_with_their_own_length_make_a_sweep() -> None:
    assert sweep_of(Probe.model_validate(NOTE_2)) is None
    assert sweep_of(Probe.model_validate(NOTE_1)) is None
    sweep = sweep_of(Probe.model_validate(SWEEP))
    assert sweep is not None
    assert sweep.series == ["dependent_fma", "independent_fma"]
    assert sweep.lengths == list(LENGTHS)


def test_what_is_missing_says_why_and_the_rest_stands(tmp_path: Path) -> None:
    run = Run(tmp_path, [NOTE_1, NOTE_2])
    run.predict(lambda *_: 100.0)
    for variant, launch in run.launches:
        if variant.probe == "chain7":
            run.evidence.build[variant.id] = BuildRow(
                id=variant.id, status="failed", reason="chain7.cu(3): error: no such thing\nmore"
            )
            run.evidence.timing[launch.id] = TimingRow(
                id=launch.id, variant=variant.id, status="skipped", reason="build failed: x"
            )
            del run.evidence.shape[variant.id], run.evidence.sass[variant.id]
    broken = run.find("isolated", role="dependent_add_chain")
    shape = run.evidence.shape[broken.variant]
    role = shape.roles[0].model_copy(update={"status": "broken", "findings": ["0 of 8 FADD"]})
    run.evidence.shape[broken.variant] = shape.model_copy(
        update={"status": "broken", "roles": [role]}
    )
    run.time(PROGRESS, only=lambda variant, _: variant.probe == "arithmetic")
    slow = run.find("coresident", "in_loop")
    raw = run.raw(run.variant(slow), slow, PROGRESS)
    repeats = [
        repeat.model_copy(
            update={"accepted": repeat.index > 2, "reason": "throttled" * (repeat.index < 3)}
        )
        for repeat in raw.repeats
    ]
    run.write(raw.model_copy(update={"repeats": repeats}))
    text = write(run)

    assert "- chain7.cu(3): error: no such thing (`chain7-" in text
    assert "| failed | build failed: chain7.cu(3): error: no such thing | 10 launches |" in text
    assert "dependent_add_chain: 0 of 8 FADD" in text
    assert "**Not everywhere**: 11 of 12 bodies" in text
    assert "isolated: **no**; coresident" in line_of(text, "| `dependent_add_chain`", "**no**")
    assert "dependent_add_chain: 0 of 8 FADD" in line_of(
        text, "| `dependent_add_chain`", "shape broken"
    )
    assert "7 of 10" in line_of(text, "| `independent_fma`", "7 of 10")
    assert "throttled" in line_of(text, "7 of 10 accepted")
    assert "No role of this probe has a figure; the last section says why." in text
    assert "93.75 %" in text


def test_a_run_without_any_result_still_reports(tmp_path: Path) -> None:
    text = write(Run(tmp_path, [NOTE_1]))
    assert "No launch was timed or predicted." in text
    assert "the timing station left nothing about this launch" in text
    assert list((tmp_path / "charts").iterdir()) == []


def test_a_missing_dataset_is_one_line(tmp_path: Path) -> None:
    run = Run(tmp_path, [NOTE_1])
    with pytest.raises(DataError, match=r"summary\.parquet: this dataset is missing"):
        report(
            tmp_path,
            run.plan,
            run.evidence,
            run.probes,
            measurements=tmp_path / "measurements.parquet",
            summary=tmp_path / "summary.parquet",
            comparisons=tmp_path / "comparisons.parquet",
            published=tmp_path,
            out=tmp_path / "report.md",
            charts=tmp_path / "charts",
        )


def test_a_role_of_several_sets_stands_there_with_each(tmp_path: Path) -> None:
    sets = [SWEEP["coresident"][0], ["independent_fma_2", "dependent_fma_2"]]
    run = Run(tmp_path, [{**SWEEP, "coresident": sets}], dispatches=["in_loop"])
    ratio = {2: 0.9, 4: 1.2}

    def progress(variant, _launch, role, _repeat):
        if role == "independent_fma_2" and variant.placement == "coresident":
            return 1e5 * ratio[len(variant.roles)]
        return 1e5

    run.time(progress)
    text = write(run)
    line = line_of(text, "| `independent_fma_2`", "**yes**")
    assert "ahead, +20.00 %" in line
    assert "behind, -10.00 %" in line
    assert "; " in line
    assert "|   2 | `independent_fma_2`" in text
    # Which role shares a sub-core with which, in each set.
    assert re.search(
        r"\| role map, set 1, sub-core 0 +\| `dependent_fma_2` in warp slots 0 and 4 +\|", text
    )
    assert re.search(
        r"\| role map, set 2, sub-core 3 +\| `dependent_fma_2` in warp slots 3 and 7 +\|", text
    )
