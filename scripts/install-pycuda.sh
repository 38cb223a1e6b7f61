#!/usr/bin/env bash
# Builds PyCUDA into .venv, with the CUDA headers of the pinned packages and the driver's
# libcuda. Only for a machine with an NVIDIA GPU and its driver.
#   install-pycuda.sh [LIBCUDA]   LIBCUDA: build against this libcuda.so.1, GPU or not
# On failure: one line, the log in .venv/pycuda.log, and exit status 1; the rest of the lab works.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
# shellcheck source=scripts/common.sh
source scripts/common.sh

log=$venv/pycuda.log

give_up() {
  echo "$1" >"$pycuda_failure"
  warn_about_pycuda
  exit 1
}

[[ -x $python ]] || die "there is no $venv" "make setup"
driver=${1:-}
if [[ -z $driver ]]; then
  if ! has_gpu; then
    say "no NVIDIA GPU with a driver here, so no PyCUDA"
    exit
  fi
  driver=$(libcuda)
fi
[[ -r $driver ]] || give_up "$driver can't be read"
command -v g++ >/dev/null || give_up "there is no g++: apt-get install g++"

headers=$("$python" -c '
import pathlib, sysconfig
for name in sorted(pathlib.Path(sysconfig.get_path("purelib"), "nvidia").glob("cu[0-9]*/include/cuda.h")):
    print(name.parent)' | tail -n 1)
[[ -n $headers ]] || give_up "the CUDA headers are missing in $venv: make setup"
[[ -f $("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h ]] ||
  give_up "Python's headers are missing: apt-get install python3-dev"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

build() {
  set -e
  # PyCUDA links with libcuda.so, which only a toolkit has; the driver brings libcuda.so.1.
  mkdir "$work/lib" "$work/sdist" "$work/source"
  ln -s "$(readlink -f "$driver")" "$work/lib/libcuda.so"
  local name
  for name in $(sed -n 's/^\([a-z0-9-]*\)==.*/\1/p' requirements-gpu.lock); do
    [[ $name == pycuda ]] || pins requirements-gpu.lock "$name"
  done >"$work/needs.txt"
  "$python" -m pip install "${pip_options[@]}" -r "$work/needs.txt"
  pins requirements-gpu.lock pycuda >"$work/pycuda.txt"
  "$python" -m pip download -q --disable-pip-version-check --require-hashes --no-deps \
    --no-build-isolation --no-binary pycuda -d "$work/sdist" -r "$work/pycuda.txt"
  tar -xzf "$work"/sdist/pycuda-*.tar.gz -C "$work/source" --strip-components 1
  # No cuRAND: its headers are a package of their own, and the lab doesn't use it.
  cat >"$work/source/siteconf.py" <<PY
USE_SHIPPED_BOOST = True
CUDA_ENABLE_GL = False
CUDA_ENABLE_CURAND = False
CUDA_INC_DIR = ["$headers"]
CUDADRV_LIB_DIR = ["$work/lib"]
CUDADRV_LIBNAME = ["cuda"]
CXXFLAGS = ["-w", "-g0"]
PY
  "$python" -m pip install --disable-pip-version-check --no-compile --no-deps \
    --no-build-isolation --force-reinstall "$work/source"
}

say "building PyCUDA (some minutes)"
# A subshell of its own, because `set -e` doesn't hold inside a condition.
set +e
(build) >"$log" 2>&1
status=$?
set -e
if ((status)); then
  # What the compiler or the linker says, else what pip says.
  reason=$(grep -m 1 -E ': (fatal )?error: |undefined reference|cannot find' "$log" ||
    grep -m 1 -E '^ *(error|ERROR): ' "$log") || true
  reason=$(sed 's/^ *//' <<<"$reason" | cut -c 1-200)
  give_up "PyCUDA could not be built: ${reason:-no reason given}; $log has it all"
fi
search=${LD_LIBRARY_PATH:-}
[[ -z ${1:-} ]] || search=$(dirname "$(readlink -f "$driver")")${search:+:$search}
if ! reason=$(LD_LIBRARY_PATH=$search "$python" -c 'import pycuda.driver' 2>&1); then
  give_up "PyCUDA was built but can't be loaded: $(tail -n 1 <<<"$reason")"
fi
rm -f "$pycuda_failure"
say "PyCUDA is installed"
