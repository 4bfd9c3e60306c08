#!/bin/busybox sh
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=dash
# The guest's first program: its root is the host's, read-only by 9p, with a file system in memory
# over it for what is written. Then tests/guest/inside.sh of the checkout.
b=/bin/busybox
die() {
    echo "guest: $1"
    $b poweroff -f
    $b sleep 60
}
$b mount -t proc proc /proc
$b mount -t sysfs sys /sys
$b mount -t devtmpfs dev /dev
if $b grep -q iogauge.probe /proc/cmdline; then
    die iogauge.probe
fi
for module in /modules/*; do
    $b insmod "$module" || die "$module cannot be loaded"
done
$b mount -t tmpfs -o size=75% rw /rw || die "no memory file system"
$b mkdir /rw/upper /rw/work
$b mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,cache=loose,ro host /lower ||
    die "the host's root is not there"
$b mount -t overlay -o lowerdir=/lower,upperdir=/rw/upper,workdir=/rw/work root /root ||
    die "no overlay"
$b mount -t proc proc /root/proc
$b mount -t sysfs sys /root/sys
$b mount -t devtmpfs dev /root/dev
for folder in run tmp; do
    $b mount -t tmpfs tmpfs /root/$folder
    $b chmod 1777 /root/$folder
done
$b umount /dev /sys
for word in $($b cat /proc/cmdline); do
    case $word in iogauge.checkout=*) checkout=${word#*=} ;; esac
done
$b umount /proc
exec $b switch_root /root /bin/bash "$checkout/tests/guest/inside.sh" "$checkout" ||
    die "no $checkout in the host's root"
