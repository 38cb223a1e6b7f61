"""What the data shows of each claim's ordering, as an observation; judging is another matter."""

from itertools import groupby

from probelab.config.models import Claim
from probelab.report import naming
from probelab.report.data import ProbeData, Row
from probelab.report.markdown import code, table
from probelab.report.naming import source_label
from probelab.report.wording import quoted

NOT_AN_ORDERING = "not an ordering; judged by a later version"


def scope_label(claim: Claim) -> str:
    """`coresident, in_loop, 256 threads`."""
    scope = claim.scope
    dispatch = [] if scope.dispatch == "none" else [scope.dispatch]
    return ", ".join([scope.placement, *dispatch, f"{scope.threads_per_block} threads"])


def observation(rows: list[Row]) -> str:
    """What one group of rows (an architecture, a launch or set of launches) shows."""
    sources = list(dict.fromkeys(source_label(row) for row in rows if row["sign"]))
    where = " / ".join(sources) or rows[0]["arch"]
    open_pairs = [row for row in rows if not row["sign"]]
    if open_pairs:
        return f"{where}: no answer, {open_pairs[0]['reason']}"
    differing = [row for row in rows if row["sign"] != row["expected_sign"]]
    if not differing:
        return f"{where}: the observed ordering agrees"
    shown = [
        f"{code(row['left_role'])} {row['sign']} {code(row['right_role'])} "
        f"({naming.percent((row['ratio'] - 1) * 100)})"
        for row in differing
    ]
    return f"{where}: the observed ordering differs: {'; '.join(shown)}"


def observations(data: ProbeData, claim: Claim) -> list[str]:
    """One observation per architecture and group; a reason if there is none."""
    if claim.expect is None:
        return [NOT_AN_ORDERING]
    rows = data.claim_rows(claim)
    if not rows:
        return ["no launch in this scope"]
    return [
        observation(list(members))
        for _, members in groupby(rows, key=lambda row: (row["arch"], row["group"]))
    ]


def claims_table(data: ProbeData) -> str:
    """A row per claim whose form can be held against the data: those with an ordering."""
    cells = [
        [
            code(claim.id),
            quoted(claim.statement),
            claim.source,
            scope_label(claim),
            code(" ".join((claim.expect or "").split())),
            "; ".join(observations(data, claim)),
        ]
        for claim in data.probe.claims
        if claim.expect is not None
    ]
    header = ["claim", "statement", "source", "scope", "expected", "observed"]
    return table(header, cells)


def other_claims(data: ProbeData) -> list[tuple[str, str, str]]:
    """(id, statement, source) of the claims that expect no ordering."""
    return [
        (claim.id, quoted(claim.statement), claim.source)
        for claim in data.probe.claims
        if claim.expect is None
    ]
