"""A probe's rules on wording beside what this run shows of the orderings that they rest on."""

import re
from typing import Any

from probelab.config.models import Claim, Probe, Wording
from probelab.report import naming
from probelab.report.agreement import elsewhere
from probelab.report.data import ProbeData, Row, form_of
from probelab.report.markdown import code
from probelab.report.naming import source_label
from probelab.report.wording import quoted

#: Pairs that one rule shows at most.
_PAIRS = 3

_SECTION = re.compile(r"[0-9]+(?:\.[0-9]+)*")


def _sections(source: str) -> set[tuple[str, str]]:
    """(document, section) of a source like `second note, 10.3, 10.4 and 14`."""
    document, _, rest = source.partition(",")
    return {(document.strip().casefold(), number) for number in _SECTION.findall(rest)}


def _words(text: str) -> str:
    return " ".join(re.findall(r"[a-z0-9]+", text.casefold()))


def named_roles(text: str, probe: Probe) -> set[str]:
    """The roles that a text names, in full or by a beginning that only one role has.

    `dependent ADD` names `dependent_add_chain` if no other role's name begins like that.
    """
    padded = f" {_words(text)} "
    found = set()
    for name in probe.role_names:
        words = name.casefold().split("_")
        for length in range(len(words), 1, -1):
            start = words[:length]
            others = (other for other in probe.role_names if other != name)
            if length < len(words) and any(
                other.casefold().split("_")[:length] == start for other in others
            ):
                break
            if f" {' '.join(start)} " in padded:
                found.add(name)
                break
    return found


def _claims_behind(rule: Wording, data: ProbeData) -> list[tuple[Claim, set[str]]]:
    """The orderings that a rule rests on, each with the roles that it is about (empty: all).

    Those of the roles that the rule names; if it names none, those that stand in the same section.
    """
    named = named_roles(rule.instead, data.probe)
    found = []
    for claim in data.probe.claims:
        if claim.expect is None:
            continue
        if len(named) >= 2:
            found.append((claim, named))
        elif _sections(claim.source) & _sections(rule.source):
            found.append((claim, set()))
    return found


def contradictions(rule: Wording, data: ProbeData) -> list[str]:
    """Orderings that a rule rests on and that this run shows otherwise, each pair once."""
    found: dict[tuple[Any, ...], str] = {}
    for claim, only in _claims_behind(rule, data):
        for row in data.claim_rows(claim):
            if not row["sign"] or row["sign"] == row["expected_sign"]:
                continue
            if only and not {row["left_role"], row["right_role"]} <= only:
                continue
            key = (row["arch"], row["group"], frozenset((row["left_role"], row["right_role"])))
            form, source = form_of(row), source_label(row)
            ahead, behind = row["left_role"], row["right_role"]
            if row["sign"] == "<":
                ahead, behind = behind, ahead
            others = elsewhere(data, form, source, (ahead, behind))
            found.setdefault(key, observed_pair(row, f"{source}, {form.label}{others}"))
    texts = list(found.values())
    more = [f"{len(texts) - _PAIRS} more pairs, under the claims"] if len(texts) > _PAIRS else []
    return [*texts[:_PAIRS], *more]


def observed_pair(row: Row, where: str = "") -> str:
    """What a pair of a claim shows, the role that is ahead first: `a` > `b` (+25.14 %, where)."""
    left, right, ratio = row["left_role"], row["right_role"], row["ratio"]
    if row["sign"] == "<":
        left, right, ratio = right, left, 1 / ratio
    sign = "≈" if row["sign"] == "≈" else ">"
    size = naming.percent((ratio - 1) * 100)
    return f"{code(left)} {sign} {code(right)} ({', '.join([size, where] if where else [size])})"


def wording_rules(data: ProbeData) -> list[dict[str, Any]]:
    """What the template says of each rule."""
    return [
        {
            "forbidden": [quoted(wording) for wording in rule.forbidden],
            "instead": quoted(" ".join(rule.instead.split())),
            "source": quoted(rule.source),
            "otherwise": contradictions(rule, data),
        }
        for rule in data.probe.wording
    ]
