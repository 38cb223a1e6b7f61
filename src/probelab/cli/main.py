"""The command and its subcommands."""

from typing import Annotated

import typer

from probelab import __version__
from probelab.cli import cache, doctor, plan, record, time
from probelab.cli.errors import OneLineGroup

app = typer.Typer(
    cls=OneLineGroup,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="What an instruction sequence costs on a GPU, and why.",
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"probelab {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """What an instruction sequence costs on a GPU, and why."""


app.command("doctor")(doctor.doctor)
app.command("plan")(plan.plan)
app.command("time")(time.time)
app.command("record")(record.record)
app.add_typer(cache.app, name="cache")
