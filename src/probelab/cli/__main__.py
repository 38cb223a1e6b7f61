"""`python -m probelab.cli`, for machines where the package isn't installed."""

from probelab.cli import app

app()
