#!/usr/bin/env bash
# A throw-away Slurm cluster on this machine: real daemons on loopback, fake GPUs, and neither
# systemd nor cgroups nor a database. For the cluster tests, and for trying a profile.
#   slurm-lab.sh up DIR [NODES] [GPUS]    start it with its files in DIR: 2 nodes with 2 GPUs each
#   slurm-lab.sh status DIR               its nodes and jobs
#   slurm-lab.sh down DIR                 cancel its jobs and stop it; DIR stays, for its logs
# Needs root and Debian's slurmctld, slurmd, slurm-client and munge. One at a time on a machine:
# Slurm's programs look for their configuration in /etc/slurm, where it puts two links.
set -euo pipefail

usage="slurm-lab.sh up|status|down DIR [NODES] [GPUS]"
packages=(slurmctld slurmd slurm-client munge)
etc=/etc/slurm
port=16817
# Device numbers of NVIDIA's driver; without it, opening such a device fails, which is all right.
nvidia_major=195

# die WHAT HINT: one line, and the end.
die() {
  printf 'slurm-lab: %s (%s)\n' "$1" "$2" >&2
  exit 1
}

command=${1:-}
[[ -n $command && -n ${2:-} ]] || die "a command or a folder is missing" "$usage"
dir=$(readlink -m "$2")
nodes=${3:-2}
gpus=${4:-2}
[[ $nodes =~ ^[1-9]$ && $gpus =~ ^[1-8]$ ]] || die "1 to 9 nodes with 1 to 8 GPUs each" "$usage"

require() {
  [[ $(id -u) == 0 ]] || die "only root can start Slurm's daemons" "run it as root"
  local program
  for program in slurmctld slurmd sbatch munged; do
    command -v "$program" >/dev/null ||
      die "there is no $program" "apt-get install --no-install-recommends ${packages[*]}"
  done
}

# Whether the process of a pid file runs.
alive() { [[ -s $1 ]] && kill -0 "$(<"$1")" 2>/dev/null; }

# Stop the processes of some pid files.
stop() {
  local file pids=()
  for file in "$@"; do
    if alive "$file"; then pids+=("$(<"$file")"); fi
  done
  ((${#pids[@]})) || return 0
  kill "${pids[@]}" 2>/dev/null || true
  for _ in {1..100}; do
    kill -0 "${pids[@]}" 2>/dev/null || return 0
    sleep 0.1
  done
  kill -9 "${pids[@]}" 2>/dev/null || true
}

make_devices() {
  local device i
  for ((i = 0; i < gpus; i++)); do
    device=$dir/dev/nvidia$i
    # Slurm counts regular files too, but then leaves CUDA_VISIBLE_DEVICES empty.
    [[ -c $device ]] || mknod -m 666 "$device" c "$nvidia_major" "$i" ||
      die "mknod is refused, so there can be no fake GPUs" "a container needs CAP_MKNOD"
  done
}

write_configuration() {
  local host cpus memory i
  host=$(hostname -s)
  cpus=$(nproc)
  memory=$(awk '/^MemTotal/ {print int($2 / 1024 * 0.9)}' /proc/meminfo)
  {
    cat <<CONF
ClusterName=lab
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$dir/munge/munge.sock
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool.%n
SlurmctldPidFile=$dir/run/slurmctld.pid
SlurmdPidFile=$dir/run/slurmd.%n.pid
SlurmctldLogFile=$dir/log/slurmctld.log
SlurmdLogFile=$dir/log/slurmd.%n.log
JobCompType=jobcomp/filetxt
JobCompLoc=$dir/log/jobs.txt
# Neither cgroups nor a database.
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
# --gpus needs cons_tres.
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
GresTypes=gpu
# Seconds for which squeue still shows a job that has ended.
MinJobAge=600
# Everything quicker than on a real cluster.
SchedulerParameters=batch_sched_delay=0,sched_interval=2,sched_min_interval=0,bf_interval=2
# A node that somebody took down stays down.
ReturnToService=1
KillWait=2
SlurmctldTimeout=30
SlurmdTimeout=30
CONF
    for ((i = 1; i <= nodes; i++)); do
      echo "NodeName=n$i NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + i)) CPUs=$cpus" \
        "RealMemory=$memory Gres=gpu:$gpus State=UNKNOWN"
    done
    # LLN: on the node that has most to spare, so that small loads reach every node.
    echo "PartitionName=main Nodes=ALL Default=YES LLN=YES MaxTime=INFINITE State=UP"
  } >"$dir/slurm.conf"
  printf 'AutoDetect=off\nNodeName=n[1-%d] Name=gpu File=%s/dev/nvidia[0-%d]\n' \
    "$nodes" "$dir" "$((gpus - 1))" >"$dir/gres.conf"
}

# The links that make this cluster the one that Slurm's programs find.
link_configuration() {
  local name link
  mkdir -p "$etc"
  for name in slurm.conf gres.conf; do
    link=$etc/$name
    if [[ -L $link && $(readlink "$link") != "$dir/$name" && -e $link ]]; then
      die "$link belongs to another lab" "slurm-lab.sh down $(dirname "$(readlink "$link")")"
    elif [[ -e $link && ! -L $link ]]; then
      die "$link exists and is not a lab's" "this machine has a Slurm of its own: use that"
    fi
  done
  for name in slurm.conf gres.conf; do ln -sfn "$dir/$name" "$etc/$name"; done
}

unlink_configuration() {
  local name
  for name in slurm.conf gres.conf; do
    if [[ $(readlink "$etc/$name" 2>/dev/null) == "$dir/$name" ]]; then rm -f "$etc/$name"; fi
  done
}

start_daemons() {
  local i
  munged --force --key-file="$dir/munge/munge.key" --socket="$dir/munge/munge.sock" \
    --pid-file="$dir/munge/munged.pid" --log-file="$dir/munge/munged.log" \
    --seed-file="$dir/munge/munged.seed"
  slurmctld
  for ((i = 1; i <= nodes; i++)); do slurmd -N "n$i"; done
}

up() {
  require
  if alive "$dir/run/slurmctld.pid"; then die "it is up already" "slurm-lab.sh down $dir"; fi
  # Nothing of an earlier cluster in this folder, but for its logs.
  rm -rf "$dir/state" "$dir"/spool.*
  mkdir -p "$dir"/{state,log,run,munge,dev}
  # munged refuses folders that others can write to.
  chmod 755 "$dir" "$dir/munge"
  if [[ ! -s $dir/munge/munge.key ]]; then
    dd if=/dev/urandom of="$dir/munge/munge.key" bs=128 count=1 status=none
    chmod 400 "$dir/munge/munge.key"
  fi
  make_devices
  write_configuration
  link_configuration
  start_daemons
  for _ in {1..100}; do
    if [[ $(sinfo -h -o %T 2>/dev/null | sort -u) == idle ]]; then
      sinfo -N -o '%N %T %c %m %G'
      return
    fi
    sleep 0.1
  done
  sinfo -N -o '%N %T %E' >&2 || true
  tail -n 5 "$dir"/log/*.log >&2 || true
  down
  die "Slurm did not become idle" "see the lines above, and $dir/log"
}

status() {
  sinfo -N -o '%N %T %c %m %G %E'
  squeue --states=all -o '%i %T %j %b %N %r'
}

down() {
  if alive "$dir/run/slurmctld.pid"; then
    scancel --user="$(id -un)" 2>/dev/null || true
    # Their steps end before their nodes do.
    for _ in {1..50}; do
      [[ -n $(squeue -h 2>/dev/null) ]] || break
      sleep 0.1
    done
  fi
  # munged last: the daemons talk to each other to their end.
  stop "$dir"/run/slurmd.*.pid "$dir/run/slurmctld.pid"
  stop "$dir/munge/munged.pid"
  unlink_configuration
}

case $command in
  up | status | down) "$command" ;;
  *) die "unknown command $command" "$usage" ;;
esac
