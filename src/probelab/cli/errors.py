"""What is wrong outside of the code ends a command with one line instead of a traceback."""

from typing import Any

import typer
from typer.core import TyperGroup

from probelab.errors import ProbelabError


class OneLineGroup(TyperGroup):
    """A group of commands whose user's errors are one line on standard error, exit status 1."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except ProbelabError as error:
            line = str(error)
        except BrokenPipeError:
            raise
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            line = f"{where}{error.strerror or error}"
        typer.echo(f"probelab: {line}", err=True)
        raise typer.Exit(1)
