"""The lab note's search of a listing, in the form in which PowerShell's Select-String prints it."""

import re

#: What the note looks for.
NOTE_PATTERN = r"Function|FFMA|FADD|FADD32I|FMUL"


def note_search(text: str, pattern: str = NOTE_PATTERN, context: int = 2) -> str:
    """Lines that match `pattern`, case-insensitive, with `context` lines before and after each.

    A matching line starts with `> `, a line of context with two spaces. Overlapping contexts are
    merged; an empty line separates what isn't adjacent. No match gives an empty text.
    """
    expression = re.compile(pattern, re.IGNORECASE)
    lines = text.splitlines()
    matches = {place for place, line in enumerate(lines) if expression.search(line)}
    shown = sorted(
        {
            near
            for place in matches
            for near in range(max(place - context, 0), min(place + context + 1, len(lines)))
        }
    )
    out: list[str] = []
    last = None
    for place in shown:
        if last is not None and place != last + 1:
            out.append("")
        out.append(("> " if place in matches else "  ") + lines[place].rstrip())
        last = place
    return "\n".join(out) + "\n" if out else ""
