# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Shared by setup.sh and source_package.sh: where things go, and how a long
# command is run without flooding the console. To be sourced.

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
readonly root
readonly local_dir="$root/.local"
readonly log_dir="$local_dir/log"

# What Debian has for one MPI only or for none: NAME MPI, and what to call it.
# Of those who source this file, not all use it.
# shellcheck disable=SC2034
readonly built_here=(
    'pnetcdf mpich PnetCDF for MPICH'
    'cgns openmpi parallel CGNS for Open MPI'
    'cgns mpich parallel CGNS for MPICH'
)

say() { printf '%s\n' "$*"; }

# fail STATUS LINE...
fail() {
    local status=$1
    shift
    printf '%s\n' "$@" >&2
    exit "$status"
}

# run_logged LOG COMMAND...: all output goes to LOG. Only a failure shows
# anything: the tail, and where the rest is. COMMAND must be a program: the
# shell would ignore `set -e` inside a function that is run as a condition.
run_logged() {
    local log=$1 status=0
    shift
    printf '+ %s\n' "$*" >>"$log"
    "$@" >>"$log" 2>&1 </dev/null || status=$?
    ((status == 0)) && return 0
    fail 1 "FAILED (status $status): $*" "--- the last lines of $log:" \
        "$(tail -n 20 -- "$log")" "--- all of it: $log"
}

# run_again LOG COMMAND...: as run_logged, but a download that fails is tried twice more: pip does not
# go on with one that was cut off.
run_again() {
    local pause
    for pause in 5 20; do
        ! (run_logged "$@") 2>/dev/null || return 0
        sleep "$pause"
    done
    run_logged "$@"
}

# new_log NAME: prints the path of a new, empty log. Not truncated in place: an
# interrupted set-up's child may still be writing to the old one.
new_log() {
    mkdir -p -- "$log_dir"
    rm -f -- "$log_dir/$1.log"
    : >"$log_dir/$1.log"
    printf '%s\n' "$log_dir/$1.log"
}

# wait_for_lock FD WHAT: two at once would undo each other's work. Children hold
# the lock too, so what a killed run left behind is waited for. FD is open to
# append; the file says who holds it.
wait_for_lock() {
    local file="/dev/fd/$1"
    # Without flock (not Linux) there is no protection, but all else works.
    command -v flock >/dev/null || return 0
    if ! flock -n "$1"; then
        say "waiting for another $2 in this checkout to end: $(cat "$file")"
        flock -w "${IOGAUGE_LOCK_SECONDS:-86400}" "$1" ||
            fail 1 "no lock within IOGAUGE_LOCK_SECONDS: $(cat "$file")"
    fi
    printf '%s\n' "process $$ on $(uname -n), since $(date)" >"$file"
}
