# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
# Part of a job's script (memory_group.py), with `parent`, the folder of all groups, `limit` in bytes and
# the group's `limit_file`.
group=$parent/iogauge.$$
leave_group() {
    local status=$? process
    set +e
    trap '' INT TERM
    for _ in {1..20}; do # what lives on in the group, too
        for process in $(<"$group/cgroup.procs"); do
            echo "$process" >"$parent/cgroup.procs"
        done
        rmdir "$group" && break
        sleep 0.1
    done 2>/dev/null
    return "$status"
}
# Groups of killed scripts; one with processes stays.
for left in "$parent"/iogauge.*; do
    [ -e "/proc/${left##*.}" ] || rmdir "$left" 2>/dev/null || :
done
mkdir "$group"
trap 'leave_group; finish' EXIT
echo "$limit" >"$group/$limit_file"
echo $$ >"$group/cgroup.procs"
