#!/bin/bash
#
# S3d %fs=ram %call=posix-shared %scale=smoke
#
#   system       local, partition host
#   stack        openmpi
#   processes    2
#   file system  ram: /dev/shm (tmpfs)
#
# Written by ReFrame from templates/local.sh.j2: a change here is lost, a change there stays.

set -e -o pipefail

# The script's own folder: results, output and errors are left there.
cd -- "$(dirname -- "${BASH_SOURCE[0]}")"

export OMPI_MCA_pml=ob1

set -u

# A folder of this run's own on the file system that is measured.
run_dir=$(mktemp -d /dev/shm/iogauge.XXXXXXXX)

# However the script ends: clean up, and leave the exit status where the test looks for it.
finish() {
    status=$?
    trap - EXIT
    rm -rf -- "$run_dir"
    echo "$status" > exit_status
    exit "$status"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

mpiexec.openmpi -n 2 --oversubscribe --bind-to none --allow-run-as-root \
    /checkout/.local/build/local-host-openmpi/iokernel s3d --grid 23x19x17 --procs-grid 2x1x1 \
        --method posix-shared \
        --dir "$run_dir" \
        --steps 2 --repeat 3 --fsync --ceilings --drop-caches \
        --json result.json
