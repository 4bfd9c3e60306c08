#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Sets this checkout up on Debian: system packages where they are missing, and
# all else inside the checkout (.venv, .local).
#
#   setup.sh [--test] [--fs] [--releases] [--python-only]
#
# --test adds what `make test` needs, --fs the file systems with servers that
# `make test-fs` mounts, --releases what release.sh needs; --python-only makes .venv alone, for the
# ways in which the libraries come from Spack or modules.
# Run it as often as you like: what is in place is checked and left alone, and
# what an interrupted run left half done is done again.
# Exit status: 3 where something is missing that it cannot install.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

here="$root/environments/debian"
venv="$root/.venv"
stamp="$venv/.iogauge-setup"

other_ways='Two ways without root:
  modules:  load an MPI, CMake and a compiler, then
            environments/debian/setup.sh --python-only && .venv/bin/iogauge site new NAME
  Spack:    spack -e environments/mpich install && environments/debian/setup.sh --python-only &&
            .venv/bin/iogauge run --site spack'

# Where there are no packages of Debian's: programs, wherever they come from.
check_programs() {
    local program missing=()
    for program in cc cmake mpicc; do
        command -v "$program" >/dev/null || missing+=("$program")
    done
    command -v ninja >/dev/null || command -v make >/dev/null || missing+=('ninja or make')
    ((${#missing[@]} == 0)) || fail 3 \
        "set-up: this is not Debian, and PATH lacks: ${missing[*]}" "$other_ways"
    say "set-up: this is not Debian: kernels are built with $(command -v mpicc)"
}

# Prints the packages of the groups given.
packages_of() {
    local group
    for group in "$@"; do
        awk -v group="$group" '$1 !~ /^#/ && $2 == group { print $1 }' \
            "$here/packages.txt"
    done
}

# Prints which of the given packages are not installed.
missing_of() {
    local present=''
    if command -v dpkg-query >/dev/null; then
        # Its status is not zero as soon as one package is unknown.
        present=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" \
            2>/dev/null || true)
    fi
    printf '%s\n' "$@" | awk -v present="$present" '
        BEGIN { n = split(present, lines, "\n")
                for (i = 1; i <= n; i++) have[lines[i]] = 1 }
        !(("installed " $1) in have)'
}

# Another user's checkout: the shell would say "Permission denied" of a lock file, and no more.
check_owner() {
    local place owner
    owner=$(stat -c %U -- "$root")
    ((EUID != 0)) || [[ $(stat -c %u -- "$root") == 0 ]] || printf '%s\n' >&2 \
        "set-up: warning: $root belongs to $owner, but set-up runs as root: files that it makes will be root's." \
        "To avoid that, run it as $owner; sudo -n then installs missing packages."
    for place in "$root" "$local_dir" "$local_dir/setup.lock"; do
        [[ ! -e $place || -w $place ]] || fail 3 \
            "set-up: $(id -un) may not write $place, which belongs to $(stat -c %U -- "$place")." \
            'Use your own checkout; or, where its owner has run make setup, this one without' \
            "set-up: IOGAUGE_OUTPUT=FOLDER $root/.venv/bin/iogauge run"
    done
}

# Sets `become` to what makes a command run as root, or fails.
find_root() {
    become=()
    ((EUID == 0)) && return 0
    become=(sudo -n)
    command -v sudo >/dev/null && sudo -n true 2>/dev/null
}

# What packages change on this machine besides their files is put back: no service of theirs starts, now or
# at the next boot, and no alternative (`mpicc`, `mpirun`) that was there names another program.
readonly policy=/usr/sbin/policy-rc.d policy_mark='# iogauge set-up'

units_at_boot() { { find /etc/systemd/system -path '*.wants/*' 2>/dev/null || :; } | sort; }

alternatives() { ! command -v update-alternatives >/dev/null || update-alternatives --get-selections; }

hold_system() {
    local known
    if grep -qsxF -- "$policy_mark" "$policy"; then # of a set-up that was killed
        "${become[@]}" rm -f -- "$policy"
    fi
    kept_units=$(units_at_boot)
    kept_alternatives=$(alternatives)
    trap release_system EXIT
    [[ ! -e $policy && ! -L $policy ]] || return 0
    # Services that are here may start again after an upgrade.
    known=$(find /etc/init.d /etc/systemd/system /{,usr/}lib/systemd/system -printf '%f ' 2>/dev/null || true)
    # shellcheck disable=SC2016
    "${become[@]}" sh -c 'set -C; cat >"$1" && chmod 755 "$1"' - "$policy" <<END || true
#!/bin/sh
$policy_mark
while [ "\${1#-}" != "\$1" ]; do shift; done
case ' $known' in *" \${1%.service} "* | *" \${1%.service}.service "*) exit 0 ;; esac
exit 101
END
}

release_system() {
    local name program new=() now=()
    trap - EXIT
    ! grep -qsxF -- "$policy_mark" "$policy" || "${become[@]}" rm -f -- "$policy"
    mapfile -t new < <(comm -13 <(printf '%s\n' "$kept_units") <(units_at_boot))
    ((${#new[@]} == 0)) || "${become[@]}" systemctl disable "${new[@]##*/}" || true
    mapfile -t now < <(alternatives)
    while read -r name _ program; do
        [[ -e $program ]] || continue
        ! printf '%s\n' "${now[@]}" | grep -x -- "$name  *[a-z]*  *$program" >/dev/null || continue
        say "$name stays $program (what Debian prefers now: update-alternatives --auto $name)"
        "${become[@]}" update-alternatives --set "$name" "$program" || true
    done <<<"$kept_alternatives"
}

install_packages() {
    local log why='' missing=("$@")
    if ! command -v apt-get >/dev/null; then
        why='there is no apt-get'
    elif ! find_root; then
        why='this user is not root, and sudo -n does not work'
    fi
    [[ -z $why ]] || fail 3 \
        "set-up: these Debian packages are missing, and cannot be installed here ($why):" \
        "  ${missing[*]}" "$other_ways"
    say "system packages: installing ${#missing[@]} (a few minutes): ${missing[*]}"
    log=$(new_log apt)
    become+=(env DEBIAN_FRONTEND=noninteractive)
    hold_system
    # The first two may fail, the install decides: another apt may hold dpkg's
    # lock (the install waits for it), and one dead third-party entry makes
    # `update` fail. After an interrupted dpkg the install needs --configure.
    # 9>&-: a service that a package starts must not keep our lock (9).
    printf '+ dpkg --configure -a; apt-get update\n' >>"$log"
    "${become[@]}" dpkg --configure -a --force-confdef --force-confold \
        >>"$log" 2>&1 9>&- || true
    "${become[@]}" apt-get -q update >>"$log" 2>&1 9>&- || true
    # --no-remove: another Slurm or MPI of this machine stays, and the install fails.
    run_logged "$log" "${become[@]}" apt-get -q -y --no-remove --no-install-recommends \
        -o DPkg::Lock::Timeout=600 -o Dpkg::Options::=--force-confdef \
        -o Dpkg::Options::=--force-confold install "${missing[@]}" 9>&-
    release_system
    mapfile -t missing < <(missing_of "$@")
    ((${#missing[@]} == 0)) ||
        fail 1 "apt-get succeeded, yet these are missing: ${missing[*]}; see $log"
}

# set_up_system GROUP...
set_up_system() {
    local wanted missing
    mapfile -t wanted < <(packages_of "$@")
    ((${#wanted[@]} > 0)) || fail 1 "no packages for $* in $here/packages.txt"
    mapfile -t missing < <(missing_of "${wanted[@]}")
    ((${#missing[@]} == 0)) || install_packages "${missing[@]}"
}

# source_package [--check] NAME STACK
source_package() {
    bash "$here/source_package.sh" "$@"
}

stacks_in_place() {
    local line name stack _
    for line in "${built_here[@]}"; do
        read -r name stack _ <<<"$line"
        source_package --check "$name" "$stack" || return 1
    done
}

set_up_stack() {
    local line name stack title
    for line in "${built_here[@]}"; do
        read -r name stack title <<<"$line"
        ! source_package --check "$name" "$stack" || continue
        command -v apt-get >/dev/null || fail 3 \
            "set-up: $title is missing, and comes through apt-get, which is not here." \
            "$other_ways"
        say "$title: building Debian's source (about a minute)"
        source_package "$name" "$stack"
    done
}

# Prints the first Python that will do: $PYTHON if set, else the system's, which is built with optimizations
# and stays where it is. One on PATH may be built without, or belong to a module that is unloaded later.
find_python() {
    local python candidates=(/usr/bin/python3 python3)
    [[ -z ${PYTHON-} ]] || candidates=("$PYTHON")
    for python in "${candidates[@]}"; do
        if "$python" -c 'import ensurepip, sys, venv
sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
            printf '%s\n' "$python"
            return 0
        fi
    done
    fail 3 "set-up: none of these is a Python >= 3.10 with venv and ensurepip: ${candidates[*]}" \
        'Name one that is:  PYTHON=/path/to/python3 environments/debian/setup.sh'
}

# One stamp line per level: `run` or `test`. With the path of the checkout: the
# scripts of .venv hold it, so a checkout that was moved needs a new .venv.
stamp_line() {
    printf '%s %s\n' "$1" "$(
        { printf '%s\n' "$root"; cat -- "$root"/requirements/{darshan,run,"$1"}.lock; } |
            sha256sum | cut -d' ' -f1)"
}

# The stamp alone proves little: Python may have been upgraded under .venv.
python_in_place() {
    [[ -f $stamp ]] && grep -qxF -- "$(stamp_line "$1")" "$stamp" &&
        "$venv/bin/python" -c 'import importlib.util as u, sys
sys.exit(u.find_spec("reframe") is None)' 2>/dev/null
}

# What is used of PyDarshan is its C library, so the wheel comes alone: what its summary page needs would be
# as large as all else. The wheels end with Python 3.12, but any Python loads the library.
add_darshan() {
    local site other=()
    ! "$venv/bin/python" -c 'import importlib.util as u, sys
sys.exit(u.find_spec("darshan") is None)' || return 0
    site=$("$venv/bin/python" -c 'import sysconfig, sys
print("" if sys.version_info < (3, 13) else sysconfig.get_path("purelib"))')
    [[ -z $site ]] || other=(--python-version 3.12 --target "$site")
    run_again "$1" "$venv/bin/python" -m pip install --no-input --disable-pip-version-check \
        --require-hashes --only-binary :all: --no-deps "${other[@]}" -r "$root/requirements/darshan.lock"
}

# set_up_python LEVEL, which is `run` or `test`
set_up_python() {
    local level=$1 log python modules='altair, duckdb, jinja2, numpy, rich, vl_convert, yaml'
    ! python_in_place "$level" || return 0
    python=$(find_python)
    log=$(new_log python)
    say "Python environment ($level): installing into .venv (about a minute)"
    # Of a package that pip was killed in, pip may think that it is installed.
    # So only a .venv that is complete for `run` is added to, and while it is,
    # it has no stamp.
    if [[ $level == test ]] && python_in_place run; then
        rm -f -- "$stamp"
    else
        # --clear would empty a .venv of the user's, and what a link points to: another checkout's.
        [[ ! -L $venv ]] || rm -- "$venv"
        [[ ! -e $venv || -e $stamp || -e $local_dir/made-venv ]] ||
            fail 3 "set-up: $venv was not made by set-up; move it away"
        touch -- "$local_dir/made-venv"
        rm -f -- "$stamp"
        run_logged "$log" "$python" -m venv --clear "$venv"
    fi
    run_again "$log" "$venv/bin/python" -m pip install --no-input \
        --disable-pip-version-check --require-hashes --only-binary :all: \
        -r "$root/requirements/$level.lock"
    run_logged "$log" "$venv/bin/python" -m pip check
    add_darshan "$log"
    [[ $level == run ]] || modules+=', h5py, hypothesis, netCDF4, pytest, scipy'
    run_logged "$log" "$venv/bin/python" -c "import $modules"
    run_logged "$log" "$venv/bin/reframe" --version
    { stamp_line run; [[ $level == run ]] || stamp_line "$level"; } >"$stamp.new"
    mv -- "$stamp.new" "$stamp"
}

# Libraries and, while they are built, Python: in a process group, which ends with this process.
set_up_both() {
    trap '[[ -z ${!-} ]] || kill -- "-$!" 2>/dev/null || :' EXIT
    set -m
    set_up_python "$1" &
    set +m
    set_up_stack
    wait "$!"
    trap - EXIT
}

main() {
    local argument level=run system=yes build=no groups=(build common openmpi mpich) more=()
    for argument in "$@"; do
        case $argument in
            --test) level='test' ;;
            --fs) more+=(fs) ;;
            --releases) more+=(releases) ;;
            --python-only) system=no ;;
            *) fail 2 'usage: setup.sh [--test] [--fs] [--releases] [--python-only]' ;;
        esac
    done
    check_owner
    [[ $root != *[[:space:]]* ]] ||
        fail 2 "the path of the checkout has a space in it, which Autotools do not allow: $root"
    # Nothing asks, and what a module or a login set must not reach .venv.
    exec </dev/null
    unset PYTHONPATH PYTHONHOME PIP_USER PIP_TARGET PIP_PREFIX
    mkdir -p -- "$local_dir"
    exec 9>>"$local_dir/setup.lock"
    wait_for_lock 9 set-up
    if [[ $system == yes ]] && ! command -v dpkg-query >/dev/null; then
        check_programs
    elif [[ $system == yes ]]; then
        stacks_in_place || build=yes groups+=(source-build)
        [[ $level == run ]] || groups+=(test slurm)
        set_up_system "${groups[@]}" "${more[@]}"
    fi
    if [[ $build == yes ]]; then
        set_up_both "$level"
    else
        set_up_python "$level"
    fi
    install -m 755 -- "$here/iogauge" "$venv/bin/iogauge"
    # Not again before each target of `make test`.
    ((${MAKELEVEL:-0} > 1)) || say "set-up: ready; start with: $venv/bin/iogauge help"
}

main "$@"
