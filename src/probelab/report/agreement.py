"""Whether the published order of roles comes out in the notes' own form."""

from collections.abc import Sequence
from itertools import combinations, pairwise

from probelab.analyse.ordering import sign
from probelab.analyse.statistics import Interval
from probelab.report import naming
from probelab.report.data import Form, ProbeData, Row
from probelab.report.markdown import code
from probelab.report.naming import source_label
from probelab.report.published import PublishedFigure
from probelab.report.standing import measured_first, short_label

#: Exceptions that a sentence names.
_NAMED = 3


def _relation(left: Row, right: Row) -> tuple[float, str]:
    """Ratio of progress and its sign; the interval is at least as wide as the ratio's own."""
    ratio = left["progress_mean"] / right["progress_mean"]
    bounds = [row[f"progress_ci_{end}"] for row in (left, right) for end in ("low", "high")]
    if None in bounds or not all(bounds[2:]):
        return ratio, sign(ratio, None)
    return ratio, sign(ratio, Interval(bounds[0] / bounds[3], bounds[1] / bounds[2]))


def _rows(data: ProbeData, form: Form, source: str) -> dict[str, Row]:
    """The rows of a form and source by role; of a role in several sets the first."""
    found: dict[str, Row] = {}
    for row in data.with_figures(form):
        if source_label(row) == source and row["shape_status"] != "broken" and row["progress_mean"]:
            found.setdefault(row["role"], row)
    return found


def elsewhere(data: ProbeData, form: Form, source: str, pair: tuple[str, str]) -> str:
    """The difference of a pair in the source's other forms: `; other forms: hoisted -7.25 %`."""
    forms = [other for other in data.forms if other.arch == form.arch]
    parts = []
    for other in forms:
        rows = _rows(data, other, source)
        if other != form and pair[0] in rows and pair[1] in rows:
            ratio, _ = _relation(rows[pair[0]], rows[pair[1]])
            parts.append(f"{short_label(other, forms)} {naming.percent((ratio - 1) * 100)}")
    return f"; other forms: {', '.join(parts)}" if parts else ""


def premises(data: ProbeData, published: Sequence[PublishedFigure]) -> list[str]:
    """Pairs of neighbours in the published order that stand the other way in every form here."""
    given = {figure.role: figure.progress for figure in published if figure.progress}
    order = sorted(given, key=lambda role: -(given[role] or 0.0))
    found = []
    for left, right in pairwise(order):
        if sign((given[left] or 0.0) / (given[right] or 1.0), None) == "≈":
            continue
        by_source: dict[str, list[float]] = {}
        for form in data.forms:
            for source in dict.fromkeys(source_label(row) for row in data.with_figures(form)):
                rows = _rows(data, form, source)
                if left in rows and right in rows:
                    by_source.setdefault(source, []).append(_relation(rows[left], rows[right])[0])
        for source in measured_first(list(by_source), data):
            ratios = by_source[source]
            if all(sign(ratio, None) == "<" for ratio in ratios):
                sizes = [naming.percent((1 / ratio - 1) * 100) for ratio in ratios]
                span = " to ".join(dict.fromkeys((min(sizes, key=_size), max(sizes, key=_size))))
                found.append(
                    f"**{code(f'{left} > {right}')}, as published, holds in none of "
                    f"{naming.count(len(ratios), 'form')}** ({source}): {code(right)} is ahead by "
                    f"{span}."
                )
    return found


def _size(text: str) -> float:
    return float(text.removesuffix(" %"))


def _agreement(
    data: ProbeData, form: Form, source: str, published: Sequence[PublishedFigure]
) -> str:
    """How many pairs stand in the published order, and every other pair with its size."""
    given = {figure.role: figure.progress for figure in published if figure.progress}
    own = _rows(data, form, source)
    pairs = list(combinations([role for role in given if role in own], 2))
    same = 0
    exceptions: dict[str, list[str]] = {"not as published": [], "reversed": []}
    for one, two in pairs:
        left, right = (one, two) if given[one] >= given[two] else (two, one)
        expected = sign(given[left] / given[right], None)
        ratio, found = _relation(own[left], own[right])
        if found == expected:
            same += 1
            continue
        size = f"here {naming.percent((ratio - 1) * 100)}"
        if expected == "≈":
            ahead, by = (left, ratio) if ratio > 1 else (right, 1 / ratio)
            size = f"here {code(ahead)} {naming.percent((by - 1) * 100)}"
        opposite = {found, expected} == {">", "<"}
        if opposite:
            size += elsewhere(data, form, source, (left, right))
        kind = "reversed" if opposite else "not as published"
        exceptions[kind].append(f"{code(f'{left} {expected} {right}')} ({size})")
    if not pairs:
        return ""
    parts = [f"{same} of {len(pairs)} pairs of roles stand as published"]
    for kind, texts in exceptions.items():
        if texts:
            more = [f"{len(texts) - _NAMED} more"] if len(texts) > _NAMED else []
            parts.append(f"{kind}: {'; '.join([*texts[:_NAMED], *more])}")
    return "; ".join(parts)


def published_sentences(data: ProbeData, published: Sequence[PublishedFigure]) -> list[str]:
    """For each source that has the notes' form: which pairs stand as published."""
    found = []
    for form in data.forms:
        if form.notes and published:
            sources = dict.fromkeys(source_label(row) for row in data.with_figures(form))
            for source in sources:
                text = _agreement(data, form, source, published)
                if text:
                    found.append(f"In the notes' form ({form.label}), {source}: {text}.")
    return found
