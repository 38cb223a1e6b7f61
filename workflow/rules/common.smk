# The plan: a pure function of config, code and tools, called while this is parsed.
import json
import os
import sys
from pathlib import Path

from probelab.errors import ProbelabError
from probelab.workflow import PUBLISHED, RECORDINGS, STATIONS, Workflow, own_python_first

ROOT = Path(os.path.relpath(workflow.basedir))

own_python_first()

try:
    LAB = Workflow.prepare(
        config, ROOT.resolve(), [Path(name).resolve() for name in workflow.configfiles]
    )
except ProbelabError as error:
    sys.exit(f"probelab: {error}")

SETTINGS = LAB.configuration.lab
CACHE = SETTINGS.cache


wildcard_constraints:
    chunk=r"[A-Za-z0-9_]+\.sm_[0-9a-z]+\.b[01]*",
