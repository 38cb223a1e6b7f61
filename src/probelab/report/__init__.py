"""The report station: Markdown and charts."""

from probelab.report.station import ReportSummary, report

__all__ = ["ReportSummary", "report"]
