"""What the data shows of each claim's ordering, as an observation; judging is another matter."""

from itertools import groupby

from probelab.config.models import Claim
from probelab.report import naming
from probelab.report.data import ProbeData, Row
from probelab.report.markdown import code, table
from probelab.report.naming import source_label
from probelab.report.wording import quoted


def scope_label(claim: Claim) -> str:
    """`coresident, in_loop, 256 threads`."""
    scope = claim.scope
    dispatch = [] if scope.dispatch == "none" else [scope.dispatch]
    return ", ".join([scope.placement, *dispatch, f"{scope.threads_per_block} threads"])


def observation(rows: list[Row]) -> str:
    """What one group of rows (an architecture, a launch or set of launches) shows."""
    sources = list(dict.fromkeys(source_label(row) for row in rows if row["sign"]))
    open_pairs = [row for row in rows if not row["sign"]]
    if open_pairs:
        return f"no answer: {open_pairs[0]['reason']}"
    differing = [row for row in rows if row["sign"] != row["expected_sign"]]
    if not differing:
        return f"agrees, {' / '.join(sources)}"
    shown = [
        f"{code(row['left_role'])} {row['sign']} {code(row['right_role'])} "
        f"({naming.percent((row['ratio'] - 1) * 100)})"
        for row in differing
    ]
    return f"differs, {' / '.join(sources)}: {'; '.join(shown)}"


def observations(data: ProbeData, claim: Claim) -> dict[str, str]:
    """Architecture → what is observed there; several groups of roles are joined."""
    found: dict[str, list[str]] = {}
    for (arch, _), members in groupby(
        data.claim_rows(claim), key=lambda row: (row["arch"], row["group"])
    ):
        found.setdefault(arch, []).append(observation(list(members)))
    return {arch: "; ".join(texts) for arch, texts in found.items()}


def claims_tables(data: ProbeData) -> list[tuple[str, str]]:
    """(scope, a row per claim) for the claims that are orderings."""
    scopes = dict.fromkeys(scope_label(claim) for claim in data.probe.claims if claim.expect)
    found = []
    for scope in scopes:
        cells = []
        for claim in data.probe.claims:
            if not claim.expect or scope_label(claim) != scope:
                continue
            seen = observations(data, claim)
            cells.append(
                [
                    f"{code(claim.id)}: {quoted(claim.statement)} ({claim.source})",
                    code(" ".join(claim.expect.split())),
                    *(seen.get(arch, "no launch in this scope") for arch in data.archs),
                ]
            )
        header = ["claim", "expected", *(f"observed, {arch}" for arch in data.archs)]
        found.append((scope, table(header, cells)))
    return found


def other_claims(data: ProbeData) -> list[tuple[str, str, str]]:
    """(id, statement, source) of the claims that expect no ordering."""
    return [
        (claim.id, quoted(claim.statement), claim.source)
        for claim in data.probe.claims
        if claim.expect is None
    ]
