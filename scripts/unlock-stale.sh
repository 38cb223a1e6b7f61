#!/usr/bin/env bash
# Removes the lock that a killed run left in this folder, so that the next one takes up where it
# stopped. Does nothing while a Snakemake is running here. A run on another machine that shares
# the folder can't be seen: there, `snakemake --unlock` is yours to call.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
compgen -G '.snakemake/locks/*' >/dev/null || exit 0
for process in /proc/[0-9]*; do
  [[ $(readlink "$process/cwd" 2>/dev/null) == "$PWD" ]] || continue
  if tr '\0' ' ' <"$process/cmdline" 2>/dev/null | grep -q '[s]nakemake'; then
    exit 0
  fi
done
echo "the last run was killed; taking up where it stopped" >&2
.venv/bin/snakemake --unlock --quiet all
