"""Where the cycles of a warp that runs alone go, as predicted: by role, dispatch and cause."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from probelab.report import naming
from probelab.report.data import ProbeData, Row
from probelab.report.markdown import code, table
from probelab.report.naming import listed

#: In the order of the path; what a later model adds stands behind them.
_ORDER = [
    "body", "reduction", "dispatch", "loop_control", "other", "branch_redirect", "loop_head",
    "instruction_cache",
]  # fmt: skip
_WAYS = ["in_loop", "hoisted", "isolated"]
#: More isolated roles than this aren't broken down unless they share a kernel.
_MANY = 16
#: In a kernel of more roles the sentence groups them by accumulators.
_FEW = 4


@dataclass(frozen=True)
class Cost:
    """One role's iteration in one way of selecting roles."""

    role: str
    group: int  #: the set of roles that share a kernel, from 1; 0 where there is no such set
    label: str  #: the role, with its set where it is in several
    way: str  #: in_loop, hoisted or isolated
    first: bool  #: whether it is the role of warp slot 0
    by_cause: dict[str, float]

    @property
    def cycles(self) -> float:
        """Their sum."""
        return sum(self.by_cause.values())


def _found(data: ProbeData, arch: str) -> dict[tuple[str, int, str], Row]:
    """(role, set, way) → the first row that is broken down."""
    found: dict[tuple[str, int, str], Row] = {}
    for form in data.forms:
        if form.arch == arch:
            way = "isolated" if form.placement == "isolated" else form.dispatch
            for row in data.of_form(form):
                if row["predicted_alone_cycles_by_cause"]:
                    key = (row["role"], data.set_of(row["variant"]), way)
                    found.setdefault(key, row)
    return found


def costs(data: ProbeData, arch: str) -> list[Cost]:
    """What is known for an architecture: roles that share a kernel, else all (if not many)."""
    found = _found(data, arch)
    groups = sorted({group for _, group, _ in found if group})
    members = [(group, role) for group in groups for role in data.probe.coresident_sets[group - 1]]
    if not members:
        members = [(0, role) for role in data.probe.role_names]
        if len(members) > _MANY:
            return []
    names = [role for _, role in members]
    result = []
    for group, role in members:
        for way in _WAYS:
            row = found.get((role, 0 if way == "isolated" else group, way))
            if row is None:
                continue
            known = dict(row["predicted_alone_cycles_by_cause"])
            order = [*_ORDER, *sorted(set(known) - set(_ORDER))]
            result.append(
                Cost(
                    role=role,
                    group=group,
                    label=f"{role} (set {group})" if names.count(role) > 1 else role,
                    way=way,
                    first=0 in row["warp_slots"],
                    by_cause={cause: known[cause] for cause in order if known.get(cause)},
                )
            )
    return result


def causes_of(own: Sequence[Cost]) -> list[str]:
    """All causes in their order."""
    known = {cause for cost in own for cause in cost.by_cause}
    return [cause for cause in [*_ORDER, *sorted(known - set(_ORDER))] if cause in known]


def cause_place(cause: str) -> int:
    """A cause's place among all that are known; it decides the colour."""
    return _ORDER.index(cause) if cause in _ORDER else len(_ORDER)


def cause_label(cause: str) -> str:
    """`loop control`."""
    return cause.replace("_", " ")


def cause_table(data: ProbeData, arch: str) -> str:
    """A row per role and way, a column per cause; empty if nothing is broken down."""
    own = costs(data, arch)
    causes = causes_of(own)
    cells = [
        [
            code(cost.label),
            cost.way,
            *(naming.cycles(cost.by_cause.get(cause)) for cause in causes),
            naming.cycles(cost.cycles),
        ]
        for cost in own
    ]
    header = ["role", "role selected", *(cause_label(cause) for cause in causes), "sum"]
    return table(header, cells, right=range(2, len(header)))


def _span(values: Sequence[float]) -> str:
    return " to ".join(dict.fromkeys(naming.cycles(value) for value in (min(values), max(values))))


def _by_role(own: Sequence[Cost]) -> str:
    """`17 for `a` (first in the ladder), 39 for `b``."""
    return listed(f"{number} for {name}" for number, name in (_one(cost, own) for cost in own))


def _one(cost: Cost, own: Sequence[Cost]) -> tuple[str, str]:
    dispatch = cost.by_cause.get("dispatch", 0.0)
    least = dispatch == min(other.by_cause.get("dispatch", 0.0) for other in own)
    place = " (first in the ladder)" if cost.first and least else ""
    return naming.cycles(dispatch), f"{code(cost.role)}{place}"


def _by_reference(data: ProbeData, own: Sequence[Cost]) -> str:
    """Each reference role, then the roles set against it by their number of accumulators."""
    accumulators = {role.name: role.intent.accumulators for role in data.probe.roles if role.intent}
    references = {role.name: role.reference for role in data.probe.roles}
    parts = []
    for cost in own:
        if references[cost.role] in {other.role for other in own}:
            continue
        number, name = _one(cost, own)
        compared = [other for other in own if references[other.role] == cost.role]
        grouped: dict[int, list[float]] = defaultdict(list)
        for other in compared:
            if other.role in accumulators:
                grouped[accumulators[other.role]].append(other.by_cause.get("dispatch", 0.0))
        part = f"{number} for {name}"
        if len(compared) == 1 or len(grouped) < 2:
            part += "".join(
                f" and {amount} for {role}" for amount, role in (_one(o, own) for o in compared)
            )
        else:
            spans = [
                f"{_span(values)} with {split} {'accumulator' if split == 1 else 'accumulators'}"
                for split, values in sorted(grouped.items())
            ]
            part += f"; of the {len(compared)} roles set against it {listed(spans)}"
        parts.append(part)
    return "; ".join(parts)


def dispatch_sentence(data: ProbeData) -> list[str]:
    """What selecting the role costs inside the timed loop, and outside of it."""
    for arch in data.archs:
        known = costs(data, arch)
        own = [cost for cost in known if cost.way == "in_loop"]
        amounts = [cost.by_cause.get("dispatch", 0.0) for cost in own]
        if not own or not any(amounts):
            continue
        groups = {cost.group for cost in own}
        if len(groups) > 1:
            text = f"{_span(amounts)}, depending on the role's place in the ladder"
        else:
            text = _by_role(own) if len(own) <= _FEW else _by_reference(data, own)
        arithmetic = [
            cost.by_cause.get("body", 0.0) + cost.by_cause.get("reduction", 0.0) for cost in own
        ]
        branches = {
            (cost.label, cost.way): cost.by_cause.get("branch_redirect", 0.0) for cost in known
        }
        added = [
            branches[cost.label, "in_loop"] - branches[cost.label, "hoisted"]
            for cost in own
            if (cost.label, "hoisted") in branches
        ]
        ways = f" The branches taken on the way add {_span(added)}." if any(added) else ""
        hoisted = [cost.by_cause.get("dispatch", 0.0) for cost in known if cost.way == "hoisted"]
        outside = f" Hoisted, selecting the role costs {_span(hoisted)}." if hoisted else ""
        return [
            f"**In_loop, selecting the role costs a warp cycles in every iteration:** {text}. The "
            f"roles' own arithmetic (body and reduction) takes {_span(arithmetic)} there.{ways}"
            f"{outside} Cycles predicted from SASS ({arch}) for a warp that runs alone."
        ]
    return []
