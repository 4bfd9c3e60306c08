#!/bin/bash
#SBATCH --job-name="rfm_S3d_0d1a48dc"
#SBATCH --nodes=3
#SBATCH --ntasks=10
#SBATCH --ntasks-per-node=4
#SBATCH --time=00:10:00
#SBATCH --output=rfm_job.out
#SBATCH --error=rfm_job.err
#SBATCH --exclusive
#SBATCH --mem=0
#SBATCH -C knl
#DW jobdw
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
# Written by ReFrame from templates/slurm.sh.j2: change the template, not this file.

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

# A process that fails ends its job step: the others may wait for it inside a library.
export SLURM_KILL_BAD_EXIT=1
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

# Shared files of this run get the first layout, files per process the second. They are read back
# from a file, because Lustre may set others.
own_dir=$run_dir/own
mkdir -- "$own_dir"
lfs setstripe -c 96 -S 1M "$run_dir"
lfs setstripe -c 1 -S 1M "$own_dir"
for dir in "$run_dir" "$own_dir"; do
    : > "$dir/layout"
    lfs getstripe "$dir/layout"
    rm -f -- "$dir/layout"
done > striping.txt

echo before
srun \
    /opt/iokernel s3d --grid 100x100x100 \
        --method mpiio --mode collective \
        --dir "$run_dir" \
        --json result.json
echo after
