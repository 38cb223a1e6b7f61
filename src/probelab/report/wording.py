"""The rules on wording: what must not be concluded, and a check that the report doesn't."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from probelab.config.models import Probe, Wording
from probelab.errors import DataError

#: Characters around what the report quotes (a forbidden wording, a claim that is under test);
#: they are from Unicode's private use area and are removed after the check.
_OPEN, _CLOSE = "\ue000", "\ue001"
_QUOTED = re.compile(f"{_OPEN}[^{_CLOSE}]*{_CLOSE}")
_MARKUP = re.compile(r"[*_`|>\s]+")


def quoted(text: str) -> str:
    """Mark a text as quoted: the report doesn't say it, it says that others do."""
    return f"{_OPEN}{text}{_CLOSE}"


def unmarked(text: str) -> str:
    """The text without the marks of `quoted`."""
    return text.replace(_OPEN, "").replace(_CLOSE, "")


def _plain(text: str) -> str:
    """Lower case, words separated by single spaces, without Markdown's signs."""
    return _MARKUP.sub(" ", text).strip().casefold()


def _pattern(forbidden: str) -> re.Pattern[str]:
    words = re.escape(_plain(forbidden).rstrip(".!。 "))
    return re.compile(rf"(?<![^\W_]){words}(?![^\W_])")


@dataclass(frozen=True)
class Violation:
    """A sentence that contains a wording which a rule forbids."""

    sentence: str
    forbidden: str
    rule: Wording


def violations(text: str, rules: Iterable[Wording]) -> list[Violation]:
    """Every place where `text` says, outside of quotations, what one of `rules` forbids.

    Case, line breaks, spacing and Markdown's emphasis make no difference; whole words only.
    """
    plain = _plain(_QUOTED.sub(" … ", text))
    found = []
    for rule in rules:
        for forbidden in rule.forbidden:
            for match in _pattern(forbidden).finditer(plain):
                start = plain.rfind(". ", 0, match.start()) + 1
                end = plain.find(". ", match.end())
                sentence = plain[start : end if end >= 0 else None].strip()[:200]
                found.append(Violation(sentence, forbidden, rule))
    return found


def checked(text: str, probes: Iterable[Probe]) -> str:
    """The report without marks, if none of the probes' rules forbids a part of it.

    Raises:
        DataError: with the sentence and the rule.
    """
    found = violations(text, [rule for probe in probes for rule in probe.wording])
    if found:
        first = found[0]
        raise DataError(
            f"the report would say {first.forbidden!r}, which a rule on wording forbids, in: "
            f"{first.sentence!r}",
            where="report",
            hint=f"say instead: {first.rule.instead}",
        )
    return unmarked(text)
