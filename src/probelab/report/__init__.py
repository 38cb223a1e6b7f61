"""The report station: Markdown and charts."""

from probelab.report.station import report

__all__ = ["report"]
