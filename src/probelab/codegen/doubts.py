"""Why the cost model may be off at a point, as far as the data say."""

from probelab.codegen.cost_model import Fit
from probelab.codegen.points import Observation

#: Parts of a point's cycles from which on something is named.
_UNEVEN = 0.05
_NOISY = 0.02
_PORTS = 0.1
#: Instructions without an offer of the issue slot from which on warps were seen to starve others.
_LONG_BURST = 20
_CROWDED = 4


def doubts(one: Observation, fit: Fit) -> list[str]:
    """What is particular about a point, the likeliest reason for an error first."""
    features = one.features
    found = []
    if one.warp_spread is not None and one.warp_spread > _UNEVEN * one.cycles:
        found.append(
            f"its warps differ by {one.warp_spread:.0f} cycles: they don't share evenly, which no "
            "feature knows"
        )
    crowded = one.scope.warps_per_sub_core >= _CROWDED
    if crowded and features.burst_instructions > _LONG_BURST:
        found.append(f"{features.burst_instructions} instructions without an offer of the slot")
    if one.low is not None and one.high is not None and one.high - one.low > _NOISY * one.cycles:
        found.append(f"its repeats differ: {one.low:.1f} to {one.high:.1f} cycles")
    lengths = [other.point.length for other in fit.observations]
    if one.point.length in (min(lengths), max(lengths)):
        found.append("the end of the lengths: estimated from shorter or longer ones alone")
    if features.register_port_cycles > _PORTS * one.cycles:
        found.append(f"register ports: {features.register_port_cycles} cycles, if they all count")
    if features.loop_control_cycles > one.cycles / 2:
        found.append("the loop itself takes most of its cycles")
    return found
