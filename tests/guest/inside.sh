#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# In the guest, as its first process: room, the modules, the command; then the guest goes off.
#
#   inside.sh CHECKOUT
#
# The host shares a folder, tag `out`: `command` (a shell script), `limit` (seconds); here come
# `status` and all that the command leaves in $IOGAUGE_OUTPUT.
checkout=$1
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8
off() {
    sync
    echo o >/proc/sysrq-trigger
    sleep 60
}
trap off EXIT
hostname guest
ip link set lo up
mkdir -p /dev/pts /dev/shm /sys/fs/cgroup /run/iogauge/out /run/iogauge/disk
mount -t devpts devpts /dev/pts
mount -t tmpfs tmpfs /dev/shm
mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000 out /run/iogauge/out || exit
for kernel in "$checkout"/.local/guest/*/lib/modules/"$(uname -r)"; do
    mkdir -p "/lib/modules/$(uname -r)"
    mount --bind "$kernel" "/lib/modules/$(uname -r)"
done
modprobe loop
mount -t ext4 /dev/vda /run/iogauge/disk || exit
export IOGAUGE_OUTPUT=/run/iogauge/disk/output IOGAUGE_GUEST=1
export TMPDIR=/run/iogauge/disk/tmp
mkdir -p "$IOGAUGE_OUTPUT" "$TMPDIR"
cd "$checkout" || exit
timeout --kill-after=30 "$(</run/iogauge/out/limit)" bash /run/iogauge/out/command </dev/null
status=$?
[[ $status != 124 ]] || echo "guest: the command took longer than its limit" >&2
cp -a "$IOGAUGE_OUTPUT" /run/iogauge/out/ || status=1
echo "$status" >/run/iogauge/out/status
