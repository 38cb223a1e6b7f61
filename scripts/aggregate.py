"""Bring the raw results of all launches into one dataset."""

from probelab.aggregate.station import aggregate
from probelab.schema.tidy import Evidence
from probelab.script import Options, parser, planned, run


def main(options: Options) -> None:
    """Call the station."""
    evidence = Evidence.of_run(options.results, options.chunks)
    aggregate(options.results, planned(options.results, options.chunks), evidence, options.out)


if __name__ == "__main__":
    run(main, parser(__doc__, "--results", "--chunks", "--out"))
