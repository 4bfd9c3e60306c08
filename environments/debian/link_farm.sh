#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Makes Debian's MPICH and HDF5 usable as Spack externals: two prefixes of links
# in .local/stacks/spack-debian, and the packages.yaml that names them and the
# PnetCDF and CGNS that setup.sh built for this MPICH.
#
#   link_farm.sh
#
# Why not `prefix: /usr`: Spack would call /usr/bin/mpicc, which is whichever MPI
# was installed last, and /usr/lib holds the HDF5 of three builds under one name.
# Run it again after an upgrade of the packages.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

farm="$local_dir/stacks/spack-debian"
stack="$local_dir/stacks/mpich"   # PnetCDF and CGNS, which Debian does not build for MPICH

needed=(libmpich-dev mpich libhdf5-mpich-dev libjansson-dev cmake ninja-build pkg-config make)

# version_of PACKAGE: upstream's, without Debian's epoch and revision.
version_of() {
    local version
    # shellcheck disable=SC2016   # the ${...} is dpkg-query's
    version=$(dpkg-query -W -f '${Version}' "$1" 2>/dev/null) || version=''
    version=${version#*:}
    version=${version%%[-+~]*}
    [[ -n $version ]] || fail 3 \
        "link_farm: Debian package $1 is missing. Run:  environments/debian/setup.sh"
    printf '%s\n' "$version"
}

# CGNS 3.4.0 calls itself 3400, and in words "3.40", which Spack would take for version 3.40.
version_of_cgns() {
    local header="$stack/include/cgnslib.h" version=''
    [[ ! -e $header ]] ||
        version=$(sed -nE 's/^#define CGNS_VERSION +([0-9])([0-9])([0-9])[0-9]$/\1.\2.\3/p' "$header")
    [[ -n $version ]] || fail 3 \
        'link_farm: CGNS for MPICH is missing. Run:  environments/debian/setup.sh'
    printf '%s\n' "$version"
}

# link PREFIX/NAME TARGET
link() {
    [[ -e $2 ]] || fail 1 "link_farm: $2 is not there; is its Debian package whole?"
    ln -s -- "$2" "$1"
}

make_mpich() {
    local name prefix=$1/mpich libraries=$2
    mkdir -p -- "$prefix/bin"
    for name in mpicc mpicxx mpifort mpif90 mpif77 mpiexec mpirun; do
        link "$prefix/bin/$name" "/usr/bin/$name.mpich"
    done
    ln -s mpicxx "$prefix/bin/mpic++"
    link "$prefix/bin/hydra_pmi_proxy" /usr/bin/hydra_pmi_proxy
    link "$prefix/include" "${libraries/lib/include}/mpich"
    mkdir -- "$prefix/lib"
    for name in "$libraries"/libmpich*.so*; do
        link "$prefix/lib/${name##*/}" "$name"
    done
    # The name by which recipes look for an MPI.
    ln -s libmpich.so "$prefix/lib/libmpi.so"
}

make_hdf5() {
    local prefix=$1/hdf5 libraries=$2
    mkdir -p -- "$prefix/bin"
    link "$prefix/bin/h5pcc" /usr/bin/h5pcc.mpich
    link "$prefix/include" /usr/include/hdf5/mpich
    link "$prefix/lib" "$libraries/hdf5/mpich"
}

# external NAME VERSION PREFIX [VARIANTS]: one package that Spack must not build.
external() {
    cat <<END
  $1:
    buildable: false
    require: "@$2"
    externals:
    - spec: $1@$2${4:+ $4}
      prefix: $3
END
}

write_packages() {
    # In a separate statement each: `set -e` does not see a failure inside a word.
    local mpich hdf5 pnetcdf cgns jansson cmake ninja pkgconf make
    mpich=$(version_of libmpich-dev)
    hdf5=$(version_of libhdf5-mpich-dev)
    pnetcdf=$("$stack/bin/pnetcdf-config" --version) || fail 3 \
        'link_farm: PnetCDF for MPICH is missing. Run:  environments/debian/setup.sh'
    cgns=$(version_of_cgns)
    jansson=$(version_of libjansson-dev)
    cmake=$(version_of cmake)
    ninja=$(version_of ninja-build)
    pkgconf=$(version_of pkg-config)
    make=$(version_of make)
    printf '# Made by environments/debian/link_farm.sh on this machine.\npackages:\n'
    external mpich "$mpich" "$farm/mpich" '+fortran +hydra +romio'
    external hdf5 "$hdf5" "$farm/hdf5" '+mpi +hl ~fortran ~cxx'
    external parallel-netcdf "${pnetcdf##* }" "$stack" '~fortran ~cxx'
    external cgns "$cgns" "$stack" '+mpi +hdf5 +int64 ~scoping ~fortran ~tools'
    external jansson "$jansson" /usr
    external cmake "$cmake" /usr
    external ninja "$ninja" /usr
    external pkgconf "$pkgconf" /usr
    external gmake "$make" /usr
}


main() {
    local new="$farm.new" libraries name
    (($# == 0)) || fail 2 'usage: link_farm.sh'
    for name in "${needed[@]}"; do
        version_of "$name" >/dev/null
    done
    libraries=/usr/lib/$(dpkg-architecture -q DEB_HOST_MULTIARCH 2>/dev/null || gcc -print-multiarch)
    rm -rf -- "$new"
    mkdir -p -- "$new"
    make_mpich "$new" "$libraries"
    make_hdf5 "$new" "$libraries"
    write_packages >"$new/packages.yaml"
    rm -rf -- "$farm"
    mv -- "$new" "$farm"
    say "link farm: $farm"
}

main "$@"
