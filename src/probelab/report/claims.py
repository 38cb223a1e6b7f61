"""What the data shows of each claim's ordering, as an observation; judging is another matter."""

from itertools import groupby

from probelab.config.models import Claim
from probelab.report.data import ProbeData, Row
from probelab.report.markdown import code, table
from probelab.report.naming import listed, source_label
from probelab.report.rules import observed_pair
from probelab.report.wording import quoted


def scope_label(claim: Claim) -> str:
    """`coresident, in_loop, 256 threads`."""
    scope = claim.scope
    dispatch = [] if scope.dispatch == "none" else [scope.dispatch]
    return ", ".join([scope.placement, *dispatch, f"{scope.threads_per_block} threads"])


def agreement(rows: list[Row]) -> str:
    """Whether one group's pairs (a launch, or a set of launches) stand as a claim expects."""
    open_pairs = [row for row in rows if not row["sign"]]
    if open_pairs:
        return f"no answer: {open_pairs[0]['reason']}"
    differing = sum(1 for row in rows if row["sign"] != row["expected_sign"])
    if not differing:
        return "agrees"
    return "differs" if len(rows) == 1 else f"differs in {differing} of {len(rows)} pairs"


def _observed(data: ProbeData, claim: Claim, arch: str) -> list[list[Row]]:
    """A claim's pairs in each group of roles of an architecture."""
    rows = [row for row in data.claim_rows(claim) if row["arch"] == arch]
    return [list(members) for _, members in groupby(rows, key=lambda row: row["group"])]


def _table(data: ProbeData, claims: list[Claim], arch: str) -> str:
    cells = []
    for claim in claims:
        groups = _observed(data, claim, arch)
        cells.append(
            [
                code(claim.id),
                code(" ".join((claim.expect or "").split())),
                "; ".join(agreement(rows) for rows in groups) or "no launch in this scope",
                "; ".join(observed_pair(row) for rows in groups for row in rows if row["sign"]),
            ]
        )
    return table(["claim", "expected", "observed", "order observed"], cells)


def claims_tables(data: ProbeData) -> list[dict[str, str]]:
    """For each scope and architecture a row per claim that is an ordering, or why there is none."""
    found = []
    for scope in dict.fromkeys(scope_label(claim) for claim in data.probe.claims if claim.expect):
        claims = [
            claim for claim in data.probe.claims if claim.expect and scope_label(claim) == scope
        ]
        for arch in data.archs:
            rows = [row for claim in claims for row in data.claim_rows(claim)]
            rows = [row for row in rows if row["arch"] == arch]
            known = [row for row in rows if row["sign"]]
            sources = listed(dict.fromkeys(source_label(row) for row in known))
            nothing = (
                f"no answer to any: {rows[0]['reason']}" if rows else "no launch in this scope"
            )
            found.append(
                {
                    "title": f"{scope}: {sources or f'{arch}, {nothing}'}",
                    "table": _table(data, claims, arch) if known else "",
                }
            )
    return found


def statements(data: ProbeData) -> list[tuple[str, str, str, bool]]:
    """(id, statement, source, whether it is an ordering) of every claim."""
    return [
        (
            claim.id,
            quoted(" ".join(claim.statement.split())),
            quoted(claim.source),
            claim.expect is not None,
        )
        for claim in data.probe.claims
    ]
