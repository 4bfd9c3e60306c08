#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Lets programs that were built with Debian's MPICH run with another's library.
# All MPICH since 3.1 (Intel's, Cray's, MVAPICH too) have one ABI and call their
# library libmpi.so.12; only Debian calls it libmpich.so.12.
#
#   mpich_abi.sh        makes .local/stacks/abi/libmpich.so.12
#
# That has nothing in it, and asks for libmpi.so.12. The folder and the one of
# another MPICH in LD_LIBRARY_PATH are all that it takes (containers/host_mpi.sh).
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

folder="$local_dir/stacks/abi"
[[ ! -f $folder/libmpich.so.12 ]] || exit 0
work="$folder.$$"
trap 'rm -rf -- "$work"' EXIT
mkdir -p -- "$work" "$folder"
log=$(new_log mpich-abi)
# The first is there to link with alone.
run_logged "$log" cc -shared -Wl,-soname,libmpi.so.12 -o "$work/libmpi.so.12" -x c /dev/null
run_logged "$log" cc -shared -Wl,-soname,libmpich.so.12 -o "$work/libmpich.so.12" -x c /dev/null \
    -x none -Wl,--no-as-needed "$work/libmpi.so.12"
mv -- "$work/libmpich.so.12" "$folder/"
