"""The prediction for one launch."""

from probelab.errors import DataError
from probelab.predict.constants import Constants, load_constants
from probelab.predict.cost import Cost, NotPredictedError, iteration_cost
from probelab.sass.kernel import Kernel
from probelab.schema.manifests import PredictRow, RoleShape, ShapeRow, WarpPrediction
from probelab.schema.plan import SUB_CORES, Launch, Variant


def _why_not(variant: Variant, launch: Launch) -> str:
    """Why a warp's cost in this launch isn't that of a warp alone; empty if it is."""
    if launch.blocks > 1:
        return f"{launch.blocks} blocks: which of them share a multiprocessor isn't modelled yet"
    sharing = -(-launch.warps // SUB_CORES)
    if variant.placement != "isolated":
        return (
            f"coresident launch of {len(variant.roles)} roles, up to {sharing} "
            f"warp{'s' if sharing > 1 else ''} per sub-core: not modelled yet"
        )
    if sharing > 1:
        return f"{sharing} warps share a sub-core: not modelled yet"
    return ""


def _assumptions(cost: Cost, constants: Constants) -> list[str]:
    """What isn't known for this architecture, or this form of loop."""
    found: list[str] = []
    if constants.assumed_from:
        found.append(
            f"a taken branch costs {constants.taken_branch_cycles} cycles and a late line up to "
            f"{constants.next_line_cycles - 1}: assumed from {constants.assumed_from}"
        )
        if cost.reconvergences:
            found.append(
                f"BSYNC costs {constants.reconvergence_cycles} cycles: "
                f"assumed from {constants.assumed_from}"
            )
        if "instruction_cache" in cost.terms:
            found.append(
                f"the first instruction cache holds {constants.first_cache_instructions} "
                f"instructions: assumed from {constants.assumed_from}"
            )
    if cost.forward_branches:
        found.append(
            f"each of the {cost.forward_branches + 1} taken branches on the path costs "
            f"{constants.taken_branch_cycles} cycles, forward ones like the one back"
        )
    return found


def _warp(
    kernel: Kernel, slot: int, shape: RoleShape | None, role: str, why_not: str, arch: str
) -> WarpPrediction:
    if shape is None or not shape.path:
        reason = "; ".join(shape.findings) if shape is not None else "its shape isn't known"
        return WarpPrediction(warp_slot=slot, role=role, reason=f"path not followed: {reason}")
    constants = load_constants(arch)
    try:
        cost = iteration_cost(kernel, shape.path, constants)
    except NotPredictedError as error:
        return WarpPrediction(warp_slot=slot, role=role, reason=str(error))
    return WarpPrediction(
        warp_slot=slot,
        role=role,
        cycles_per_iteration=None if why_not else cost.total,
        alone_cycles_per_iteration=cost.total,
        reason=why_not,
        terms=cost.terms,
        assumptions=_assumptions(cost, constants),
    )


def predict_launch(kernel: Kernel, shape: ShapeRow, variant: Variant, launch: Launch) -> PredictRow:
    """Predict the cost of an iteration for each warp slot of `launch`.

    Where warps share a sub-core, or the launch mixes roles, `cycles_per_iteration` is left out with
    the reason, and `alone_cycles_per_iteration` says what the warp would take alone.

    Args:
        kernel: the variant's machine code.
        shape: its verdict, with the path of each role.
        variant: the variant.
        launch: the launch.

    Raises:
        DataError: if the launch's role map doesn't fit its warps and the variant's roles.
    """
    if len(launch.role_map) < launch.warps or not all(
        0 <= role < len(variant.roles) for role in launch.role_map[: launch.warps]
    ):
        raise DataError("the role map doesn't fit the launch's warps and roles", where=launch.id)
    shapes = {one.role: one for one in shape.roles}
    why_not = _why_not(variant, launch)
    by_role: dict[str, WarpPrediction] = {}
    warps: list[WarpPrediction] = []
    for slot in range(launch.warps):
        role = variant.roles[launch.role_map[slot]]
        if role not in by_role:
            by_role[role] = _warp(kernel, slot, shapes.get(role), role, why_not, variant.arch)
        warps.append(by_role[role].model_copy(update={"warp_slot": slot}))
    reasons = dict.fromkeys(
        one.reason if one.reason == why_not else f"{one.role}: {one.reason}"
        for one in warps
        if one.cycles_per_iteration is None
    )
    return PredictRow(
        id=launch.id,
        variant=launch.variant,
        status="not predicted" if reasons else "ok",
        reason="; ".join(reasons),
        warps=warps,
    )
