"""The verdict on a variant: does each role's machine code have the declared shape?"""

from collections.abc import Iterable
from typing import Literal

from probelab.sass.kernel import Kernel
from probelab.schema.intent import Intent
from probelab.schema.manifests import PathStep, RoleShape, ShapeRow
from probelab.shape.chains import find_chains
from probelab.shape.compare import (
    Evidence,
    chain_findings,
    loop_findings,
    surrounding_findings,
)
from probelab.shape.dataflow import has_immediate
from probelab.shape.paths import CannotFollowError, Path, RolePaths, WrongStructureError
from probelab.shape.regions import find_regions
from probelab.shape.words import describe_chains, excerpt, mnemonic_counts

Verdict = Literal["ok", "broken", "not checked"]

_NO_INTENT = "no intent is declared for this role"


def _paths(
    kernel: Kernel, roles: list[str], placement: str, dispatch: str
) -> list[Path | CannotFollowError]:
    """The path of each role, or why there is none."""
    paths: list[Path | CannotFollowError] = []
    try:
        finder = RolePaths(kernel, evaluate=placement != "isolated")
        if placement == "isolated":
            return [finder.isolated() for _ in roles]
        if dispatch == "in_loop":
            selector = finder.in_loop_selector()
        elif dispatch == "hoisted":
            selector = finder.hoisted_selector()
        else:
            raise CannotFollowError(f"{placement} with dispatch {dispatch}: nothing to follow")
    except CannotFollowError as error:
        return [error for _ in roles]
    for role in range(len(roles)):
        try:
            paths.append(finder.with_role(selector, role))
        except CannotFollowError as error:
            paths.append(error)
    return paths


def _role_shape(
    kernel: Kernel, role: str, path: Path, intent: Intent | None, *, may_dispatch: bool
) -> RoleShape:
    intended = intent.opcode if intent is not None else None
    regions = find_regions(path, intended)
    flow = regions.flow
    chains = find_chains(regions, intended)
    evidence = Evidence(kernel, path, regions, chains)
    unknown = [one.instruction for one in path.steps if one.active is None]
    status: Verdict
    if intent is None:
        status, findings = "not checked", [_NO_INTENT]
    elif unknown:
        status = "not checked"
        findings = [
            f"it isn't known whether {unknown[0].text} at {unknown[0].address:#06x} executes"
        ]
    else:
        findings = [
            *chain_findings(evidence, intent),
            *surrounding_findings(evidence, intent, may_dispatch=may_dispatch),
            *loop_findings(evidence, may_dispatch=may_dispatch),
        ]
        status = "broken" if findings else "ok"
    family = set(chains.family)
    body = [flow.instructions[index] for index in regions.steps("body")]
    setup = regions.steps("setup")
    live = {
        name
        for index in regions.steps("body")
        for name in (*flow.accesses[index].reads, *flow.accesses[index].writes)
        if name.startswith("R")
    }
    opcode = intent.opcode if intent is not None else "/".join(sorted({b.opcode for b in body}))
    return RoleShape(
        role=role,
        status=status,
        findings=findings,
        opcodes=mnemonic_counts(path.steps),
        chains=[sum(index in family for index in one.steps) for one in chains.chains],
        accumulators=[list(one.registers) for one in chains.chains],
        setup=len(setup),
        reduction=len(regions.steps("reduction")),
        dispatch=len(regions.steps("dispatch")),
        loop_control=len(regions.steps("loop_control")),
        other=len(regions.steps("other")),
        instructions=len(path.steps),
        stall_sum=sum(one.instruction.control.stall for one in path.steps),
        live_registers=len(live),
        description=describe_chains(
            chains.chains,
            [[flow.accesses[i].writes[0] for i in one.steps] for one in chains.chains],
            opcode,
            immediates=bool(body) and all(has_immediate(one) for one in body),
            setup=len(setup),
        ),
        excerpt=excerpt(path.steps, regions.regions),
        path=[
            PathStep(address=one.instruction.address, region=region, taken=one.taken)
            for one, region in zip(path.steps, regions.regions, strict=True)
        ],
    )


def _not_followed(role: str, error: CannotFollowError, intent: Intent | None) -> RoleShape:
    if intent is not None and isinstance(error, WrongStructureError):
        return RoleShape(role=role, status="broken", findings=[str(error)])
    return RoleShape(role=role, status="not checked", findings=[str(error)])


def _shared(paths: list[Path | CannotFollowError], roles: list[str]) -> dict[int, str]:
    """For each role of a hoisted kernel, another role that has the same timed loop."""
    owners: dict[int, int] = {}
    shared: dict[int, str] = {}
    for index, path in enumerate(paths):
        if isinstance(path, Path):
            owner = owners.setdefault(path.loop.head, index)
            if owner != index:
                shared[index] = roles[owner]
                shared.setdefault(owner, roles[index])
    return shared


def _verdict(shapes: Iterable[RoleShape]) -> tuple[Verdict, str]:
    """The worst status, and the findings behind it."""
    shapes = list(shapes)
    for status in ("broken", "not checked"):
        bad = [one for one in shapes if one.status == status]
        if bad:
            reasons = dict.fromkeys("; ".join(one.findings) for one in bad)
            if len(reasons) == 1 and len(bad) > 1:
                return bad[0].status, next(iter(reasons))
            return bad[0].status, "; ".join(f"{one.role}: {'; '.join(one.findings)}" for one in bad)
    return "ok", ""


def check(
    kernel: Kernel,
    roles: list[str],
    placement: str,
    dispatch: str,
    intents: dict[str, Intent],
) -> ShapeRow:
    """Compare the machine code of each role with its intent.

    Args:
        kernel: the variant's machine code.
        roles: the variant's roles by index; one when isolated.
        placement: `isolated` or `coresident`.
        dispatch: `none`, `in_loop` or `hoisted`.
        intents: by role; a role without one is described, but not checked.

    Returns:
        A row with an empty id. A role whose path can't be followed is `not checked`, with the
        reason; a kernel without the timed loop it should have is `broken`.
    """
    paths = _paths(kernel, roles, placement, dispatch)
    shared = _shared(paths, roles) if dispatch == "hoisted" else {}
    shapes: list[RoleShape] = []
    for index, (role, path) in enumerate(zip(roles, paths, strict=True)):
        intent = intents.get(role)
        if isinstance(path, CannotFollowError):
            shapes.append(_not_followed(role, path, intent))
            continue
        shape = _role_shape(kernel, role, path, intent, may_dispatch=dispatch == "in_loop")
        if index in shared and intent is not None:
            finding = f"shares its timed loop with {shared[index]}"
            shape = shape.model_copy(
                update={"status": "broken", "findings": [*shape.findings, finding]}
            )
        shapes.append(shape)
    status, reason = _verdict(shapes)
    return ShapeRow(id="", status=status, reason=reason, roles=shapes)
