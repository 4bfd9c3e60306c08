#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# One program for all MPI libraries with the ABI of MPI 5.0 (libmpi_abi.so.1), for the
# stacks standard:mpich==VERSION and standard:SUITE-MPI:
#
#   standard_abi.sh STACK...            e.g. standard_abi.sh mpich==5.0.2 sid-openmpi sid-mpich
#
# The program is built with the mpicc_abi of MPICH's wheel into .local/build/standard,
# without HDF5 and the like, which are built for an MPI's own ABI. Of a Debian release
# (environments/debian/release.sh), a folder .local/stacks/standard/SUITE-MPI has the
# library: Debian's own name for it belongs to one of the two MPIs at a time.
#
# shellcheck disable=SC1091,SC2154  # what common.sh defines
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
source "$here/../debian/common.sh"
compiler=mpich-5.0.2

# library_of SUITE-MPI: a folder with a link to it, which is right inside of the release's root too.
library_of() {
    local suite=${1%-*} mpi=${1##*-} folder="$local_dir/stacks/standard/$1" file found=''
    "$here/../debian/release.sh" "$suite"
    for file in "$local_dir/releases/$suite/root"/usr/lib/*/"libmpi_abi_$mpi.so."*; do
        [[ ! -f $file ]] || found=$file
    done
    [[ -n $found ]] || fail 3 "standard_abi.sh: the $mpi of $suite does not have the ABI of MPI 5.0" \
        "(there is no libmpi_abi_$mpi.so in its root); expected a name such as sid-$mpi"
    mkdir -p -- "$folder"
    ln -sfn -- "$found" "$folder/libmpi_abi.so.1"
}

(($# > 0)) || fail 2 'usage: standard_abi.sh STACK...     such as mpich==5.0.2 sid-openmpi'
"$here/wheel.sh" "$compiler"
for stack in "$@"; do
    case $stack in
        mpich==*) "$here/wheel.sh" "${stack/==/-}" ;;
        *-openmpi | *-mpich) library_of "$stack" ;;
        *) fail 2 "standard_abi.sh: no stack $stack; expected a name such as mpich==5.0.2, sid-openmpi" ;;
    esac
done
cd -- "$root"
off=(-DIOKERNEL_HDF5=OFF -DIOKERNEL_PNETCDF=OFF -DIOKERNEL_NETCDF4=OFF -DIOKERNEL_CGNS=OFF)
IOGAUGE_STACKS="wheel-${compiler//./-}" .venv/bin/iogauge build --stack "wheel-${compiler//./-}" \
    --dir .local/build/standard -- -DBUILD_TESTING=OFF "${off[@]}" \
    -DCMAKE_C_COMPILER="$local_dir/wheels/$compiler/bin/mpicc_abi"
