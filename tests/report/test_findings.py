"""What the report says at its top and of missing, recorded and undeclared things."""

import logging
import re
from pathlib import Path

import pytest

from probelab.report import station
from probelab.report.rules import named_roles
from probelab.schema.manifests import BuildRow, TimingRow
from probelab.schema.plan import TimingSettings
from tests.aggregate.synthetic import (
    NOTE_1,
    NOTE_1_PROGRESS,
    NOTE_2,
    NOTE_2_PROGRESS,
    Run,
    from_table,
)
from tests.report.test_report import (
    PROGRESS,
    SCOPE,
    SWEEP,
    WORDING,
    line_of,
    make,
    sweep_cycles,
    write,
)

FORBIDDEN = "FMA is faster than ADD"
SETTINGS = TimingSettings(repeats=20, warmup=3, backend="auto", timeout_s=60)


def top(text: str) -> str:
    """What stands before the first probe's section."""
    return text[: text.index("<details><summary>How to read this")]


# --- wording ------------------------------------------------------------------------------------


def test_what_a_config_says_is_quoted_and_costs_nothing(tmp_path: Path) -> None:
    probe = {
        **NOTE_1,
        "title": f"Why {FORBIDDEN}",
        "question": f"Is it true that {FORBIDDEN}?",
        "wording": [{**WORDING, "instead": f"Nobody knows whether {FORBIDDEN}."}],
        "claims": [{"id": "x", "statement": f"{FORBIDDEN}.", "source": FORBIDDEN, "scope": SCOPE}],
        "published": {"file": "one.csv", "title": FORBIDDEN, "source": FORBIDDEN},
    }
    (tmp_path / "one.csv").write_text(
        "role,progress,ratio_percent,ratio_difference_percent,reference,note\n"
        f"independent_fma,56459,,,,{FORBIDDEN}\n"
    )
    run = Run(tmp_path, [probe])
    run.time(PROGRESS)
    told = make(run)
    text = (tmp_path / "report.md").read_text()
    assert told.wording == []
    assert "**Wording:**" not in text
    assert f"## Why {FORBIDDEN}" in text
    assert f"**Question.** Is it true that {FORBIDDEN}?" in text
    assert f"“Nobody knows whether {FORBIDDEN}.”" in text
    assert not re.search("[\ue000-\uf8ff]", text)


def test_a_forbidden_sentence_of_the_report_itself_is_named_and_the_report_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    run = Run(tmp_path, [{**NOTE_1, "wording": [WORDING]}, NOTE_2])
    run.time(PROGRESS)
    monkeypatch.setattr(station.text, "findings", lambda _: [f"So {FORBIDDEN}."])
    with caplog.at_level(logging.WARNING):
        told = make(run)
    text = (tmp_path / "report.md").read_text()
    # The rule is the first probe's: the same sentence in the second one's section is not meant.
    assert len(told.wording) == 1
    expected = f"the report itself says “{FORBIDDEN}”, which a rule on wording forbids"
    assert told.wording[0].startswith(expected)
    assert text.splitlines()[2].startswith(f"> **Wording:** {expected}")
    assert expected in caplog.text
    assert "93.75 %" in text


def test_what_a_source_writes_instead_is_its_own_and_stands_beside_the_data(tmp_path: Path) -> None:
    claims = [
        {
            "id": "below",
            "statement": "Lower.",
            "source": "first note, 8 and 9.4",
            "scope": SCOPE,
            "expect": "dependent_fma_chain > dependent_add_chain",
        },
        {
            "id": "tie",
            "statement": "Equal.",
            "source": "first note, 12",
            "scope": SCOPE,
            "expect": "independent_fma ≈ independent_add",
        },
    ]
    rules = [
        {**WORDING, "instead": "The dependent ADD gets less far than the dependent FMA."},
        {**WORDING, "instead": "No role is named here.", "source": "first note, 12"},
        {**WORDING, "instead": "Nothing is known of this.", "source": "first note, 13"},
    ]
    run = Run(tmp_path, [{**NOTE_1, "claims": claims, "wording": rules}])
    # 50,000 / 40,000: the ADD chain is ahead by a quarter; 90,000 / 60,000: no tie.
    values = {
        "independent_fma": 60000.0,
        "independent_add": 90000.0,
        "dependent_fma_chain": 40000.0,
        "dependent_add_chain": 50000.0,
    }
    run.time(from_table(values), "recorded")
    lines = write(run).splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("- Not: "))
    assert lines[start + 1] == (
        "  The source writes instead, about its own measurement: “The dependent ADD gets less far "
        "than the dependent FMA.” (first note, 12)"
    )
    where = "measured on NVIDIA H200 (sm_90), coresident, in_loop, 256 threads"
    assert lines[start + 2] == (
        "  **Not so in this run:** `dependent_add_chain` > `dependent_fma_chain` (+25.00 %, "
        f"{where}; other forms: hoisted +25.00 %, isolated +25.00 %)."
    )
    assert "`independent_add` > `independent_fma` (+50.00 %" in lines[start + 5]
    assert not any("Not so" in line for line in lines[start + 6 :])


def test_roles_are_named_in_full_or_by_what_only_they_begin_with() -> None:
    run_probe = Run(Path("/nonexistent"), [NOTE_1]).probes[0]
    assert named_roles("dependent ADD before dependent_fma_chain", run_probe) == {
        "dependent_add_chain",
        "dependent_fma_chain",
    }
    assert named_roles("the independent FMA", run_probe) == {"independent_fma"}
    tails = Run(Path("/nonexistent"), [NOTE_2]).probes[0]
    # `independent_fma_7` is the beginning of several.
    assert named_roles("independent FMA 7 and dependent FMA 7", tails) == {"dependent_fma_7"}


# --- the top ------------------------------------------------------------------------------------


def test_ties_and_reversals_against_what_was_published(tmp_path: Path) -> None:
    probe = {**NOTE_1, "published": {"file": "one.csv", "title": "One", "source": "first note"}}
    (tmp_path / "one.csv").write_text(
        "role,progress,ratio_percent,ratio_difference_percent,reference,note\n"
        + "".join(f"{role},{value},,,,\n" for role, value in NOTE_1_PROGRESS.items())
    )
    run = Run(tmp_path, [probe])
    values = {**NOTE_1_PROGRESS, "independent_add": 69387.0, "dependent_add_chain": 66161.0}

    def progress(variant, _launch, role, _repeat):
        hoisted = variant.dispatch == "hoisted" and role == "dependent_add_chain"
        return 49401.0 if hoisted else values[role]

    run.time(progress)
    start = top(write(run))
    # 69,387 / 56,459 = 1.229; 52,929 / 66,161 = 0.8; hoisted 52,929 / 49,401 = 1.0714.
    # independent_fma, published ahead of dependent_add_chain, is behind it too: 3 of 6.
    assert "3 of 6 pairs of roles stand as published; not as published: `independent_fma" in start
    assert "(here `independent_add` +22.90 %)" in start
    assert (
        "`dependent_fma_chain > dependent_add_chain` (here -20.00 %; other forms: hoisted +7.14 %, "
        "isolated -20.00 %)"
    ) in start
    assert "holds in none of" not in start


def test_a_published_pair_that_is_reversed_everywhere_is_the_first_thing_said(
    tmp_path: Path,
) -> None:
    probe = {**NOTE_1, "published": {"file": "one.csv", "title": "One", "source": "first note"}}
    (tmp_path / "one.csv").write_text(
        "role,progress,ratio_percent,ratio_difference_percent,reference,note\n"
        + "".join(f"{role},{value},,,,\n" for role, value in NOTE_1_PROGRESS.items())
    )
    run = Run(tmp_path, [probe])
    run.time(from_table({**NOTE_1_PROGRESS, "dependent_add_chain": 55575.45}))
    bullets = [line for line in top(write(run)).splitlines() if line.startswith("- **")]
    assert bullets[0] == (
        "- **`dependent_fma_chain > dependent_add_chain`, as published, holds in none of 3 forms** "
        "(measured on NVIDIA H200 (sm_90)): `dependent_add_chain` is ahead by +5.00 %."
    )


#: Cycles of the second note's eight roles inside the loop: body, reduction; 17 + 18 per rung.
BODIES = [(28, 7), (16, 5), (12, 9), (9, 13), (8, 13), (8, 22), (32, 1), (9, 13)]


def chain7_terms(variant, role: str) -> dict[str, float]:
    place = [one["name"] for one in NOTE_2["roles"]].index(role)
    body, reduction = BODIES[place]
    terms = {"body": body, "reduction": reduction, "loop_control": 25, "branch_redirect": 10}
    if variant.dispatch == "in_loop":
        terms["dispatch"] = 17 + 18 * place
        terms["branch_redirect"] = 30 if place else 20
    return {cause: float(cycles) for cause, cycles in terms.items()}


def test_where_a_warps_cycles_go(tmp_path: Path) -> None:
    run = Run(tmp_path, [NOTE_2])
    run.predict(
        lambda variant, _, role: sum(chain7_terms(variant, role).values()), terms=chain7_terms
    )
    run.time(from_table(NOTE_2_PROGRESS))
    text = write(run)
    assert (
        "- **In_loop, selecting the role costs a warp cycles in every iteration:** 17 for "
        "`dependent_fma_7` (first in the ladder); of the 5 roles set against it 35 with 2 "
        "accumulators, 53 with 3 accumulators, 71 to 89 with 4 accumulators and 107 with 7 "
        "accumulators; 125 for `dependent_fma_8` and 143 for `independent_fma_8_4acc_balanced`. "
        "The roles' own arithmetic (body and reduction) takes 21 to 35 there. The branches taken "
        "on the way add 10 to 20. Hoisted, selecting the role costs 0. Cycles "
        "predicted from SASS (sm_90) for a warp that runs alone."
    ) in top(text)
    table = text[
        text.index("runs alone go, in cycles per iteration (predicted from SASS, sm_90)") :
    ]
    header = [cell.strip() for cell in line_of(table, "| role").split("|")]
    rows = [
        [cell.strip() for cell in line_of(table, "`independent_fma_7_7acc_once`", way).split("|")]
        for way in ("in_loop", "hoisted", "isolated")
    ]
    assert header[3:9] == [
        "body", "reduction", "dispatch", "loop control", "branch redirect", "sum"
    ]  # fmt: skip
    assert rows[0][3:9] == ["8", "22", "107", "25", "30", "192"]
    assert rows[1][3:9] == rows[2][3:9] == ["8", "22", "", "25", "10", "65"]
    svg = (tmp_path / "charts" / "chain7_causes.svg").read_text()
    assert "predicted from SASS (sm_90)" in svg
    assert "measured" not in svg


def test_a_sweep_that_is_level_says_so_and_draws_one_line(tmp_path: Path) -> None:
    run = Run(tmp_path, [SWEEP])
    run.time(lambda *_: 1e5)
    text = write(run)
    start = top(text)
    assert (
        "`independent_fma` against `dependent_fma` of the same length (isolated, 128 threads, "
        "measured on NVIDIA H200 (sm_90)): level at every length, 1–20 instructions."
    ) in start
    assert "largest difference" not in text
    assert set(re.findall(r"\(charts/(\w+)\.png\)", text)) == {"sweep_cycles"}
    svg = (tmp_path / "charts" / "sweep_cycles.svg").read_text()
    assert ">dependent_fma and independent_fma (equal everywhere)<" in svg


def test_lengths_stand_in_their_order_and_by_form(tmp_path: Path) -> None:
    run = Run(tmp_path, [SWEEP])
    ratio = {1: 1.0, 2: 0.9}

    def progress(variant, _launch, role, _repeat):
        length = int(role.rpartition("_")[2])
        if role.startswith("dependent"):
            return 1e5
        if variant.placement == "coresident":
            return 0.8e5 if variant.dispatch == "in_loop" else 1.1e5
        return 1e5 * ratio.get(length, 1.25)

    run.time(progress)
    text = write(run)
    assert "level at 1; behind at 2; ahead at 3–20 instructions; largest difference +25" in text
    assert (
        "`independent_fma` against `dependent_fma`, lengths that were also run coresident "
        "(measured on NVIDIA H200 (sm_90)): at **2** in_loop -20.0 %, hoisted +10.0 %, isolated "
        "-10.0 %; at **20** in_loop -20.0 %, hoisted +10.0 %, isolated +25.0 %."
    ) in top(text)
    assert "for 2 of the 2 roles that were run isolated and coresident" in text
    svg = (tmp_path / "charts" / "sweep_forms.svg").read_text()
    assert ">coresident, in_loop, 256 threads<" in svg
    assert ">independent_fma_20<" in svg
    assert ">independent_fma_19<" not in svg


def test_level_here_and_behind_there_depends_on_the_form(tmp_path: Path) -> None:
    run = Run(tmp_path, [NOTE_1])

    def progress(variant, _launch, role, _repeat):
        isolated = variant.placement == "isolated" and role == "dependent_fma_chain"
        return NOTE_1_PROGRESS["independent_fma" if isolated else role]

    run.time(progress)
    line = line_of(write(run), "| `dependent_fma_chain`", "level, 100.00 %")
    assert "behind, 93.75 %" in line
    assert "**yes**" in line


# --- settings, recordings, what is missing --------------------------------------------------------


@pytest.mark.parametrize(
    ("backend", "asked", "repeat", "warmup"),
    [
        ("recorded", 20, "20 asked for; 10 in the recording", "3 asked for; the recording doesn't"),
        ("recorded", 10, "10", "3 asked for; the recording doesn't say how many it had"),
        ("pycuda", 10, "10", "3"),
        ("pycuda", 20, "20 asked for; 10 run", "3"),
        ("model", 20, "20 asked for; none measured", "3 asked for; none measured"),
    ],
)
def test_settings_are_what_the_data_has(
    tmp_path: Path, backend: str, asked: int, repeat: str, warmup: str
) -> None:
    run = Run(tmp_path, [NOTE_1])
    run.time(PROGRESS, backend)
    text = write(run, settings=SETTINGS.model_copy(update={"repeats": asked}))
    assert re.search(rf"^\| repeat +\| {re.escape(repeat)} +\|$", text, re.M)
    assert re.search(rf"^\| warm-up +\| {re.escape(warmup)}", text, re.M)


def test_launches_without_a_recording_are_told(tmp_path: Path) -> None:
    run = Run(tmp_path, [NOTE_1, NOTE_2])
    run.predict(lambda *_: 100.0)
    changed = run.find("isolated", role="dependent_add_chain")
    mixed = run.find("coresident", "in_loop", probe="arithmetic")
    others = {changed.id, mixed.id}
    run.time(PROGRESS, "recorded", only=lambda _, launch: launch.id not in others)
    run.time(lambda *_: 1e5, "model", only=lambda _, launch: launch.id == changed.id)
    reason = "no GPU is here; no recording of this kernel and launch; not predicted: too hard"
    run.untimed(reason=reason)
    text = write(run)
    assert (
        "- **sm_90: 2 launches of this probe have no recording** (code or settings changed since): "
        "1 predicted instead, 1 without a figure."
    ) in top(text)
    assert top(text).count("no recording") == 1
    assert line_of(text[text.index("## What is missing") :], "| not predicted").split("|")[
        2
    ].strip() == (
        "no GPU is here; no recording of this kernel and launch (its code or its settings differ "
        "from what was recorded); not predicted: too hard"
    )


def test_a_probe_of_one_role_has_its_figure_at_the_top(tmp_path: Path) -> None:
    role = {"name": "only", "intent": {"opcode": "FFMA", "chains": [7]}}
    run = Run(tmp_path, [{**NOTE_1, "roles": [role]}], placements=["isolated"])
    run.predict(lambda *_: 62.0)
    run.time(lambda *_: 1e7 / 62, "model")
    start = top(write(run))
    assert (
        "- Cycles per iteration (isolated, 128 threads, predicted from SASS (sm_90)): `only` 62."
        in start
    )
    assert "has a figure" not in start


def test_kernels_without_a_declared_shape(tmp_path: Path) -> None:
    bare = [{key: role[key] for key in role if key != "intent"} for role in NOTE_1["roles"]]
    run = Run(tmp_path, [{**NOTE_1, "roles": bare}, NOTE_2])
    run.time(PROGRESS)
    text = write(run)
    assert (
        "The SASS of 10 of 10 kernels has the shape that its roles declare; no shape is declared "
        "for 6 kernels."
    ) in text
    assert "Does the SASS have the intended shape? No shape is declared for 6 kernels." in text
    assert "not declared" in line_of(text, "| `independent_fma`", "listing")
    assert "no intent" not in text


def test_the_caller_learns_what_failed_and_what_has_no_figure(tmp_path: Path) -> None:
    run = Run(tmp_path, [NOTE_1])
    for variant, launch in run.launches:
        if variant.placement == "isolated":
            run.evidence.build[variant.id] = BuildRow(
                id=variant.id, status="failed", reason="x.cu, line 3: error: no such thing\nmore"
            )
            run.evidence.timing[launch.id] = TimingRow(
                id=launch.id, variant=variant.id, status="skipped", reason="build failed"
            )
    run.time(PROGRESS, only=lambda variant, _: variant.placement == "coresident")
    told = make(run)
    assert (told.launches, told.launches_without_figure, told.failed_kernels) == (6, 4, 4)
    assert told.first_reasons == ["x.cu, line 3: error: no such thing"]
    assert told.line == (
        "4 kernels failed (x.cu, line 3: error: no such thing); 4 of 6 launches without a figure"
    )


def test_headings_are_unique(tmp_path: Path) -> None:
    run = Run(tmp_path, [NOTE_1, NOTE_2, SWEEP], isolated_threads_per_block=[128, 256])
    run.predict(sweep_or(100.0))
    run.time(lambda *_: 1e5, only=lambda variant, _: variant.placement == "isolated")
    run.untimed()
    headings = re.findall(r"^#+ (.*)$", write(run), re.M)
    assert len(headings) == len(set(headings))


def sweep_or(cycles: float):
    return lambda variant, launch, role: (
        sweep_cycles(variant, launch, role) if variant.probe == "sweep" else cycles
    )
