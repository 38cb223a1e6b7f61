#!/usr/bin/env bash
# Writes requirements.lock, requirements-gpu.lock and requirements-cluster.lock from pyproject.toml.
# What they pin stays as it is where it still fits; UPGRADE=1 takes the newest versions.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
# shellcheck source=scripts/common.sh
source scripts/common.sh

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/uv"
"$work/uv/bin/python" -m pip install -q --disable-pip-version-check uv

compile() {
  "$work/uv/bin/uv" pip compile -q --universal --python-version 3.11 --generate-hashes \
    --no-annotate --no-header --no-emit-index-url --no-emit-find-links \
    ${UPGRADE:+--upgrade} "$@"
}

compile --extra cuda --extra dev --extra build pyproject.toml -o requirements.lock

# PyCUDA's lock holds only what requirements.lock lacks, with what its build needs: `wheel`, and
# the one header that is not among the compiler's, of the compiler's version.
"$work/uv/bin/python" - >"$work/gpu.in" <<'PY'
import tomllib
with open("pyproject.toml", "rb") as stream:
    extras = tomllib.load(stream)["project"]["optional-dependencies"]
nvcc = next(line for line in extras["cuda"] if line.startswith("nvidia-cuda-nvcc=="))
print(*extras["gpu"], "wheel", nvcc.replace("nvcc", "profiler-api"), sep="\n")
PY
# lack INPUT LOCK: lock what INPUT asks for and requirements.lock lacks.
lack() {
  cp "$2" "$work/more.txt" 2>/dev/null || rm -f "$work/more.txt"
  compile -c requirements.lock "$1" -o "$work/more.txt"
  awk '
    /^[a-z0-9]/ { split($0, part, "=="); take = !(part[1] in have) }
    FNR == NR { have[part[1]]; next }
    take' requirements.lock "$work/more.txt" >"$2"
}
lack "$work/gpu.in" requirements-gpu.lock

"$work/uv/bin/python" - >"$work/cluster.in" <<'PY'
import tomllib
with open("pyproject.toml", "rb") as stream:
    extras = tomllib.load(stream)["project"]["optional-dependencies"]
print(*extras["cluster"], sep="\n")
PY
lack "$work/cluster.in" requirements-cluster.lock
say "wrote requirements.lock, requirements-gpu.lock and requirements-cluster.lock"
