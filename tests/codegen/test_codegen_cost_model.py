"""The cost model on loops measured on an H200, and on costs that are known."""

from dataclasses import replace

import numpy as np
import pytest

from probelab.codegen.cost_model import BONUS, TERMS, Fit, fit
from probelab.codegen.points import by_scope, observations
from tests.codegen.loops import evidence, measured, points, summary_rows
from tests.codegen.notes import NO_FEATURES, observation


def fits() -> dict[float, Fit]:
    made = {scope: fit(scope, own) for scope, own in by_scope(measured())}
    return {scope.warps_per_sub_core: one for scope, one in made.items() if one is not None}


@pytest.fixture(scope="module")
def by_warps() -> dict[float, Fit]:
    return fits()


def test_a_warp_alone_takes_its_stalls_and_the_redirect(by_warps: dict[float, Fit]) -> None:
    """T = sum of the stall fields + 5 for the taken branch + loop head, 155 of 155 on an H200."""
    alone = by_warps[1]
    sizes = {one.feature: one.coefficient for one in alone.sizes}
    for feature in ("operations", "chain_latency_cycles", "loop_head_cycles"):
        assert sizes[feature] == pytest.approx(1, abs=0.1)
    assert sizes["ilp_filled_cycles"] == pytest.approx(-1, abs=0.02)
    # 35 cycles of loop control and the 5 of the redirect.
    assert sizes["loop_control_cycles"] == pytest.approx(40 / 35, abs=0.02)
    assert alone.errors.mean < 0.3
    assert alone.errors.worst < 3
    assert alone.naive_errors.mean > 10


@pytest.mark.parametrize(("warps", "model", "naive"), [(2, 2.2, 8), (4, 3.6, 6), (8, 5.2, 8)])
def test_it_beats_the_count_of_operations(
    by_warps: dict[float, Fit], warps: int, model: float, naive: float
) -> None:
    assert by_warps[warps].errors.mean < model
    assert by_warps[warps].naive_errors.mean > naive


def test_signs_are_those_of_the_note(by_warps: dict[float, Fit]) -> None:
    for one in by_warps.values():
        for size in one.sizes:
            sign = -1 if size.term == BONUS else 1
            assert sign * size.coefficient >= 0
            assert size.low <= size.high
            assert sign * size.low >= 0
            assert sign * size.high >= 0


def test_contributions_add_up(by_warps: dict[float, Fit]) -> None:
    one = by_warps[2]
    parts = one.model.contributions(one.observations[0])
    assert parts.keys() == TERMS.keys()
    assert sum(parts.values()) == pytest.approx(one.model.cycles(one.observations[0]))
    assert parts[BONUS] <= 0


def test_a_term_left_out_costs(by_warps: dict[float, Fit]) -> None:
    without = by_warps[1].without
    assert without["dependency_chain_penalty"].mean > 5
    assert without[BONUS].mean > 2
    assert "reduction" not in without


def test_known_coefficients_come_back() -> None:
    random = np.random.default_rng(1)
    found = []
    for length in range(1, 31):
        for number in (1, 2, 4):
            if number > length:
                continue
            waiting, ports = int(random.integers(0, 90)), int(random.integers(0, 20))
            own = replace(
NO_FEATURES, operations=length, chain_latency_cycles=waiting,
                ilp_filled_cycles=min(waiting, length), register_port_cycles=ports,
                loop_control_cycles=30,
            )  # fmt: skip
            cycles = 2 * 30 + 1.5 * length + 0.5 * waiting - 0.25 * own.ilp_filled_cycles
            found.append(
                observation(cycles + 3 * ports, length=length, accumulators=number, features=own)
            )
    made = fit(found[0].scope, found)
    assert made is not None
    expected = {
        "loop_control_cycles": 2, "operations": 1.5, "chain_latency_cycles": 0.5,
        "ilp_filled_cycles": -0.25, "register_port_cycles": 3,
    }  # fmt: skip
    assert {one.feature: one.coefficient for one in made.sizes} == pytest.approx(expected)
    assert made.errors.worst == pytest.approx(0, abs=1e-6)


def test_an_estimate_knows_nothing_of_its_length() -> None:
    """Another figure at one length changes no estimate at that length."""
    scope, own = next(iter(by_scope(measured())))
    changed = [replace(one, cycles=one.cycles * 3) if one.point.length == 7 else one for one in own]
    before, after = fit(scope, own), fit(scope, changed)
    assert before is not None
    assert after is not None
    at_7 = [place for place, one in enumerate(own) if one.point.length == 7]
    assert before.estimates[at_7] == pytest.approx(after.estimates[at_7])


def test_too_few_lengths_are_no_model() -> None:
    scope, own = next(iter(by_scope(measured())))
    assert fit(scope, [one for one in own if one.point.length in (7, 8, 29)]) is None


def test_measurements_and_predictions_are_never_mixed() -> None:
    predicted = [
        row | {"backend": "model", "device": "", "launch": f"{row['launch']}-model"}
        for row in summary_rows()
    ]
    half = [row for row in summary_rows() if row["warps_per_sub_core"] == 1]
    found = observations([*half, *predicted], evidence(), points())
    sources = {one.scope.warps_per_sub_core: set() for one in found}
    for one in found:
        sources[one.scope.warps_per_sub_core].add((one.source, one.backend))
    assert sources == {
        1: {("measured", "recorded")},
        2: {("predicted", "model")},
        4: {("predicted", "model")},
        8: {("predicted", "model")},
    }


def test_broken_and_failed_points_stay_out() -> None:
    assert observations(summary_rows(shape_status="broken"), evidence(), points()) == []
    assert observations(summary_rows(status="failed"), evidence(), points()) == []
