"""The check that the report says nothing that a rule on wording forbids."""

import pytest

from probelab.config.models import Probe
from probelab.errors import DataError
from probelab.report.wording import checked, quoted, violations
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
    with pytest.raises(DataError, match="a rule on wording forbids") as error:
        checked(text, [PROBE])
    assert "say instead: In this kernel shape" in str(error.value)


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


def test_a_checked_report_has_no_marks() -> None:
    assert checked(f"*{quoted('FMA is faster than ADD')}*", [PROBE]) == "*FMA is faster than ADD*"
