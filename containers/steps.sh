#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What an image is made of, step by step. containers/Dockerfile and iogauge.def
# call it, in the folder that holds the checkout:
#
#   steps.sh libraries    set-up, in the image that builds
#   steps.sh kernels      both stacks' kernels, and the list of packages that they load from
#   steps.sh runtime      in the image that runs: these packages, and folders that any user may write
#   steps.sh check        in it, as any user, nothing mounted: both stacks write right bytes in memory
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

# What the programs start or load by themselves, besides: environments/debian/packages.txt.
group='container'
list=.local/kernels/packages.txt

libraries() {
    apt-get -q update
    environments/debian/setup.sh
    rm -rf /var/lib/apt/lists/* .local/apt .local/log
}

kernels() {
    local stack build
    # /tmp is the machine's while Apptainer builds: others' folders may be there.
    build=$(mktemp -d)
    for stack in openmpi mpich; do
        .venv/bin/iogauge build --stack "$stack" --dir "$build/$stack" --prefix ".local/kernels/$stack" \
            -- -DBUILD_TESTING=OFF -DCMAKE_INSTALL_RPATH_USE_LINK_PATH=ON
    done
    rm -rf -- "$build"
    environments/debian/mpich_abi.sh
    packages_of .local/kernels/*/bin/iokernel .local/stacks/*/lib/*.so >"$list"
}

# packages_of FILE...: the Debian packages of the shared libraries that they load.
packages_of() {
    local file
    ldd "$@" | sed -n 's/.* => \(\/[^ ]*\) .*/\1/p' | sort -u |
        while read -r file; do
            # Debian 12 has some under /lib, of which /usr/lib is the other name.
            dpkg-query -S "$file" "/usr$file" "${file#/usr}" "$(readlink -f -- "$file")" 2>/dev/null || true
        done | sed -n '/^diversion /d; s/:.*//p' | sort -u
}

runtime() {
    local folder
    apt-get -q update
    { awk -v group="$group" '$1 !~ /^#/ && $2 == group { print $1 }' environments/debian/packages.txt
      cat -- "$list"
    } | DEBIAN_FRONTEND=noninteractive xargs apt-get -q -y --no-install-recommends install
    rm -rf /var/lib/apt/lists/*
    for folder in /results /data .local .local/topology; do
        mkdir -p -- "$folder"
        chmod 1777 -- "$folder"
    done
}

check() {
    local results status=0
    results=$(mktemp -d)
    # ReFrame's first log goes to TMPDIR, and stays there.
    TMPDIR=$results IOGAUGE_OUTPUT=$results containers/run.sh docker \
        -n 'S3d.*fs=ram.*(mpiio|hdf5|pnetcdf):collective%.*smoke' \
        -n 'CgnsUnstructured.*fs=ram.*cgns:collective%.*smoke' || status=$?
    rm -rf -- "$results"
    return "$status"
}

case ${1-} in
    libraries | runtime)
        # As root on a machine they would change it: they are for an image.
        [[ $PWD == /opt/iogauge ]] || { printf 'steps.sh %s: for an image only, in /opt/iogauge\n' "$1" >&2; exit 2; }
        "$1" ;;
    kernels | check) "$1" ;;
    *) printf 'usage: steps.sh libraries|kernels|runtime|check\n' >&2; exit 2 ;;
esac
