"""Write the report and its charts."""

import sys
from pathlib import Path

from probelab.report.station import report
from probelab.schema.tidy import Evidence
from probelab.script import Options, chosen_sweeps, parser, planned, probes, run


def main(options: Options) -> None:
    """Call the station."""
    summary = report(
        options.results,
        planned(options.results, options.chunks),
        Evidence.of_run(options.results, options.chunks),
        probes(options.probes),
        measurements=options.measurements,
        summary=options.summary,
        comparisons=options.comparisons,
        published=options.published,
        out=options.out,
        charts=options.charts,
        settings=options.settings,
        sweeps=chosen_sweeps(options),
    )
    if summary.line:
        sys.stderr.write(f"probelab: {options.out}: {summary.line}\n")


if __name__ == "__main__":
    arguments = parser(
        __doc__,
        *("--results", "--chunks", "--probes", "--measurements", "--summary", "--comparisons"),
        *("--settings", "--sweeps", "--subset", "--only", "--out"),
    )
    arguments.add_argument(
        "--published", type=Path, required=True, help="folder of published figures"
    )
    arguments.add_argument("--charts", type=Path, required=True, help="folder of the charts")
    run(main, arguments)
