#!/bin/bash
#
# RamsesHints %fs=ram %contents=amr %scale=smoke %call=hdf5:collective %hint_set=cb-enable
#
#   system       local, partition host
#   stack        mpich
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

set -u

# A folder of this run's own on the file system that is measured.
[ -d /dev/shm ] || {
    echo "error: file system ram: "/dev/shm" is not a folder on $(hostname);" \
        "see filesystems.ram.path of partition local:host in the site file" >&2
    exit 1
}
run_dir=$(mktemp -d -- /dev/shm/iogauge.XXXXXXXX)

# Hints: the file system's in the site file, the test's, and the user's (-S hints=).
hints=(
    --hint romio_cb_write=enable
    --hint romio_cb_read=enable
    --hint romio_ds_write=automatic
    --hint romio_ds_read=automatic
)

# What the processes do with files is recorded by the embedded recorder; -S trace=false leaves it out.
mkdir -p trace
trace=(
    LD_PRELOAD=/checkout/.local/build/local-host-mpich/libiogauge-recorder.so
    IOGAUGE_TRACE_DIR="$PWD/trace"
    IOGAUGE_TRACE_INCLUDE="$run_dir"
)

mpiexec.mpich -n 2 \
    env "${trace[@]}" \
    /checkout/.local/build/local-host-mpich/iokernel ramses-amr --size 16 \
        --method hdf5 --mode collective \
        --dir "$run_dir" "${hints[@]}" \
        --steps 1 --repeat 2 --fsync --ceilings --drop-caches \
        --json result.json
