#!/usr/bin/env bash
# Makes .venv hold what requirements.lock pins, the package itself (editable) and, on a machine
# with an NVIDIA GPU, PyCUDA. Does nothing when that is so; takes up an interrupted run.
#   PYTHON   interpreter to make .venv with; by default the first of python3, python3.13, … that
#            is new enough
set -euo pipefail
root=$(cd "$(dirname "$(readlink -f "$0")")/.." && pwd)
cd "$root"
# shellcheck source=scripts/common.sh
source scripts/common.sh

# The first usable interpreter, or a line on what to do.
choose_python() {
  local candidate seen=""
  for candidate in ${PYTHON:-python3 python3.13 python3.12 python3.11}; do
    command -v "$candidate" >/dev/null 2>&1 || continue
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      echo "$candidate"
      return
    fi
    seen+="$candidate is $("$candidate" -c \
      'import platform; print(platform.python_version())' 2>/dev/null || echo broken); "
  done
  die "${seen:-there is no ${PYTHON:-python3}; }Python 3.11 or newer is needed" \
    "apt-get install python3 python3-venv, or name another one: PYTHON=python3.12 make setup"
}

require_tools() {
  command -v g++ >/dev/null || die "there is no g++, which nvcc needs" "apt-get install g++"
  "$1" -c 'import ensurepip, venv' 2>/dev/null ||
    die "$1 has no venv module" "apt-get install python3-venv"
}

# What a finished set-up is the result of, as one line.
wanted() {
  local gpu=no
  has_gpu && gpu=yes
  {
    echo "$root" "gpu=$gpu"
    cat requirements.lock requirements-gpu.lock pyproject.toml \
      scripts/setup.sh scripts/install-pycuda.sh
  } | sha256sum
}

# Whether .venv can be kept: it runs, lies where it was made, and is of the version asked for.
usable() {
  [[ -x $python && -n ${1:-} ]] || return 1
  local version='import sys; print(sys.version_info[:2])'
  [[ $("$python" -c "$version" 2>/dev/null) == $("$1" -c "$version") ]] || return 1
  [[ $("$python" -c 'import sys; print(sys.prefix)') == "$root/$venv" ]] || return 1
  [[ ! -e $venv/bin/pip || $(head -n 1 "$venv/bin/pip") == *"$root/$venv/"* ]] || return 1
  "$python" -m pip --version >/dev/null 2>&1
}

# One set-up at a time: the second waits, and then finds its work done.
exec 9<"$root"
if command -v flock >/dev/null; then flock 9; fi

stamp=$venv/setup.stamp
if [[ -z ${PYTHON:-} && -x $python ]] && "$python" -c '' 2>/dev/null; then
  base=$python
else
  base=$(choose_python)
fi
require_tools "$base"
if [[ -f $stamp && $(<"$stamp") == "$(wanted)" ]] && usable "$base"; then
  warn_about_pycuda
  exit
fi

rm -f "$stamp"
if ! usable "$base"; then
  [[ $base != "$python" ]] || base=$(choose_python)
  require_tools "$base"
  say "making $venv with $("$base" --version)"
  "$base" -m venv --clear "$venv" || die "$venv can't be made" "see the lines above"
fi

say "installing what requirements.lock pins (the first time about 400 MB, some minutes)"
# setuptools first: what comes as source is built with the pinned one, without a download.
pins requirements.lock setuptools | "$python" -m pip install "${pip_options[@]}" -r /dev/stdin
"$python" -m pip install "${pip_options[@]}" --no-build-isolation --use-pep517 -r requirements.lock
"$python" -m pip install -q --no-deps --no-build-isolation --disable-pip-version-check -e .

if has_gpu; then
  # The lab works without it, so a failure has said its line and is no end.
  scripts/install-pycuda.sh || true
fi

say "compiling bytecode"
# Snakemake starts four times as fast with it. Some packages carry files for other versions of
# Python, which don't compile and are never imported.
"$python" -m compileall -qq -j 0 "$venv"/lib/python3*/site-packages src >/dev/null 2>&1 || true
wanted >"$stamp"
say "done; activate it with: source $venv/bin/activate"
