"""The SASS evidence of each role: verdicts, structure, excerpts of the timed loop, links."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from probelab.report.data import ProbeData
from probelab.report.markdown import code, link, table
from probelab.report.naming import count, listed
from probelab.report.wording import quoted
from probelab.schema.manifests import RoleShape
from probelab.schema.plan import Variant
from probelab.schema.tidy import Evidence

#: Excerpts longer than this are cut; the listing has the rest.
EXCERPT_LINES = 48
#: Roles whose excerpts are printed; more would make the report unreadable.
EXCERPTS = 8
#: Likewise where roles differ in nothing but their length, or another architecture shows them.
FEW_EXCERPTS = 2

_VERDICT = {"ok": "yes", "broken": "**no**", "not checked": "not checked", "failed": "not checked"}


def variant_label(variant: Variant) -> str:
    """`isolated`, `coresident in_loop`."""
    return (
        variant.placement
        if variant.dispatch == "none"
        else (f"{variant.placement} {variant.dispatch}")
    )


@dataclass(frozen=True)
class _Seen:
    """A role as one variant's SASS shows it."""

    variant: Variant
    shape: RoleShape


def _seen(data: ProbeData, evidence: Evidence, arch: str) -> dict[str, list[_Seen]]:
    """Each role in all variants of an architecture, isolated first."""
    found: dict[str, list[_Seen]] = defaultdict(list)
    for variant in data.variants:
        row = evidence.shape.get(variant.id)
        if variant.arch == arch and row is not None:
            for shape in row.roles:
                found[shape.role].append(_Seen(variant, shape))
    for own in found.values():
        own.sort(key=lambda seen: (seen.variant.placement != "isolated", seen.variant.id))
    return found


def _verdict(seen: Sequence[_Seen]) -> str:
    """`yes`, or what each form says where they differ."""
    verdicts = {variant_label(one.variant): _VERDICT[one.shape.status] for one in seen}
    if len(set(verdicts.values())) <= 1:
        return next(iter(verdicts.values()), "not checked")
    return "; ".join(f"{label}: {verdict}" for label, verdict in verdicts.items())


def _undeclared(data: ProbeData) -> set[str]:
    """The roles without an intent: their SASS is described, but there is nothing to check."""
    return {role.name for role in data.probe.roles if role.intent is None}


def verdict_sentence(data: ProbeData, evidence: Evidence) -> str:
    """Does the SASS have the intended shape? One sentence over all roles, forms, architectures."""
    statuses: Counter[str] = Counter()
    undeclared = _undeclared(data)
    if len(undeclared) == len(data.probe.roles):
        kernels = count(len(data.variants), "kernel")
        return f"Does the SASS have the intended shape? No shape is declared for {kernels}."
    for variant in data.variants:
        row = evidence.shape.get(variant.id)
        known = {shape.role: shape.status for shape in row.roles} if row else {}
        statuses.update(
            known.get(role, "not checked") for role in variant.roles if role not in undeclared
        )
    total = sum(statuses.values())
    answer = (
        "Yes"
        if statuses["ok"] == total
        else "Not everywhere"
        if statuses["broken"]
        else "Not known everywhere"
    )
    rest = [
        f"{statuses[status]} {status}" for status in ("broken", "not checked") if statuses[status]
    ]
    if undeclared:
        rest.append(f"no shape declared for {count(len(undeclared), 'role')}")
    roles = len(data.probe.roles) - len(undeclared)
    return (
        f"Does the SASS have the intended shape? **{answer}**: {statuses['ok']} of {total} bodies "
        f"({roles} {'role' if roles == 1 else 'roles'}, {listed(sorted(data.archs))}, every kernel "
        f"that holds them){f'; {listed(rest)}' if rest else ''}."
    )


def problems(data: ProbeData, evidence: Evidence) -> list[str]:
    """What differs from the intent, or why it wasn't checked, each finding once."""
    found: dict[str, list[str]] = {}
    undeclared = _undeclared(data)
    for variant in data.variants:
        row = evidence.shape.get(variant.id)
        label = f"{variant.arch} {variant_label(variant)}"
        if row is None or (row.status == "failed" and row.reason):
            reason = row.reason if row else "the shape station left nothing about this kernel"
            found.setdefault(reason, []).append(f"{label} ({listed(variant.roles[:2])})")
            continue
        for shape in row.roles:
            if shape.status != "ok" and shape.role not in undeclared:
                text = (
                    f"{code(shape.role)} {shape.status}: {'; '.join(shape.findings) or row.reason}"
                )
                found.setdefault(text, []).append(label)
    return [f"{quoted(text)} ({listed(dict.fromkeys(places))})" for text, places in found.items()]


def broken(data: ProbeData, evidence: Evidence) -> list[str]:
    """Each kernel whose shape is broken, with the reason."""
    return [
        f"{code(variant.id)} ({variant.arch}, {variant_label(variant)}): "
        f"{quoted(evidence.shape_reason(variant.id))}"
        for variant in data.variants
        if evidence.shape_status(variant.id) == "broken"
    ]


def _opcodes(shape: RoleShape, family: str = "") -> str:
    """`7× FFMA, 1× BRA`, the most frequent first; only one family if it is given."""
    ordered = sorted(shape.opcodes.items(), key=lambda item: (-item[1], item[0]))
    ordered = [item for item in ordered if not family or item[0].split(".")[0] == family]
    return ", ".join(f"{number}× {opcode}" for opcode, number in ordered)


def _accumulators(shape: RoleShape) -> str:
    return ", ".join("/".join(registers) for registers in shape.accumulators)


def _chains(shape: RoleShape) -> str:
    return " + ".join(str(length) for length in shape.chains)


def _links(variant: Variant, evidence: Evidence, base: Path, root: Path) -> str:
    """Links to the listing and to the note's search of it."""
    row = evidence.sass.get(variant.id)
    targets = (("listing", row.listing), ("search", row.matches)) if row else ()
    return " · ".join(link(text, root / target, base) for text, target in targets if target)


def coresident_links(
    data: ProbeData, evidence: Evidence, arch: str, base: Path, root: Path
) -> list[str]:
    """Each kernel that holds several roles, with links to its listing and the note's search."""
    found = []
    for variant in data.variants:
        links = _links(variant, evidence, base, root)
        if variant.arch == arch and variant.placement == "coresident" and links:
            sets = len(data.probe.coresident_sets)
            which = f"set {data.set_of(variant.id)}, " if sets > 1 else ""
            roles = count(len(variant.roles), "role")
            found.append(f"{variant_label(variant)}, {which}{roles}: {links}")
    return sorted(found, key=lambda line: (line.startswith("coresident hoisted"), line))


def evidence_table(data: ProbeData, evidence: Evidence, arch: str, base: Path, root: Path) -> str:
    """A row per role: verdict, chain, registers, opcodes, costs, links.

    Args:
        data: the probe.
        evidence: the manifests.
        arch: one architecture.
        base: the report's folder.
        root: the results folder, which the manifests' paths are relative to.
    """
    compact = len(data.probe.roles) > 16
    undeclared = _undeclared(data)
    families = {role.name: role.intent.opcode for role in data.probe.roles if role.intent}
    cells = []
    everything = _seen(data, evidence, arch)
    for role in data.probe.role_names:
        seen = everything.get(role, [])
        if not seen:
            cells.append([code(role), "not checked", *[""] * 10])
            continue
        first = seen[0]
        in_loop = next((one for one in seen if one.variant.dispatch == "in_loop"), None)
        build = evidence.build.get(first.variant.id)
        cells.append(
            [
                code(role),
                "not declared" if role in undeclared else _verdict(seen),
                "" if compact else first.shape.description,
                _chains(first.shape),
                _accumulators(first.shape),
                _opcodes(first.shape, families.get(role, "") if compact else ""),
                str(first.shape.instructions or ""),
                str(first.shape.setup or ""),
                str(first.shape.reduction or ""),
                str(in_loop.shape.dispatch) if in_loop else "",
                str(first.shape.stall_sum or ""),
                str(build.registers) if build and build.registers else "",
                _links(first.variant, evidence, base, root),
            ]
        )
    header = [
        "role",
        "as intended?",
        "chain in words",
        "steps",
        "accumulators",
        "opcodes on the path",
        "instructions",
        "setup MOVs",
        "reduction",
        "dispatch (in_loop)",
        "stall sum",
        "registers",
        "evidence",
    ]
    return table(header, [row + [""] * (len(header) - len(row)) for row in cells], range(6, 12))


def excerpts(data: ProbeData, evidence: Evidence, arch: str) -> list[tuple[str, str, str]]:
    """(role, form, lines of its path through the timed loop) for the roles that matter most.

    Those are the first roles that claims name or that share a kernel, else the first.
    """
    named = [
        role for claim in data.probe.claims for left, _, right in claim.ordering()
        for role in (left, right)
    ]  # fmt: skip
    together = [role for members in data.probe.coresident or [] for role in members]
    full = data.sweep is None and arch == data.archs[0]
    number = EXCERPTS if full else FEW_EXCERPTS
    wanted = list(dict.fromkeys([*named, *together, *data.probe.role_names]))[:number]
    found = []
    everything = _seen(data, evidence, arch)
    for role in data.probe.role_names:
        seen = [one for one in everything.get(role, []) if one.shape.excerpt]
        if role not in wanted or not seen:
            continue
        lines = seen[0].shape.excerpt[:EXCERPT_LINES]
        rest = len(seen[0].shape.excerpt) - len(lines)
        if rest:
            lines = [*lines, f"… {rest} more lines; see the listing"]
        found.append((role, variant_label(seen[0].variant), "\n".join(lines)))
    return found
