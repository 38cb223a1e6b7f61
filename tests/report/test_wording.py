"""The check that the report says nothing that a rule on wording forbids."""

import pytest

from probelab.config.models import Probe
from probelab.report.wording import quoted, unmarked, violations
from tests.aggregate.synthetic import NOTE_1

RULE = {
    "forbidden": ["FMA is faster than ADD.", "FMA latency is lower than ADD latency"],
    "instead": "In this kernel shape, dependent_add_chain showed lower progress.",
    "source": "first note, 12",
}
PROBE = Probe.model_validate({**NOTE_1, "wording": [RULE]})


@pytest.mark.parametrize(
    "text",
    [
        "So FMA is faster than ADD here.",
        "we see that fma is\n  FASTER than *ADD*",
        "| FMA latency is lower than ADD latency |",
        "> `FMA` is faster than `ADD`",
    ],
)
def test_forbidden_wordings_are_found(text: str) -> None:
    assert len(violations(text, PROBE.wording)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "dependent_fma_chain > dependent_add_chain",
        "FMA is faster than ADDITION",
        "an xFMA is faster than ADD",
        f"Not: *{quoted('FMA is faster than ADD')}*.",
        f"FMA is {quoted('not')} faster than ADD",
    ],
)
def test_other_wordings_and_quotations_are_not(text: str) -> None:
    assert violations(text, PROBE.wording) == []


def test_a_violation_shows_its_sentence() -> None:
    (found,) = violations("One. Two says fma is faster than add, three. Four.", PROBE.wording)
    assert found.sentence == "two says fma is faster than add, three"
    assert found.forbidden == "FMA is faster than ADD."


def test_a_violation_is_one_line_and_none_itself() -> None:
    (found,) = violations("So FMA is faster than ADD.", PROBE.wording)
    assert unmarked(found.line) == (
        "the report itself says “FMA is faster than ADD.”, which a rule on wording forbids (first "
        "note, 12), in: “so fma is faster than add.”"
    )
    assert violations(found.line, PROBE.wording) == []


def test_marks_don_t_nest_and_go() -> None:
    inner = quoted("FMA is faster than ADD")
    text = f"*{quoted(f'a {inner} b')}*"
    assert violations(text, PROBE.wording) == []
    assert unmarked(text) == "*a FMA is faster than ADD b*"
    assert quoted("") == ""


def test_a_rule_that_forbids_nothing_readable_is_no_rule() -> None:
    rule = PROBE.wording[0].model_copy(update={"forbidden": ["…", "*", " . "]})
    assert violations("Anything. At all *here*.", [rule]) == []
