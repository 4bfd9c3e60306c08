# SPDX-License-Identifier: BSD-3-Clause
"""The methods compile with the libraries of IDRIS's slides, HDF5 1.8.5 and PnetCDF 1.2.0: without
what came later. docs/spack.md says what was run with the libraries themselves."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from iogauge.common.paths import KERNELS

# A release, as its header says it, and names that it does not have.
HDF5 = """\
#include <hdf5.h>
#undef H5_VERSION_GE
#undef H5_VERS_MINOR
#undef H5_VERS_RELEASE
#define H5_VERS_MINOR 8
#define H5_VERS_RELEASE 5
"""
NOT_IN_HDF5 = (
    *("H5Pset_all_coll_metadata_ops", "H5Pget_all_coll_metadata_ops", "H5Pset_coll_metadata_write"),
    *("H5Pget_coll_metadata_write", "H5Pset_file_locking", "H5Dwrite_multi", "H5Dread_multi"),
)
PNETCDF = """\
#include <pnetcdf.h>
#undef PNETCDF_VERSION_MINOR
#define PNETCDF_VERSION_MINOR 2
#undef NC_UBYTE
#undef NC_USHORT
#undef NC_UINT
#undef NC_INT64
#undef NC_UINT64
"""
NOT_IN_PNETCDF = ("ncmpi_put_varn", "ncmpi_get_varn", "ncmpi_put_varn_all", "ncmpi_get_varn_all")


pytestmark = pytest.mark.skipif(
    not shutil.which("mpicc.openmpi"), reason="mpicc.openmpi is missing"
)
WORDS = ["mpicc.openmpi", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE", "-I", str(KERNELS)]
WORDS += ["-I", "/usr/include/hdf5/openmpi", "-include", "old.h"]


def compiled(source: str, header: str, lacks: tuple[str, ...], folder: Path) -> Path:
    """The object, which refers to names that no library has."""
    gone = "".join(f"#define {name} not_in_this_release\n" for name in lacks)
    (folder / "old.h").write_text(header + gone)
    command = [*WORDS, "-c", "-o", "old.o", str(KERNELS / "methods" / source)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "old.o"


@pytest.mark.parametrize(
    ("header", "lacks", "sources"),
    [
        (HDF5, NOT_IN_HDF5, ["hdf5.c", "hdf5_file.c", "hdf5_filters.c"]),
        (PNETCDF, NOT_IN_PNETCDF, ["pnetcdf.c"]),
    ],
    ids=["hdf5", "pnetcdf"],
)
def test_what_came_later_is_not_needed(
    header: str, lacks: tuple[str, ...], sources: list[str], tmp_path: Path
) -> None:
    for source in sources:
        assert b"not_in_this_release" not in compiled(source, header, lacks, tmp_path).read_bytes()


@pytest.mark.parametrize("trusts_types", [True, False])
def test_chunks_that_hdf5_moves_independently_are_not_offered(
    trusts_types: bool, tmp_path: Path
) -> None:
    """Before 1.8.8 they are moved by collective calls only if HDF5 was configured to trust MPI's
    types; otherwise the mode is listed with what the build lacks."""
    header = HDF5 + "#define H5_MPI_COMPLEX_DERIVED_DATATYPE_WORKS 1\n" * trusts_types
    offered = compiled("hdf5.c", header, NOT_IN_HDF5, tmp_path).read_bytes()
    assert (b"which moves chunks by collective calls" in offered) != trusts_types
