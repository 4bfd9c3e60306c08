#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs a program of another Debian release, in its root under
# .local/releases/SUITE (release.sh makes it):
#
#   enter.sh SUITE COMMAND...                  e.g. enter.sh trixie mpicc.openmpi -v
#   .local/releases/SUITE/bin/COMMAND ...      links to this file, for COMMAND in the root
#
# The release's own are /usr, /bin, /sbin, /lib* and /etc; every other folder of
# the machine is there too, in its place: /proc, /dev/shm, /tmp, the checkout,
# what is measured. They are mounted in a name space of this process alone, so
# nothing is left however it ends. The process becomes COMMAND: signals reach it.
# Without root it needs user name spaces, and COMMAND has no more rights than its user.
set -euo pipefail
here=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")" && pwd -P)
# shellcheck source-path=SCRIPTDIR source=common.sh
source "$here/common.sh"

# mount_all NEW: what COMMAND sees as /. The folder below is one that any root has.
mount_all() {
    local new=$1 entry name
    mount -t tmpfs -o mode=755 iogauge "$new"
    for entry in "$release"/root/{usr,bin,sbin,lib*,etc}; do
        name=${entry##*/}
        if [[ -L $entry ]]; then
            cp -P -- "$entry" "$new/$name"
        elif [[ -d $entry ]]; then
            mkdir -- "$new/$name"
            mount --bind -- "$entry" "$new/$name"
        fi
    done
    for entry in /* ; do
        name=${entry##*/}
        [[ -d $entry && ! -e $new/$name && ! -L $new/$name ]] || continue
        if [[ -L $entry ]]; then
            cp -P -- "$entry" "$new/$name"
        elif [[ $name != lib* ]]; then
            mkdir -- "$new/$name"
            mount --rbind -- "$entry" "$new/$name"
        fi
    done
    # Whose the files are, and where this is.
    for entry in passwd group hosts hostname resolv.conf; do
        [[ ! -f /etc/$entry || ! -f $new/etc/$entry ]] ||
            mount --bind -- "/etc/$entry" "$new/etc/$entry"
    done
}

# Second stage: in a new name space.
become() {
    local new="$release/root/mnt" drop=()
    mount_all "$new"
    # What --keep-caps has left; root keeps its rights.
    [[ ${IOGAUGE_ENTERED} == root ]] || drop=(setpriv --inh-caps=-all --ambient-caps=-all --)
    unset IOGAUGE_ENTERED LD_LIBRARY_PATH
    unset CMAKE_C_COMPILER_LAUNCHER # ccache, which is not in there
    exec chroot "$new" /usr/bin/env -C "$PWD" \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "${drop[@]}" "$@"
}

main() {
    local suite name=${0##*/} own=()
    if [[ $name == enter.sh ]]; then
        (($# > 1)) || fail 2 'usage: enter.sh SUITE COMMAND...'
        suite=$1
        shift
    else
        suite=$(basename -- "$(cd -- "$(dirname -- "$0")/.." && pwd)")
        [[ $name == enter ]] || set -- "$name" "$@"
    fi
    release="$local_dir/releases/$suite"
    [[ -d $release/root/usr ]] ||
        fail 3 "$release is not here; run environments/debian/release.sh $suite"
    case $root in
        /usr/* | /etc/* | /lib*) fail 3 "the checkout is in $root, which is a folder of the release's own there" ;;
    esac
    [[ -z ${IOGAUGE_ENTERED-} ]] || become "$@"
    if ((EUID == 0)); then
        IOGAUGE_ENTERED=root exec unshare --mount -- "$here/enter.sh" "$suite" "$@"
    fi
    own=(--user --map-current-user --keep-caps --mount)
    unshare "${own[@]}" -- true 2>/dev/null ||
        fail 3 'enter.sh: this machine has no user name spaces for users other than root'
    IOGAUGE_ENTERED=user exec unshare "${own[@]}" -- "$here/enter.sh" "$suite" "$@"
}

main "$@"
