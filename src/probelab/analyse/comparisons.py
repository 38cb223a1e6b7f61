"""From samples to `comparisons.parquet`: orderings of roles, and the pairs that claims name."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from probelab.analyse.groups import Group, Groups, same_source, settings_columns, source_columns
from probelab.analyse.ordering import by_progress, relations
from probelab.analyse.samples import Sample
from probelab.config.models import Claim, Probe
from probelab.schema import tables

Row = dict[str, Any]


@dataclass(frozen=True)
class _Pending:
    """A row whose relation is still to be found."""

    row: Row
    pair: tuple[Sample, Sample] | None


def _pending(
    group: Group,
    roles: tuple[str, str],
    pair: tuple[Sample | None, Sample | None],
    reason: str,
    **values: Any,
) -> _Pending:
    left, right = pair
    launch = group.launches[0]
    row = {
        **settings_columns(group.variants[0], launch),
        **source_columns(left.source if left and not reason else None),
        "group": group.name,
        "left_role": roles[0],
        "right_role": roles[1],
        "left_launch": left.launch.id if left else "",
        "right_launch": right.launch.id if right else "",
        "claim": "",
        "expected_sign": "",
        "reason": reason,
        **values,
    }
    return _Pending(row, (left, right) if left and right and not reason else None)


def _orderings(groups: Groups) -> list[_Pending]:
    found = []
    for name in sorted(groups.groups):
        group = groups.groups[name]
        comparable = groups.comparable(group)
        for source in sorted(comparable, key=lambda source: (source.backend, source.recording)):
            for position, (left, right) in enumerate(by_progress(comparable[source])):
                roles = (left.role, right.role)
                values = {"purpose": "ordering", "position": position}
                found.append(_pending(group, roles, (left, right), "", **values))
    return found


def _obstacle(groups: Groups, roles: tuple[str, str], pair: tuple[Sample | None, ...]) -> str:
    """Why a pair can't be compared; empty if it can."""
    for role, sample in zip(roles, pair, strict=True):
        if sample is None or not sample.usable:
            return f"{role} has no figure in this form"
        if groups.broken(sample):
            return f"the kernel of {role} has a broken shape"
    left, right = pair
    return same_source(left, right) if left and right else ""


def _in_scope(claim: Claim, probe: str, group: Group) -> bool:
    variant, launch = group.variants[0], group.launches[0]
    named = {role for left, _, right in claim.ordering() for role in (left, right)}
    return (
        variant.probe == probe
        and variant.placement == claim.scope.placement
        and variant.dispatch == claim.scope.dispatch
        and launch.threads_per_block == claim.scope.threads_per_block
        and named <= set(group.roles)
    )


def _claims(groups: Groups, probes: Iterable[Probe]) -> list[_Pending]:
    found = []
    for probe in probes:
        for claim in probe.claims:
            for name in sorted(groups.groups):
                group = groups.groups[name]
                if not _in_scope(claim, probe.name, group):
                    continue
                for position, (left, sign, right) in enumerate(claim.ordering()):
                    pair = (groups.sample(group, left), groups.sample(group, right))
                    obstacle = _obstacle(groups, (left, right), pair)
                    found.append(
                        _pending(
                            group,
                            (left, right),
                            pair,
                            obstacle,
                            purpose="claim",
                            claim=claim.id,
                            position=position,
                            expected_sign=sign,
                        )
                    )
    return found


def comparisons_table(groups: Groups, probes: Iterable[Probe]) -> pa.Table:
    """Neighbours of each group's ordering, then the pairs of each claim in its scope.

    Roles whose kernel has a broken shape, or that have no progress, stand in no ordering.
    """
    pending = _orderings(groups) + _claims(groups, probes)
    pairs = [item.pair for item in pending if item.pair]
    found = iter(relations(pairs))
    rows = []
    for item in pending:
        relation = next(found) if item.pair else None
        interval = relation.interval if relation else None
        rows.append(
            {
                **item.row,
                "ratio": relation.ratio if relation else None,
                "ratio_ci_low": interval.low if interval else None,
                "ratio_ci_high": interval.high if interval else None,
                "method": relation.method if relation else "",
                "sign": relation.sign if relation else "",
            }
        )
    return pa.Table.from_pylist(rows, schema=tables.COMPARISONS)
