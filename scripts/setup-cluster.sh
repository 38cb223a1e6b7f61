#!/usr/bin/env bash
# Adds Snakemake's executors for batch systems, as requirements-cluster.lock pins them, to the
# .venv that setup.sh made. They are no part of it, because every start of Snakemake would take a
# third of a second longer. Does nothing when they are there.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
# shellcheck source=scripts/common.sh
source scripts/common.sh

[[ -x $python ]] || die "there is no $venv" "make setup"
names=(slurm slurm-jobstep cluster-generic)

# Whether exactly what is pinned is installed.
installed() {
  "$python" - "$1" <<'PY'
import importlib.metadata
import sys

with open(sys.argv[1], encoding="utf-8") as lock:
    pins = [line.split()[0].split("==") for line in lock if line[0].isalpha()]
try:
    wrong = [name for name, pin in pins if importlib.metadata.version(name) != pin]
except importlib.metadata.PackageNotFoundError:
    wrong = ["one is missing"]
sys.exit(bool(wrong))
PY
}

if ! installed requirements-cluster.lock; then
  say "installing what requirements-cluster.lock pins"
  "$python" -m pip install "${pip_options[@]}" -r requirements-cluster.lock
  for name in "${names[@]}"; do
    "$python" -m compileall -qq \
      "$venv"/lib/python3*/site-packages/"snakemake_executor_plugin_${name//-/_}"
  done
fi
