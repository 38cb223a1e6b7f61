"""The analyse station: statistics, ratios and orderings from the measurements."""

from probelab.analyse.station import analyse, compare, summarise

__all__ = ["analyse", "compare", "summarise"]
