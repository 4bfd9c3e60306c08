#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Makes a minimal root of another Debian release under .local/releases/SUITE, for
# the stacks SUITE-openmpi and SUITE-mpich; enter.sh runs programs in it.
#
#   release.sh [--check] [--only MPI] SUITE...     e.g. release.sh trixie sid
#
# --only openmpi (or mpich): the smallest useful root, with one MPI and its
# libraries. It is not made where the whole one is in place.
#
# The packages are listed in packages.txt, from the archive of which this
# machine's own are. .local/releases/SUITE/versions.txt has the versions that it
# found, and missing.txt what the suite does not have. What is in place is left
# alone, also where the suite has moved on since: remove the folder to have it
# anew. --check only says, by its exit status, whether all are in place.
# Exit status: 3 where no root can be made here (the reason is the last line).
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

here="$root/environments/debian"
readonly all=(build openmpi mpich newer source-build)
groups=("${all[@]}")
only=''
# The programs that the harness starts by a path; `enter` starts any other.
links=(mpicc.openmpi mpicc.mpich mpiexec.openmpi mpiexec.mpich)

# packages_of GROUP...
packages_of() {
    local group
    for group in "$@"; do
        awk -v group="$group" '$1 !~ /^#/ && $2 == group { print $1 }' "$here/packages.txt"
    done
}

# recipe_hash GROUP...
recipe_hash() {
    { packages_of "$@"; printf '%s\n' "$suite" "${links[@]}"
      declare -f make_root fill finish
    } | sha256sum | cut -d' ' -f1
}

in_place() {
    local stamp
    [[ -f $release/stamp && -d $release/root/usr ]] || return 1
    stamp=$(<"$release/stamp")
    [[ $stamp == "$(recipe_hash "${groups[@]}")" || $stamp == "$(recipe_hash "${all[@]}")" ]]
}

# Where a root could be neither made nor entered (enter.sh), nothing is downloaded.
check_able() {
    local own=(--mount)
    command -v mmdebstrap >/dev/null ||
        fail 3 'release.sh: mmdebstrap is missing; run environments/debian/setup.sh --releases'
    ((EUID == 0)) || own=(--user --map-current-user --keep-caps --mount)
    unshare "${own[@]}" -- true 2>/dev/null ||
        fail 3 "release.sh: $(id -un) may not mount in a new name space here, as programs of a release need; run it as root, or allow user name spaces"
}

# The libraries that the suite has for one MPI only or for none, from its source
# packages, built in the root. What cannot be built is told, once: its methods are missing. The file
# `libraries` has the reasons.
build_libraries() {
    local line name mpi title said failed=()
    for line in "${built_here[@]}"; do
        read -r name mpi title <<<"$line"
        [[ -x $release/root/usr/bin/mpicc.$mpi ]] || continue
        if said=$("$here/enter.sh" "$suite" "$here/source_package.sh" "$name" "$suite-$mpi" 2>&1); then
            say "release $suite: $title: $(<"$local_dir/stacks/$suite-$mpi/.installed/$name.source")"
        else
            failed+=("$title: ${said%%$'\n'*}")
            say "release $suite: $title: not built: ${said%%$'\n'*}; see $log_dir/$name-$suite-$mpi.log;" \
                "to try again: environments/debian/enter.sh $suite" \
                "environments/debian/source_package.sh $name $suite-$mpi"
        fi
    done
    printf '%s\n' "${failed[@]}" >"$release/libraries"
}

# The archive of this machine's own release, as apt knows it.
archive() {
    local codename found
    # shellcheck source=/dev/null
    codename=$(. /etc/os-release && printf '%s' "${VERSION_CODENAME-}")
    # shellcheck disable=SC2016  # apt's own words
    found=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' \
        'Label: Debian' "Codename: $codename" 2>/dev/null | head -n 1)
    [[ -n $found ]] ||
        fail 3 "release.sh: apt knows no archive of Debian ($codename) here; on Debian, run apt-get update first"
    printf '%s\n' "$found"
}

# installable ROOT PACKAGE...: all of them at once?
installable() {
    local new=$1
    shift
    chroot "$new" apt-get -s -q --no-install-recommends install "$@" >/dev/null
}

# fill ROOT, as a hook of mmdebstrap: all packages, or what is missing is named. apt is asked once;
# one by one, beside those before it, only where something is missing: each question takes a second.
fill() {
    local package file wanted there=()
    mapfile -t wanted < <(packages_of "${groups[@]}")
    if installable "$1" "${wanted[@]}"; then
        there=("${wanted[@]}")
    else
        for package in "${wanted[@]}"; do
            if installable "$1" "${there[@]}" "$package"; then
                there+=("$package")
            else
                printf '%s\n' "$package" >>"$1/missing.txt"
            fi
        done
    fi
    ((${#there[@]} == 0)) ||
        DEBIAN_FRONTEND=noninteractive chroot "$1" apt-get -q -y --no-install-recommends \
            install "${there[@]}"
    : >>"$1/missing.txt"
    # enter.sh puts the machine's own over these.
    for file in hosts hostname resolv.conf; do
        [[ -f $1/etc/$file ]] || { rm -f -- "$1/etc/$file"; : >"$1/etc/$file"; }
    done
    # shellcheck disable=SC2016  # dpkg's own words
    chroot "$1" dpkg-query -W -f '${Package} ${Version}\n' "${wanted[@]}" 2>/dev/null |
        sort >"$1/versions.txt" || true
}

# What apt says of an archive that does not hand something out, from a log.
not_handed_out() {
    sed -nE 's/^[EW]: ((Failed to fetch|Unable to (fetch|locate)|The repository|Release file) .*)/\1/p' "$1" |
        head -n 1
}

make_root() {
    local work="$release.new" log expired why from own=()
    log=$(new_log "release-$suite")
    from=$(archive)
    # Does apt take a list of the archive that is past its date? In the root as on this machine.
    expired=$(apt-config dump --format '%v' Acquire::Check-Valid-Until)
    rm -rf -- "$work"
    mkdir -p -- "$work/bin"
    # Its mounts of /proc and /sys end with mmdebstrap, even if it is killed; for other users it sees to
    # that itself.
    ((EUID != 0)) || own=(unshare --mount --)
    # Manuals and translations are half of the files. A root that a crash of the machine leaves half
    # written has no stamp: nothing needs to be on the disk before the next file is.
    (run_logged "$log" "${own[@]}" mmdebstrap --variant=minbase --skip=cleanup/reproducible \
        --dpkgopt=force-unsafe-io \
        --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
        --dpkgopt='path-exclude=/usr/share/locale/*' \
        --aptopt="Acquire::Check-Valid-Until \"${expired:-true}\"" \
        --customize-hook="'$here/release.sh' --fill $suite \"\$1\" ${groups[*]}" \
        "$suite" "$work/root" "$from") || {
        why=$(not_handed_out "$log")
        [[ -z $why ]] || fail 3 "release.sh: the archive does not hand out $suite: $why"
        exit 1
    }
    finish "$work"
    rm -rf -- "$release"
    mv -- "$work" "$release"
}

finish() {
    local name
    mv -- "$1/root/versions.txt" "$1/root/missing.txt" "$1/"
    for name in "${links[@]}" enter; do
        ln -s ../../../../environments/debian/enter.sh "$1/bin/$name"
    done
    recipe_hash "${groups[@]}" >"$1/stamp"
}

# make_release: the root of $suite, where it is not in place, and what is built in it.
make_release() {
    local missing cost='5 minutes; 0.3 GB to download, 1.3 GB on disk'
    [[ -z $only ]] || cost='2 minutes; 0.2 GB to download, 0.8 GB on disk'
    check_able
    mkdir -p -- "$local_dir/releases"
    exec 7>>"$local_dir/releases/$suite.lock"
    wait_for_lock 7 "making of release $suite"
    if in_place; then
        return 0
    fi
    say "release $suite: making $release ($cost)"
    make_root
    missing=$(paste -sd' ' -- "$release/missing.txt")
    [[ -z $missing ]] || say "release $suite does not have: $missing"
    build_libraries
    say "release $suite: $(du -sh -- "$release" | cut -f1), versions in $release/versions.txt"
}

main() {
    local check=no usage='usage: release.sh [--check] [--only openmpi|mpich] SUITE...'
    while [[ ${1-} == --* ]]; do
        case $1 in
            --check) check=yes; shift ;;
            --only)
                [[ ${2-} =~ ^(openmpi|mpich)$ ]] || fail 2 "$usage"
                only=$2 groups=(build "$2" source-build)
                [[ $2 == mpich ]] || groups+=(newer) # which Debian has for Open MPI only
                shift 2 ;;
            --fill) suite=$2 groups=("${@:4}"); fill "$3"; return ;;
            *) fail 2 "$usage" ;;
        esac
    done
    (($# > 0)) || fail 2 "$usage"
    for suite in "$@"; do
        [[ $suite =~ ^[a-z]+$ ]] || fail 2 "release.sh: $suite is not the name of a release, such as trixie"
        release="$local_dir/releases/$suite"
        if in_place; then
            [[ $check == no ]] || continue
            [[ -f $release/libraries ]] || build_libraries
            say "release $suite: in place"
            continue
        fi
        [[ $check == no ]] || return 1
        make_release
    done
}

# It may be edited while it runs, which takes minutes.
main "$@"; exit
