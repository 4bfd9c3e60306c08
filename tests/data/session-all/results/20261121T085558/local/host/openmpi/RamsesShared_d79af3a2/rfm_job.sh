#!/bin/bash
#
# RamsesShared %fs=ram %contents=hydro %scale=smoke %layout=level-major %call=mpiio:collective
#
#   system       local, partition host
#   stack        openmpi
#   processes    2
#   file system  ram: /dev/shm (tmpfs)
#
# Written by ReFrame from templates/local.sh.j2: a change here is lost, a change there stays.

set -e -o pipefail

# Results, output and errors stay beside the script, wherever it is started.
cd -- "$(dirname -- "${BASH_SOURCE[0]}")"

# However the script ends: clean up, and leave the exit status where the test looks for it.
finish() {
    status=$?
    trap - EXIT
    [ -z "${run_dir:-}" ] || rm -rf -- "$run_dir" || echo "left behind: $run_dir" >&2
    echo "$status" > exit_status
    exit "$status"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# The partition's and the stack's environment.
export OMPI_MCA_pml=ob1

set -u

# A folder of this run's own on the file system that is measured.
[ -d /dev/shm ] || {
    echo "error: file system ram: "/dev/shm" is not a folder on $(hostname);" \
        "see filesystems.ram.path of partition local:host in the site file" >&2
    exit 1
}
run_dir=$(mktemp -d -- /dev/shm/iogauge.XXXXXXXX)

# What the processes do with files is recorded by the embedded recorder; -S trace=false leaves it out.
mkdir -p trace
trace=(
    LD_PRELOAD=/checkout/.local/build/local-host-openmpi/libiogauge-recorder.so
    IOGAUGE_TRACE_DIR="$PWD/trace"
    IOGAUGE_TRACE_INCLUDE="$run_dir"
)

mpiexec.openmpi -n 2 --oversubscribe --bind-to none --allow-run-as-root \
    env "${trace[@]}" \
    /checkout/.local/build/local-host-openmpi/iokernel ramses-hydro --size 16 --layout level-major \
        --method mpiio --mode collective \
        --dir "$run_dir" \
        --steps 1 --repeat 2 --fsync --ceilings --drop-caches \
        --json result.json
