#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs make targets one after the other, each to its end, whatever became of the one before it. A table of
# them all is the end. Exit status: 0 all passed, 1 one failed, 128 + N after signal N.
#     tools/parts.sh MAKE TARGET [TARGET ...]
set -um # each target is a process group, which a signal ends as a whole
make=$1
shift
table='part                   result  min:s'
status=0

row() {
    table+=$(printf '\n%-22s %-7s %3d:%02d' "$1" "$2" $((SECONDS / 60)) $((SECONDS % 60)))
}

# shellcheck disable=SC2317 # the traps call it
ended() { # SIGNAL STATUS
    trap '' INT TERM
    kill -s "$1" -- "-$!"
    wait -f "$!"
    row "$target" "ended"
    echo "$table"
    exit "$2"
}
trap 'ended INT 130' INT
trap 'ended TERM 143' TERM

for target; do
    echo "== $target"
    SECONDS=0
    $make --no-print-directory "$target" </dev/null &
    if wait -f "$!" || wait "$!"; then # the first may tell how it was stopped for a while
        row "$target" passed
    else
        row "$target" FAILED
        status=1
    fi
done
echo "$table"
exit "$status"
