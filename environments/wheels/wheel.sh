#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Installs an MPI from its wheel into .local/wheels/MPI-VERSION, for the stack
# wheel:MPI==VERSION. No root is needed.
#
#   wheel.sh [--libraries] MPI-VERSION...      e.g. wheel.sh mpich-5.0.2
#
# --libraries: HDF5 and PnetCDF too, built with it from Debian's source packages
# into .local/stacks/wheel-MPI-VERSION (environments/debian/source_package.sh).
#
# The file MPI-VERSION.lock beside this script has the wheel's hash: what is
# downloaded must have it. For another version write one: `pip download --no-deps
# mpich==5.0.1`, `pip hash FILE`, and a line as in the files that are here.
#
# shellcheck disable=SC1091,SC2154  # what common.sh defines
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
source "$here/../debian/common.sh"

libraries=no
if [[ ${1-} == --libraries ]]; then
    libraries=yes
    shift
fi
(($# > 0)) || fail 2 'usage: wheel.sh [--libraries] MPI-VERSION...'
for wheel in "$@"; do
    lock="$here/$wheel.lock"
    [[ $wheel != */* && -f $lock ]] ||
        fail 2 "wheel.sh: there is no $wheel.lock; there are: $(cd "$here" && printf '%s ' *.lock)"
    venv="$local_dir/wheels/$wheel"
    if ! cmp -s "$lock" "$venv/lock"; then
        say "wheel $wheel: installing into $venv (half a minute, 60 MB)"
        log=$(new_log "wheel-$wheel")
        run_logged "$log" python3 -m venv --clear "$venv"
        run_again "$log" "$venv/bin/python" -m pip install --no-input --disable-pip-version-check \
            --require-hashes --only-binary :all: --no-deps -r "$lock"
        cp -- "$lock" "$venv/lock"
    fi
    [[ $libraries == yes ]] || continue
    for name in hdf5 pnetcdf; do
        ! "$here/../debian/source_package.sh" --check "$name" "wheel-$wheel" || continue
        say "wheel $wheel: building $name from Debian's source (one to five minutes)"
        "$here/../debian/source_package.sh" "$name" "wheel-$wheel"
        say "wheel $wheel: $name: $(<"$local_dir/stacks/wheel-$wheel/.installed/$name.source")"
    done
done
