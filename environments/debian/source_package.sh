#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds a library from Debian's SOURCE package against one MPI, into
# .local/stacks/STACK. For what Debian ships for one MPI only, or for none: its
# binary PnetCDF is Open MPI's, and a program linked to both MPIs fails at run
# time; its CGNS is serial. And jansson, STACK `any`, where a machine has none
# and nobody may install it: this needs no root.
#
#   source_package.sh [--check] NAME STACK       e.g. pnetcdf mpich, jansson any
#
# SUITE-mpich and SUITE-openmpi are those of another release: started by enter.sh,
# it takes that release's sources, compilers and libraries.
#
# IOGAUGE_JANSSON=FOLDER (such a variable for each NAME) is source that is here
# already, unpacked: then nothing is fetched, and this need not be Debian.
# --check only says, by its exit status, whether NAME is in place.
# To add a package: one line in `sources`, one in `libraries`, and a function
# build_NAME, which runs in the source folder and installs under $stage$prefix.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

# Debian's name of the source package, and the file that proves the result.
declare -rA sources=([pnetcdf]=pnetcdf [cgns]=libcgns [jansson]=jansson)
declare -rA libraries=([pnetcdf]=lib/libpnetcdf.so [cgns]=lib/libcgns.so
    [jansson]=lib/libjansson.so)

build_pnetcdf() {
    # Debian's source has no configure. Suffix names only: plain mpicc is
    # whichever MPI was installed last.
    run_logged "$log" autoreconf -fi
    run_logged "$log" ./configure --prefix="$prefix" \
        --disable-fortran --disable-cxx --enable-shared --disable-static \
        MPICC="mpicc.$mpi" CFLAGS="-O2 -g"
    run_logged "$log" make -j"$(nproc)"
    run_logged "$log" make install DESTDIR="$stage"
}

build_cgns() {
    # Debian's own build is serial. The wrapper of the stack's HDF5 is named, or
    # CMake would take whichever h5pcc it finds; 64 bits: cgsize_t is int64.
    # The tools bring cgnscheck, an independent reader; it needs no X.
    run_logged "$log" cmake -S . -B iogauge-build -G Ninja \
        -DCMAKE_C_COMPILER="mpicc.$mpi" -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_INSTALL_LIBDIR=lib \
        -DCMAKE_INSTALL_RPATH="$prefix/lib" \
        -DCGNS_ENABLE_HDF5=ON -DHDF5_PREFER_PARALLEL=ON -DHDF5_NEED_MPI=ON \
        -DHDF5_NEED_ZLIB=ON -DHDF5_C_COMPILER_EXECUTABLE="/usr/bin/h5pcc.$mpi" \
        -DCGNS_ENABLE_PARALLEL=ON -DCGNS_ENABLE_64BIT=ON -DCGNS_BUILD_SHARED=ON \
        -DCGNS_BUILD_CGNSTOOLS=OFF -DCGNS_ENABLE_TESTS=OFF
    run_logged "$log" cmake --build iogauge-build --parallel "$(nproc)"
    run_logged "$log" env DESTDIR="$stage" cmake --install iogauge-build
}

build_jansson() {
    run_logged "$log" cmake -S . -B iogauge-build -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_POLICY_VERSION_MINIMUM=3.5 \
        -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_INSTALL_LIBDIR=lib \
        -DJANSSON_BUILD_SHARED_LIBS=ON -DJANSSON_BUILD_DOCS=OFF -DJANSSON_WITHOUT_TESTS=ON \
        -DJANSSON_EXAMPLES=OFF
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
mpis_of() {
    ldd "$1" | sed -n -e 's/^[[:space:]]*libmpich\.so.*/mpich/p' \
        -e 's/^[[:space:]]*libmpi\.so.*/openmpi/p' | sort -u | paste -sd' '
}

in_place() {
    [[ -f $stamp && $(<"$stamp") == "$(recipe_hash)" ]] || return 1
    [[ -f $library ]] || return 1
    [[ $(mpis_of "$library") == "$(right_mpis)" ]]
}

# Those that a library of this stack must load.
right_mpis() {
    [[ $mpi == any ]] || printf '%s\n' "$mpi"
}

# Debian machines seldom list sources. Derive `deb-src` entries from the
# machine's own entries, in a private copy: same mirror, keys and release, and
# nothing of the system is changed.
write_apt_configuration() {
    local file etc=${APT_ETC:-/etc/apt}   # APT_ETC: for tests
    rm -rf -- "${apt_dir:?}/etc"
    mkdir -p -- "$apt_dir"/{etc,lists/partial,cache/archives/partial}
    mkdir -p -- "$apt_dir/etc/sources.list.d"
    : >"$apt_dir/etc/sources.list"
    # The two forms that apt reads; it ignores files of any other name.
    for file in "$etc"/sources.list "$etc"/sources.list.d/*.list; do
        [[ -f $file ]] || continue
        sed -E 's/^[[:space:]]*deb([[:space:]])/deb-src\1/' "$file" \
            >"$apt_dir/etc${file#"$etc"}"
    done
    for file in "$etc"/sources.list.d/*.sources; do
        [[ -f $file ]] || continue
        sed -E 's/^Types:.*/Types: deb-src/I' "$file" >"$apt_dir/etc${file#"$etc"}"
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

# Leaves the unpacked source in $work/source.
get_source() {
    local apt=(apt-get -c "$apt_dir/apt.conf" -q) here="IOGAUGE_${name^^}"
    if [[ -n ${!here-} ]]; then
        [[ -d ${!here} ]] || fail 2 "$here=${!here} is not a folder of unpacked source"
        run_logged "$log" cp -a -- "${!here}" "$work/source"
        return 0
    fi
    write_apt_configuration
    # A third party's entry without sources makes `update` fail: no matter.
    # What counts is whether the source then comes.
    printf '+ apt-get update\n' >>"$log"
    "${apt[@]}" update >>"$log" 2>&1 </dev/null || true
    mkdir -p -- "$work/download"
    cd -- "$work/download"
    # apt checks what it downloads against the signed lists.
    run_logged "$log" "${apt[@]}" source --download-only "${sources[$name]}"
    run_logged "$log" dpkg-source -x -- ./*.dsc "$work/source"
}

build() {
    local found
    # Whatever an interrupted build left is of no use. The stamp goes first and
    # comes back last: without it nothing counts as installed.
    rm -rf -- "$stamp" "$work"
    mkdir -p -- "$work" "${stamp%/*}" "$prefix"
    log=$(new_log "$name-$stack")
    get_source
    cd -- "$work/source"
    "build_$name"
    # Checked before it is installed: a library with two MPIs is worse than none.
    found=$(mpis_of "$stage$library")
    [[ $found == "$(right_mpis)" ]] ||
        fail 1 "$name: its library loads [$found], expected [$(right_mpis)]; see $log"
    # Other packages live in the same prefix, so the folder cannot be renamed.
    run_logged "$log" cp -a --remove-destination -- "$stage$prefix/." "$prefix/"
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
    mpi=${stack##*-}
    [[ $stack =~ ^([a-z]+-)?(mpich|openmpi)$|^any$ ]] ||
        fail 2 "no stack $stack; there are: mpich openmpi any, and SUITE-mpich SUITE-openmpi"
    prefix="$local_dir/stacks/$stack"
    library="$prefix/${libraries[$name]}"
    stamp="$prefix/.installed/$name"
    work="$local_dir/build/$stack/$name"
    stage="$work/stage"
    apt_dir="$local_dir/${stack%"$mpi"}apt"
    if in_place; then
        return 0
    fi
    [[ $check == no ]] || return 1
    mkdir -p -- "$local_dir"
    exec 8>"$local_dir/build.lock"
    wait_for_lock 8 'build of a library'
    in_place || build
}

main "$@"
