"""The rules on wording: what must not be concluded, and a check that the report doesn't.

The check is for the sentences that the report makes itself. Whatever comes from elsewhere (a
config's texts, published figures, messages of tools) is quoted, and nobody's quotation is the
report's own conclusion.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from probelab.config.models import Wording
from probelab.report.markdown import first_line

#: Characters around what the report quotes (a forbidden wording, a claim that is under test);
#: they are from Unicode's private use area and are removed after the check.
_OPEN, _CLOSE = "\ue000", "\ue001"
_QUOTED = re.compile(f"{_OPEN}[^{_CLOSE}]*{_CLOSE}")
_MARKUP = re.compile(r"[*_`|>\s]+")


def quoted(text: str) -> str:
    """Mark a text as quoted: the report doesn't say it, it says that others do."""
    return f"{_OPEN}{unmarked(text)}{_CLOSE}" if text else ""


def unmarked(text: str) -> str:
    """The text without the marks of `quoted`."""
    return text.replace(_OPEN, "").replace(_CLOSE, "")


def _plain(text: str) -> str:
    """Lower case, words separated by single spaces, without Markdown's signs."""
    return _MARKUP.sub(" ", text).strip().casefold()


def _pattern(forbidden: str) -> re.Pattern[str] | None:
    words = re.escape(_plain(forbidden).rstrip(".!。 "))
    return re.compile(rf"(?<![^\W_]){words}(?![^\W_])") if words else None


@dataclass(frozen=True)
class Violation:
    """A sentence that contains a wording which a rule forbids."""

    sentence: str
    forbidden: str
    rule: Wording

    @property
    def line(self) -> str:
        """What is wrong, in one line; quoted throughout."""
        return quoted(
            f"the report itself says “{first_line(self.forbidden)}”, which a rule on wording "
            f"forbids ({first_line(self.rule.source)}), in: “{first_line(self.sentence)}”"
        )


def violations(text: str, rules: Iterable[Wording]) -> list[Violation]:
    """Every place where `text` says, outside of quotations, what one of `rules` forbids.

    Case, line breaks, spacing and Markdown's emphasis make no difference; whole words only.
    """
    plain = _plain(_QUOTED.sub(" … ", text))
    found = []
    for rule in rules:
        for forbidden in rule.forbidden:
            pattern = _pattern(forbidden)
            for match in pattern.finditer(plain) if pattern else ():
                start = plain.rfind(". ", 0, match.start()) + 1
                end = plain.find(". ", match.end())
                sentence = plain[start : end if end >= 0 else None].strip()[:200]
                found.append(Violation(sentence, forbidden, rule))
    return found
