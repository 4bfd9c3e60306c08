# SPDX-License-Identifier: BSD-3-Clause
"""Spack's recipe for `iokernel`, for Spack 0.22 and 0.23 (package API v1) and 1.x (v2);
docs/spack.md says which were run."""

import json
import pathlib

try:  # package API v2: the build systems live in the builtin repository
    from spack_repo.builtin.build_systems.cmake import CMakePackage

    C_IS_A_DEPENDENCY = True
except ImportError:  # v1: `spack.package` has them, and 0.22 knows no language `c`
    C_IS_A_DEPENDENCY = False

from spack.package import *

CHECKOUT = pathlib.Path(__file__).resolve().parents[4]


class Iokernel(CMakePackage):
    """The I/O kernels of iogauge: patterns of simulation codes, written and read back by POSIX,
    MPI-IO, HDF5, PnetCDF and CGNS, every byte verified."""

    # No public address yet: the source is the checkout that this recipe lies in. The environments
    # take its working tree (`develop`); without that, Spack clones its last commit.
    git = CHECKOUT.as_uri()

    version("main", branch="main")

    variant("hdf5", default=True, description="Method hdf5")
    variant("pnetcdf", default=True, description="Method pnetcdf")
    variant("cgns", default=True, description="Methods that write CGNS files")
    variant("tests", default=False, description="Build the CTest matrix")

    if C_IS_A_DEPENDENCY:
        depends_on("c", type="build")
    depends_on("cmake@3.20:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("mpi@3:")
    depends_on("jansson")
    depends_on("hdf5+mpi", when="+hdf5")
    depends_on("parallel-netcdf", when="+pnetcdf")
    depends_on("cgns+mpi+hdf5", when="+cgns")

    conflicts("+cgns", when="~hdf5", msg="CGNS files are HDF5 files here: +cgns needs +hdf5")

    @property
    def root_cmakelists_dir(self):
        """`develop` names the folder of the kernels itself; a clone has it as a part."""
        return "." if "dev_path" in self.spec.variants else "kernels"

    def cmake_args(self):
        """The stack's compiler and, for each library, its prefix: nothing is searched elsewhere."""
        spec = self.spec
        args = [
            self.define("CMAKE_C_COMPILER", spec["mpi"].mpicc),
            self.define_from_variant("BUILD_TESTING", "tests"),
        ]
        libraries = (
            ("hdf5", "hdf5", "HDF5_ROOT"),
            ("pnetcdf", "parallel-netcdf", "IOKERNEL_PNETCDF_ROOT"),
            ("cgns", "cgns", "IOKERNEL_CGNS_ROOT"),
        )
        for variant_name, package, root in libraries:
            args.append(self.define_from_variant(f"IOKERNEL_{variant_name.upper()}", variant_name))
            if spec.satisfies(f"+{variant_name}"):
                args.append(self.define(root, spec[package].prefix))
        return args

    def _run_verified(self, method, mode, pattern=("s3d", "--grid", "23x19x17")):
        """Writes and reads a small file with two processes; fails if a byte is wrong."""
        iokernel = str(self.prefix.bin.iokernel)
        result = pathlib.Path.cwd() / "result.json"
        mpiexec = Executable(str(self.spec["mpi"].prefix.bin.mpiexec))
        # Only Open MPI reads these: root and few cores are no reason to fail.
        mpiexec.add_default_env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        mpiexec.add_default_env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        mpiexec.add_default_env("OMPI_MCA_rmaps_base_oversubscribe", "1")
        mpiexec.add_default_env("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe")
        how = ("--method", method, "--mode", mode)
        where = ("--dir", str(result.parent), "--json", str(result))
        mpiexec("-n", "2", iokernel, *pattern, *how, *where)
        verdict = json.loads(result.read_text())["verification"]["verdict"]
        if verdict != "verified":
            raise RuntimeError(
                f"iokernel {pattern[0]} --method {method}: {verdict}, right is: verified"
            )

    def test_mpiio(self):
        """a verified pattern by MPI-IO"""
        self._run_verified("mpiio", "collective")

    def test_hdf5(self):
        """a verified pattern by HDF5"""
        if not self.spec.satisfies("+hdf5"):
            raise SkipTest("built with ~hdf5")
        self._run_verified("hdf5", "collective")

    def test_pnetcdf(self):
        """a verified pattern by PnetCDF"""
        if not self.spec.satisfies("+pnetcdf"):
            raise SkipTest("built with ~pnetcdf")
        self._run_verified("pnetcdf", "nonblocking")

    def test_cgns(self):
        """a verified mesh by CGNS"""
        if not self.spec.satisfies("+cgns"):
            raise SkipTest("built with ~cgns")
        self._run_verified("cgns", "collective", ("cgns-structured", "--zone", "9x8x7"))
