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


@pytest.mark.skipif(not shutil.which("mpicc.openmpi"), reason="mpicc.openmpi is missing")
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
    old = tmp_path / "old.h"
    old.write_text(header + "".join(f"#define {name} not_in_this_release\n" for name in lacks))
    words = ["mpicc.openmpi", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE"]
    words += ["-I", str(KERNELS), "-I", "/usr/include/hdf5/openmpi", "-include", str(old)]
    for source in sources:
        command = [*words, str(KERNELS / "methods" / source)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
