# What setup.sh, install-pycuda.sh and lock.sh share; they source it in the project's root.
# shellcheck shell=bash disable=SC2034

venv=.venv
python=$venv/bin/python
pip_options=(-q --disable-pip-version-check --no-compile --require-hashes --no-deps)

say() { printf 'setup: %s\n' "$1"; }

# die WHAT HINT: one line, and the end.
die() {
  printf 'setup: %s (%s)\n' "$1" "$2" >&2
  exit 1
}

# pins LOCK NAME: the entry of one package in a lock file, with its hashes.
pins() {
  awk -v name="$2" '/^[a-z0-9]/{take = index($0, name "==") == 1} take' "$1"
}

# Path of the driver's library; nothing if this machine has none.
libcuda() {
  "$python" - <<'PY' 2>/dev/null || true
import ctypes
ctypes.CDLL("libcuda.so.1")
with open("/proc/self/maps") as maps:
    print(next(line.split(None, 5)[5].strip() for line in maps if "libcuda.so" in line))
PY
}

# Whether there are an NVIDIA device (or that of WSL) and a driver.
has_gpu() {
  local device
  for device in /dev/nvidia[0-9]* /dev/dxg; do
    if [[ -e $device && -n $(libcuda) ]]; then return 0; fi
  done
  return 1
}

# Where install-pycuda.sh leaves the reason of a failure, for the next set-up and for doctor.
pycuda_failure=$venv/pycuda.failure

warn_about_pycuda() {
  if [[ -s $pycuda_failure ]]; then
    printf 'setup: no timing on the GPU: %s (try again with `make pycuda`)\n' \
      "$(<"$pycuda_failure")" >&2
  fi
}
