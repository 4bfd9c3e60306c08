#!/bin/bash
# @ shell = /bin/bash
# @ job_name = rfm_S3d_0d1a48dc
# @ initialdir = /stage
# @ output = rfm_job.out
# @ error = rfm_job.err
# @ notification = never
# @ wall_clock_limit = 00:10:00
# @ job_type = parallel
# @ node = 3
# @ total_tasks = 10
# @ class = c
# @ queue
#
# S3d %fs=disk %call=mpiio:collective %scale=laptop
#
#   system       local, partition host
#   stack        openmpi
#   processes    10 on 3 nodes, 4 on each
#   file system  disk: /scratch/my files (tmpfs)
#                this 'disk' is tmpfs, so memory
#                published peak: 36000 MB/s (NERSC, 2013)
#
# Written by ReFrame from templates/loadleveler.sh.j2: change the template, not this file.

set -e -o pipefail

cd -- /stage

# When the script ends: clean up, and write the exit status for the test.
finish() {
    status=$?
    trap - EXIT
    trap '' INT TERM
    [ -z "${run_dir:-}" ] || rm -rf -- "$run_dir" || echo "left behind: $run_dir" >&2
    echo "$status" > exit_status
    exit "$status"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# The partition's and the stack's environment.
module load openmpi
export OMPI_MCA_pml=ob1

set -u

# A separate folder for this run on the measured file system.
file_system='/scratch/my files'
[ -d "$file_system" ] || {
    echo "error: file system disk: $file_system is not a folder on $(hostname);" \
        "see filesystems.disk.path of partition local:host in the site file" >&2
    exit 1
}
# The owner: a later session removes the folder if the job was killed.
machine=$(grep -x '[0-9a-f]\{32\}' /etc/machine-id 2> /dev/null | sha256sum | cut -c -12) || :
owner="$(hostname)/$machine $$ $(cut -d ' ' -f 22 "/proc/$$/stat") $(< /proc/sys/kernel/random/boot_id)" &&
    owner+=" $(readlink /proc/self/ns/pid || echo -)" &&
    owner+=" ${SLURM_JOB_ID:-${PBS_JOBID:-${COBALT_JOBID:-${LOADL_STEP_ID:--}}}}" || owner=
made=$file_system/iogauge.$(hostname).$$.$(date +%s) # not every system has mktemp
mkdir -m 700 -- "$made"
run_dir=$made
[ -z "$owner" ] || echo "$owner" > "$run_dir/.iogauge-run" || rm -f -- "$run_dir/.iogauge-run"

echo before
poe \
    /opt/iokernel s3d --grid 100x100x100 \
        --method mpiio --mode collective \
        --dir "$run_dir" \
        --json result.json
echo after
