# The plan: a pure function of config, code and tools, called while this is parsed.
import json
import os
import sys
from pathlib import Path

from probelab import frozen
from probelab.cluster import check_executor
from probelab.errors import ProbelabError
from probelab.workflow import (
    CODEGEN_FILES,
    PUBLISHED,
    RECORDINGS,
    STATIONS,
    Workflow,
    own_python_first,
)

ROOT = Path(os.path.relpath(workflow.basedir))

own_python_first()

# A job on a node holds what it finds against what the run had planned; onstart sets it.
if workflow.is_main_process:
    os.environ[frozen.VARIABLE] = ""


envvars:
    frozen.VARIABLE,


try:
    LAB = Workflow.prepare(
        config, ROOT.resolve(), [Path(name).resolve() for name in workflow.configfiles]
    )
    if workflow.remote_exec:
        frozen.refuse_if_changed(LAB, sys.argv)
except ProbelabError as error:
    sys.exit(f"probelab: {error}")

SETTINGS = LAB.configuration.lab
CACHE = SETTINGS.cache

# What the codegen station makes of sweeps; without one there is nothing to make.
CODEGEN = [f"results/{name}" for name in CODEGEN_FILES] if SETTINGS.sweeps else []


wildcard_constraints:
    chunk=r"[A-Za-z0-9_]+\.sm_[0-9a-z]+\.b[01]*",


onstart:
    if workflow.non_local_exec:
        try:
            check_executor(workflow)
        except ProbelabError as error:
            sys.exit(f"probelab: {error}")
        os.environ[frozen.VARIABLE] = str(frozen.freeze(LAB))
