# The plan: a pure function of config, code and tools, called while this is parsed.
import os
import sys
from pathlib import Path

from probelab.errors import ProbelabError
from probelab.workflow import RECORDINGS, STATIONS, Workflow

ROOT = Path(os.path.relpath(workflow.basedir))

# Commands call `python`: the one that runs Snakemake, without naming its path in them.
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

try:
    LAB = Workflow.prepare(config, ROOT.resolve())
except ProbelabError as error:
    sys.exit(f"probelab: {error}")

CACHE = LAB.configuration.lab.cache
SETTINGS = LAB.configuration.lab


wildcard_constraints:
    chunk=r"[A-Za-z0-9_]+\.sm_[0-9a-z]+\.b[01]*",
