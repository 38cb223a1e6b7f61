"""Summarise each role of each launch, and compare the roles."""

from probelab.analyse.station import analyse
from probelab.schema.tidy import Evidence
from probelab.script import Options, chosen_sweeps, parser, planned, probes, run


def main(options: Options) -> None:
    """Call the station."""
    analyse(
        options.measurements,
        planned(options.results, options.chunks),
        Evidence.of_run(options.results, options.chunks),
        [*probes(options.probes), *(chosen.probe for chosen in chosen_sweeps(options))],
        summary=options.out,
        comparisons=options.comparisons,
    )


if __name__ == "__main__":
    run(
        main,
        parser(
            __doc__,
            *("--results", "--chunks", "--probes", "--sweeps", "--subset", "--only"),
            *("--measurements", "--comparisons", "--out"),
        ),
    )
