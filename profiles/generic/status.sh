#!/usr/bin/env bash
# Prints what has become of a job: running, success or failed.
#   status.sh JOBID
set -euo pipefail
# `ID;CLUSTER` where sbatch names the cluster too.
id=${1%%;*}

# A controller that doesn't answer is no reason to give a job up: it counts as running.
if ! state=$(timeout 30 squeue --noheader --states=all --jobs="$id" --format=%T 2>&1); then
  # A job that Slurm has forgotten ended long ago; Snakemake looks for its output then.
  if [[ $state == *"Invalid job id"* ]]; then echo success; else echo running; fi
  exit
fi
case $state in
  COMPLETED | "") echo success ;;
  BOOT_FAIL | CANCELLED | DEADLINE | FAILED | NODE_FAIL | OUT_OF_MEMORY | PREEMPTED | TIMEOUT)
    # A job that goes back into the queue after one of these is PENDING.
    echo failed
    ;;
  *) echo running ;;
esac
