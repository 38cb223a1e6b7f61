"""Make cost model, rule for accumulators, regret and verdicts from the sweeps."""

from probelab.codegen.station import write_codegen
from probelab.codegen.tables import Files
from probelab.schema.tidy import Evidence
from probelab.script import Options, chosen_sweeps, parser, run


def main(options: Options) -> None:
    """Call the station."""
    write_codegen(
        options.summary,
        options.measurements,
        Evidence.of_run(options.results, options.chunks),
        {
            chosen.sweep.name: {point.role: point for point in chosen.points}
            for chosen in chosen_sweeps(options)
        },
        Files.below(options.out),
    )


if __name__ == "__main__":
    run(
        main,
        parser(
            __doc__,
            *("--results", "--chunks", "--sweeps", "--subset", "--only"),
            *("--measurements", "--summary", "--out"),
        ),
    )
