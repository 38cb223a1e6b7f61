"""The aggregate station: raw results of all launches as one tidy table."""

from probelab.aggregate.station import aggregate, measurements

__all__ = ["aggregate", "measurements"]
