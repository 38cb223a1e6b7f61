"""summary.parquet and comparisons.parquet: figures worked out by hand from the notes."""

from pathlib import Path

import numpy as np
import pytest

from probelab.aggregate import aggregate, measurements
from probelab.analyse import analyse, compare, summarise
from probelab.analyse.ordering import chain, sign
from probelab.analyse.statistics import Interval
from probelab.schema import tables
from probelab.schema.manifests import BuildRow, TimingRow
from tests.aggregate.synthetic import (
    NOISE,
    NOTE_1,
    NOTE_1_PROGRESS,
    NOTE_2,
    NOTE_2_PROGRESS,
    Run,
    from_table,
)

NOTE = {"placement": "coresident", "dispatch": "in_loop"}


def summary(run: Run, **want) -> dict[str, dict]:
    """Rows by role, of the launches that have these values."""
    table = summarise(
        measurements(run.root, run.plan, run.evidence), run.plan, run.evidence, run.probes
    )
    assert table.schema.equals(tables.SUMMARY)
    rows = [row for row in table.to_pylist() if all(row[key] == want[key] for key in want)]
    return {row["role"]: row for row in rows}


def comparisons(run: Run, **want) -> list[dict]:
    table = compare(
        measurements(run.root, run.plan, run.evidence), run.plan, run.evidence, run.probes
    )
    return [row for row in table.to_pylist() if all(row[key] == want[key] for key in want)]


def ordering(run: Run, **want) -> str:
    rows = sorted(comparisons(run, purpose="ordering", **want), key=lambda row: row["position"])
    return chain([(row["left_role"], row["sign"], row["right_role"]) for row in rows])


@pytest.fixture
def note_1(tmp_path: Path) -> Run:
    claims = [
        {
            "id": "ordering",
            "statement": "As the note says.",
            "source": "first note, 1",
            "scope": {**NOTE, "threads_per_block": 256},
            "expect": "independent_fma ≈ independent_add > dependent_fma_chain"
            " > dependent_add_chain",
        },
        {
            "id": "reverse",
            "statement": "It is the other way round.",
            "source": "nobody",
            "scope": {"placement": "isolated", "threads_per_block": 128},
            "expect": "dependent_add_chain > dependent_fma_chain",
        },
    ]
    run = Run(tmp_path, [{**NOTE_1, "claims": claims}])
    run.time(from_table(NOTE_1_PROGRESS, NOISE))
    return run


def test_the_first_notes_table(note_1: Run) -> None:
    rows = summary(note_1, **NOTE)
    fma, add = rows["dependent_fma_chain"], rows["dependent_add_chain"]
    assert fma["progress_mean"] == pytest.approx(52929)
    # 52929 / 56459 and 49401 / 56458, which the note prints as 93.75 % and 87.5 %.
    assert fma["progress_ratio"] == pytest.approx(0.937477, abs=1e-6)
    assert add["progress_ratio"] == pytest.approx(0.875005, abs=1e-6)
    assert add["reference_role"] == "independent_add"
    assert add["progress_ratio_method"] == "paired"
    assert fma["progress_ratio_ci_low"] < 0.937477 < fma["progress_ratio_ci_high"]
    assert rows["independent_fma"]["progress_ratio"] is None
    assert rows["independent_fma"]["reference_role"] == ""
    assert (fma["repeats"], fma["accepted_repeats"]) == (10, 10)
    assert fma["progress_std"] == pytest.approx(np.std(NOISE, ddof=1))
    assert fma["progress_median"] == pytest.approx(52929)
    assert fma["warp_slots"] == [2, 6]
    assert fma["status"] == "ok"
    assert fma["reason"] == ""


def test_the_second_notes_table(tmp_path: Path) -> None:
    run = Run(tmp_path, [NOTE_2])
    run.time(from_table(NOTE_2_PROGRESS))
    rows = summary(run, **NOTE)
    percent = {
        role: round((row["progress_ratio"] - 1) * 100, 2)
        for role, row in rows.items()
        if row["progress_ratio"]
    }
    assert percent == {
        "independent_fma_7_2acc_4_3": 7.28,
        "independent_fma_7_3acc_3_2_2": 2.66,
        "independent_fma_7_4acc_tail_a3_missing": -11.34,
        "independent_fma_7_4acc_tail_a0_missing": -17.23,
        "independent_fma_7_7acc_once": -23.5,
        "independent_fma_8_4acc_balanced": 10.21,
    }
    row = rows["independent_fma_7_2acc_4_3"]
    # Ten identical repeats: the interval is the point itself.
    assert row["progress_ci_low"] == row["progress_ci_high"] == 57321.8
    assert row["progress_ratio_ci_low"] == row["progress_ratio_ci_high"] == row["progress_ratio"]
    assert ordering(run, **NOTE) == (
        "independent_fma_7_2acc_4_3 > independent_fma_7_3acc_3_2_2 > dependent_fma_7"
        " > independent_fma_7_4acc_tail_a3_missing > independent_fma_7_4acc_tail_a0_missing"
        " > independent_fma_7_7acc_once > independent_fma_8_4acc_balanced > dependent_fma_8"
    )


def test_isolated_roles_are_compared_across_launches(note_1: Run) -> None:
    row = summary(note_1, placement="isolated")["dependent_fma_chain"]
    assert row["progress_ratio"] == pytest.approx(0.937477, abs=1e-6)
    assert row["progress_ratio_method"] == "independent"
    assert row["warp_slots"] == [0, 1, 2, 3]


def test_the_ordering_of_the_first_note(note_1: Run) -> None:
    expected = "independent_fma ≈ independent_add > dependent_fma_chain > dependent_add_chain"
    assert ordering(note_1, **NOTE) == expected
    assert ordering(note_1, placement="isolated") == expected


def test_claims_are_compared_in_their_scope(note_1: Run) -> None:
    rows = comparisons(note_1, purpose="claim", claim="ordering")
    assert [(row["sign"], row["expected_sign"]) for row in rows] == [
        ("≈", "≈"),
        (">", ">"),
        (">", ">"),
    ]
    assert {row["dispatch"] for row in rows} == {"in_loop"}
    (row,) = comparisons(note_1, purpose="claim", claim="reverse")
    assert (row["sign"], row["expected_sign"], row["placement"]) == ("<", ">", "isolated")
    assert row["ratio"] == pytest.approx(49401 / 52929)


@pytest.mark.parametrize(
    ("ratio", "interval", "expected"),
    [
        (1.05, Interval(1.01, 1.09), ">"),
        (1.05, Interval(0.99, 1.12), "≈"),
        (0.95, Interval(0.92, 0.97), "<"),
        (1.0009, Interval(1.0008, 1.001), "≈"),
        (1.0011, Interval(1.0011, 1.0011), ">"),
        (1.0009, None, "≈"),
        (1.0011, None, ">"),
        (0.9, None, "<"),
    ],
)
def test_signs(ratio: float, interval: Interval | None, expected: str) -> None:
    assert sign(ratio, interval) == expected


def test_the_unit_is_the_repeat_and_the_spread_is_between_warps(tmp_path: Path) -> None:
    run = Run(tmp_path, [NOTE_1], blocks=2)
    run.time(from_table(NOTE_1_PROGRESS, NOISE), spread=2.0)
    row = summary(run, placement="isolated")["independent_fma"]
    # Four warps at −3, −1, +1, +3 around each repeat's mean: they don't add to the deviation.
    assert row["progress_mean"] == pytest.approx(56459)
    assert row["progress_std"] == pytest.approx(np.std(NOISE, ddof=1))
    cycles = [np.mean([1e7 / (56459 + noise + offset) for noise in NOISE]) for offset in (-3, 3)]
    assert row["warp_spread_cycles_per_iteration"] == pytest.approx(cycles[0] - cycles[1])


def test_rejected_repeats_stay_counted(note_1: Run) -> None:
    launch = note_1.find(**NOTE)
    variant = note_1.variant(launch)
    raw = note_1.raw(variant, launch, from_table(NOTE_1_PROGRESS, NOISE))
    slow = [
        repeat.model_copy(update={"accepted": False, "reason": "SM clock 20 % below its maximum"})
        if repeat.index < 3
        else repeat
        for repeat in raw.repeats
    ]
    note_1.write(raw.model_copy(update={"repeats": slow}))
    row = summary(note_1, **NOTE)["independent_fma"]
    assert (row["repeats"], row["accepted_repeats"], row["status"]) == (10, 7, "ok")
    assert row["progress_mean"] == pytest.approx(56459 + np.mean(NOISE[3:]))
    assert row["rejection_reasons"] == ["SM clock 20 % below its maximum"]

    none = [
        repeat.model_copy(update={"accepted": False, "reason": "the sink is wrong"})
        for repeat in raw.repeats
    ]
    note_1.write(raw.model_copy(update={"repeats": none}))
    row = summary(note_1, **NOTE)["dependent_fma_chain"]
    assert row["status"] == "rejected"
    assert row["reason"] == "0 of 10 repeats accepted: the sink is wrong"
    assert row["progress_mean"] is None
    assert row["progress_ratio"] is None
    assert row["progress_ratio_reason"] == "no progress of this role"
    assert ordering(note_1, **NOTE) == ""


def test_predictions_stand_beside_measurements(tmp_path: Path) -> None:
    run = Run(tmp_path, [NOTE_1], isolated_threads_per_block=[128, 256])
    run.predict(lambda *_: 180.0, assumptions=["10 cycles a taken branch"])
    run.time(from_table(NOTE_1_PROGRESS))
    row = summary(run, placement="isolated", threads_per_block=128)["independent_fma"]
    measured = 1e7 / 56459
    assert row["predicted_cycles_per_iteration"] == 180
    assert row["prediction_error_percent"] == pytest.approx((180 / measured - 1) * 100)
    assert row["prediction_assumptions"] == ["10 cycles a taken branch"]
    shared = summary(run, placement="isolated", threads_per_block=256)["independent_fma"]
    assert shared["predicted_cycles_per_iteration"] is None
    assert shared["predicted_alone_cycles_per_iteration"] == 180
    assert shared["prediction_reason"] == "not predicted: 2 warps share a sub-core"
    assert shared["prediction_error_percent"] is None
    assert shared["progress_mean"] == 56459


def test_a_prediction_has_no_interval(tmp_path: Path) -> None:
    run = Run(tmp_path, [NOTE_1], placements=["isolated"])
    run.predict(lambda *of: 1e7 / NOTE_1_PROGRESS[of[2]])
    run.time(from_table(NOTE_1_PROGRESS), backend="model")
    row = summary(run)["dependent_fma_chain"]
    assert row["progress_mean"] == 52929
    assert (row["progress_std"], row["progress_ci_low"]) == (None, None)
    assert row["progress_ratio"] == pytest.approx(0.937477, abs=1e-6)
    assert row["progress_ratio_ci_low"] is None
    assert row["progress_ratio_method"] == "predicted"
    assert row["prediction_error_percent"] is None
    expected = "independent_fma ≈ independent_add > dependent_fma_chain > dependent_add_chain"
    assert ordering(run, backend="model") == expected


def test_measured_and_predicted_are_never_mixed(note_1: Run) -> None:
    launch = note_1.find("isolated", role="independent_fma")
    variant = note_1.variant(launch)
    note_1.write(note_1.raw(variant, launch, from_table(NOTE_1_PROGRESS), backend="model"))
    rows = summary(note_1, placement="isolated")
    assert rows["dependent_fma_chain"]["progress_ratio"] is None
    assert rows["dependent_fma_chain"]["progress_ratio_reason"] == (
        "one of the two is measured and the other predicted"
    )
    assert ordering(note_1, placement="isolated", backend="model") == ""
    assert ordering(note_1, placement="isolated", backend="pycuda") == (
        "independent_add > dependent_fma_chain > dependent_add_chain"
    )


def test_the_causes_of_a_warp_alone_are_the_mean_over_its_warps(tmp_path: Path) -> None:
    run = Run(tmp_path, [NOTE_1])
    run.predict(
        lambda *_: 60.0,
        terms=lambda variant, role: {
            "body": 33.0,
            "dispatch": 17.0 * variant.roles.index(role),
            "loop_control": 25.0,
        },
    )
    launch = run.find("coresident", "in_loop")
    row = run.evidence.predict[launch.id]
    # The two warps of the second role differ: 17 and 19 cycles.
    warps = list(row.warps)
    assert warps[5].role == "independent_add"
    warps[5] = warps[5].model_copy(update={"terms": {**warps[5].terms, "dispatch": 19.0}})
    # One of the two warps of the third role isn't broken down: neither is the role.
    warps[6] = warps[6].model_copy(update={"terms": {}})
    run.evidence.predict[launch.id] = row.model_copy(update={"warps": warps})
    rows = summary(run, launch=launch.id)
    causes = dict(rows["independent_add"]["predicted_alone_cycles_by_cause"])
    assert causes == {"body": 33.0, "dispatch": 18.0, "loop_control": 25.0}
    assert rows["dependent_fma_chain"]["predicted_alone_cycles_by_cause"] is None
    assert dict(rows["dependent_add_chain"]["predicted_alone_cycles_by_cause"])["dispatch"] == 51.0


def test_what_no_backend_has_says_so_of_each(tmp_path: Path) -> None:
    run = Run(tmp_path, [NOTE_1])
    reason = "no GPU is here; no recording of this kernel and launch; not predicted: too hard"
    run.untimed(reason=reason)
    assert {row["reason"] for row in summary(run).values()} == {reason}


def test_what_has_no_time_says_why(tmp_path: Path) -> None:
    run = Run(tmp_path, [NOTE_1], isolated_threads_per_block=[128, 256])
    run.predict(lambda *_: 180.0)
    progress = from_table(NOTE_1_PROGRESS)
    run.time(progress, "model", only=lambda _, launch: launch.threads_per_block == 128)
    run.untimed()

    broken = run.find("isolated", role="dependent_add_chain", threads_per_block=128)
    run.evidence.build[broken.variant] = BuildRow(
        id=broken.variant, status="failed", reason="\nkernel.cu(3): error: no\nmore"
    )
    run.evidence.timing[broken.id] = TimingRow(
        id=broken.id, variant=broken.variant, status="skipped", reason="build failed: …"
    )
    damaged = run.find("isolated", role="dependent_fma_chain", threads_per_block=128)
    (run.root / run.evidence.timing[damaged.id].raw).write_text("{")
    hung = run.find("isolated", role="independent_add", threads_per_block=256)
    run.evidence.timing[hung.id] = TimingRow(
        id=hung.id, variant=hung.variant, status="failed", reason="no answer after 60 s"
    )
    lost = run.find("isolated", role="dependent_fma_chain", threads_per_block=256)
    del run.evidence.timing[lost.id]

    def cell(role: str, threads: int) -> tuple[str, str]:
        row = summary(run, placement="isolated", threads_per_block=threads)[role]
        if row["status"] != "ok":
            assert row["progress_mean"] is None
            assert row["backend"] == ""
        return row["status"], row["reason"]

    assert cell("independent_fma", 128) == ("ok", "")
    assert cell("dependent_add_chain", 128) == (
        "failed",
        "build failed: kernel.cu(3): error: no",
    )
    status, reason = cell("dependent_fma_chain", 128)
    assert status == "missing"
    assert reason.startswith("raw result unusable: ")
    assert cell("independent_fma", 256) == (
        "not predicted",
        "not predicted: 2 warps share a sub-core",
    )
    assert cell("independent_add", 256) == ("failed", "timing failed: no answer after 60 s")
    assert cell("dependent_fma_chain", 256) == (
        "missing",
        "the timing station left nothing about this launch",
    )
    # One row per launch × role, whatever became of it.
    assert len(summary(run)) == 4
    assert (
        summarise(
            measurements(run.root, run.plan, run.evidence), run.plan, run.evidence, run.probes
        ).num_rows
        == 4 * 2 + 2 * 4
    )


def test_a_broken_shape_is_in_no_ratio_and_no_ordering(note_1: Run) -> None:
    launch = note_1.find("isolated", role="independent_fma")
    row = note_1.evidence.shape[launch.variant]
    role = row.roles[0].model_copy(update={"status": "broken", "findings": ["0 of 8 FFMA"]})
    note_1.evidence.shape[launch.variant] = row.model_copy(
        update={"status": "broken", "roles": [role]}
    )
    rows = summary(note_1, placement="isolated")
    assert rows["independent_fma"]["reason"] == "shape broken: independent_fma: 0 of 8 FFMA"
    assert rows["independent_fma"]["progress_mean"] is not None
    assert rows["dependent_fma_chain"]["progress_ratio"] is None
    assert rows["dependent_fma_chain"]["progress_ratio_reason"] == (
        "the reference role's kernel has a broken shape"
    )
    assert rows["dependent_add_chain"]["progress_ratio"] == pytest.approx(49401 / 56458)
    assert ordering(note_1, placement="isolated") == (
        "independent_add > dependent_fma_chain > dependent_add_chain"
    )


def test_datasets_are_written_the_same_each_time(note_1: Run, tmp_path: Path) -> None:
    aggregate(note_1.root, note_1.plan, note_1.evidence, tmp_path / "m.parquet")
    for name in ("a", "b"):
        plan = note_1.plan if name == "a" else note_1.plan[::-1]
        analyse(
            tmp_path / "m.parquet",
            plan,
            note_1.evidence,
            note_1.probes,
            summary=tmp_path / f"{name}.summary",
            comparisons=tmp_path / f"{name}.comparisons",
        )
    for kind in ("summary", "comparisons"):
        assert (tmp_path / f"a.{kind}").read_bytes() == (tmp_path / f"b.{kind}").read_bytes()
    assert tables.read(tmp_path / "a.comparisons", tables.COMPARISONS).num_rows > 0


def test_an_empty_dataset_has_its_rows(tmp_path: Path) -> None:
    run = Run(tmp_path, [NOTE_1])
    rows = summary(run)
    assert {row["status"] for row in rows.values()} == {"missing"}
    assert comparisons(run) == []
