#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs a program of an image with the MPI library of the machine, which knows its
# network: both must have one ABI, as all MPICH since 3.1 have (also Intel's,
# Cray's, MVAPICH). The machine's own mpiexec starts it:
#
#   host_mpi.sh [--show] FOLDER PROGRAM ARGUMENTS...
#   mpiexec -n 4 apptainer exec --bind /opt/mpich iogauge.sif \
#       /opt/iogauge/containers/host_mpi.sh /opt/mpich /opt/iogauge/.local/kernels/mpich/bin/iokernel ...
#
# FOLDER: where the MPI is installed, with lib/libmpi.so.12. --show: on stderr,
# what `ldd` says of MPI libraries. Status 3: PROGRAM would not run with FOLDER's.
set -euo pipefail
abi="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)/.local/stacks/abi"

fail() {
    printf 'host_mpi.sh: %s\n' "$@" >&2
    exit 3
}

# mpi_of PROGRAM: the lines of ldd on MPI libraries.
mpi_of() {
    ldd "$1" | grep -E '^\s*libmpi(ch)?\.so\.' || true
}

main() {
    local show=no folder program number file name found
    if [[ ${1-} == --show ]]; then
        show=yes
        shift
    fi
    (($# > 1)) || { printf 'usage: host_mpi.sh [--show] FOLDER PROGRAM ARGUMENTS...\n' >&2; exit 2; }
    folder=$1
    program=$(command -v -- "$2") || fail "there is no program $2"
    shift 2
    number=$(mpi_of "$program" | sed -nE '1s/.*libmpi(ch)?\.so\.([0-9]+) .*/\2/p')
    [[ -n $number ]] || fail "$program loads no MPI library"
    for file in "$folder"/lib{,64,/*-linux-gnu}/libmpi{,ch}.so."$number"; do
        [[ ! -e $file ]] || break
    done
    [[ -e $file ]] || fail "$program needs libmpi.so.$number, which $folder has not in lib or lib64:" \
        "its MPI has another ABI; use the image's program for that MPI"
    export LD_LIBRARY_PATH="${file%/*}:$abi${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
    [[ $show == no ]] || mpi_of "$program" >&2
    # The last one that is loaded is the MPI; one before it may be the name in $abi.
    while read -r name _ found _; do
        [[ $found == "$abi"/* || $(readlink -f -- "$found") == "$(readlink -f -- "$file")" ]] ||
            fail "$program still loads $name from $found, not from $folder; if it is an image's:" \
                "environments/debian/mpich_abi.sh makes what is missing in $abi"
    done < <(mpi_of "$program")
    exec "$program" "$@"
}

main "$@"
