#!/usr/bin/env bash
# Takes up a cluster run whose head died: kill -9, a reboot of the login node, a lost session.
#   scripts/recover.sh ARGUMENTS    what `snakemake` was started with
#   scripts/recover.sh --workflow-profile profiles/slurm
# Start it only where that head is really gone. It releases the dead head's lock, takes the run's
# waiting jobs out of the queue and lets those that run come to their end, has what ended without
# a head registered, and starts the run again. The store keeps all work that was done.
#   PYTHON   interpreter that has Snakemake; by default that of .venv, else `python`
set -euo pipefail

say() { printf 'recover: %s\n' "$1"; }

if [[ -z ${PYTHON:-} ]]; then
  PYTHON=python
  if [[ -x .venv/bin/python ]]; then PYTHON=.venv/bin/python; fi
fi
[[ -f Snakefile && $# -gt 0 ]] || {
  echo "recover: start it in the project's folder, with the arguments that snakemake had" >&2
  exit 1
}
here=$(pwd -P)

# Ids of this folder's jobs in a state.
jobs_of() {
  squeue --noheader --user="$(id -un)" --states="$1" --format='%i %Z' |
    awk -v here="$here" '{ id = $1; sub(/^[^ ]+ /, ""); if ($0 == here) print id }'
}

settle_jobs() {
  local waiting running
  if ! command -v squeue >/dev/null; then
    say "there is no squeue here: make sure that no job of the dead run is left"
    return
  fi
  mapfile -t waiting < <(jobs_of PENDING)
  if ((${#waiting[@]})); then
    say "taking ${#waiting[@]} waiting jobs out of the queue"
    scancel "${waiting[@]}"
  fi
  while true; do
    mapfile -t running < <(jobs_of RUNNING,COMPLETING,CONFIGURING,SUSPENDED)
    ((${#running[@]})) || break
    say "waiting for ${#running[@]} jobs to end: ${running[*]} (scancel them to go on at once)"
    sleep 5
  done
}

# Manifests that a job made after the head's death: Snakemake has no record of what they were made
# from, so it wouldn't notice a later change. Made anew, they cost nothing but a job's start.
forget_unrecorded() {
  local summary files
  summary=$("$PYTHON" -m snakemake "$@" --summary 2>/dev/null) || return 0
  mapfile -t files < <(awk -F'\t' \
    '$1 ~ /^results\/[a-z]+\/[^\/]+\.json$/ && $2 != "-" && $4 == "-" { print $1 }' <<<"$summary")
  if ((${#files[@]})); then
    say "${#files[@]} manifests were made without a head and are registered anew"
    rm -f -- "${files[@]}"
  fi
}

"$PYTHON" -m snakemake "$@" --unlock
settle_jobs
forget_unrecorded "$@"
exec "$PYTHON" -m snakemake "$@"
