"""The command `probelab`: what the lab does, for files and machines beside the workflow.

Each command imports what it needs when it is called, so that the others start fast.
"""

from probelab.cli.main import app

__all__ = ["app"]
