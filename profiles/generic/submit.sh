#!/usr/bin/env bash
# Submits a job script and prints the job's id, and nothing else.
#   submit.sh GPUS MEMORY_MB MINUTES THREADS JOBSCRIPT
# PROBELAB_SBATCH: further arguments of sbatch, for instance "--partition=gpu --account=project".
set -euo pipefail
gpus=$1 memory=$2 minutes=$3 threads=$4 script=$5

logs=logs/cluster
mkdir -p "$logs"
arguments=(
  --parsable
  --job-name=probelab
  --output="$logs/%j.log"
  --export=ALL
  --requeue
  --mem="$memory"
  --time="$minutes"
  --ntasks=1
  --cpus-per-task="$threads"
)
if ((gpus)); then arguments+=(--gres="gpu:$gpus"); fi
read -r -a further <<<"${PROBELAB_SBATCH:-}"

# sbatch waits for a controller that doesn't answer; a minute of that is enough.
timeout 60 sbatch "${arguments[@]}" "${further[@]}" "$script"
