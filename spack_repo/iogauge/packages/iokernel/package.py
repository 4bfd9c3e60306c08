# SPDX-License-Identifier: BSD-3-Clause
"""Spack's recipe for `iokernel`, for Spack 0.22 to 1.x (docs/spack.md: which were run)."""

import json
import pathlib
import re

from spack.package import *

try:  # package API v2: the build systems live in the builtin repository
    from spack_repo.builtin.build_systems.cmake import CMakePackage

    C_IS_A_DEPENDENCY = True
except ImportError:  # v1: `spack.package` has them, and 0.22 knows no language `c`
    C_IS_A_DEPENDENCY = False

CHECKOUT = pathlib.Path(__file__).resolve().parents[4]


def _libraries():
    """The rows of kernels/libraries.def."""
    table = (CHECKOUT / "kernels" / "libraries.def").read_text()
    rows = re.findall(r"^IO_LIBRARY\((.*)\)$", table, re.MULTILINE)
    return [[cell.strip(' "') for cell in row.split(",")] for row in rows]


LIBRARIES = _libraries()


def _cited(key):
    """The values of a key of CITATION.cff: `repository-code`, the public address, and `alias`, an
    author's account there. Neither is in it before the project is published."""
    text = (CHECKOUT / "CITATION.cff").read_text()
    found = re.findall(rf"^[ -]*{key}: *(\S+)", text, re.MULTILINE)
    return [value.strip("\"'") for value in found]


ADDRESS, MAINTAINERS = _cited("repository-code"), _cited("alias")


class Iokernel(CMakePackage):
    """The I/O kernels of iogauge: patterns of simulation codes, written and read back by POSIX,
    MPI-IO, HDF5, PnetCDF and CGNS, every byte verified."""

    # Without a public address the source, and the home page, is the checkout that this recipe lies
    # in. The environments take its working tree (`develop`); without that, Spack clones a commit.
    homepage = ADDRESS[0] if ADDRESS else (CHECKOUT / "README.md").as_uri()
    git = ADDRESS[0] if ADDRESS else CHECKOUT.as_uri()

    # Accounts, which Spack's robots write to: a name that nobody has given could be a stranger's.
    if MAINTAINERS:
        maintainers(*MAINTAINERS)

    license("BSD-3-Clause")

    # What the checkout has, unless a version is named.
    version("main", branch="main", preferred=True)
    version("0.3.0", tag="v0.3.0")
    version("0.2.0", commit="71b5568a5ab2a51d4fbf31fb223eef414255b571")

    for _name, _title, *_, _default in LIBRARIES:
        variant(_name, default=_default == "on", description=f"Methods that need {_title}")
    variant("tests", default=False, description="Build the CTest matrix")

    if C_IS_A_DEPENDENCY:
        depends_on("c", type="build")
    depends_on("cmake@3.20:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("mpi@3:")
    depends_on("jansson")
    for _name, _title, _, _, _, _needs, _, _spec, _ in LIBRARIES:
        depends_on(_spec, when=f"+{_name}")
        if _needs != "none":
            conflicts(f"+{_name}", when=f"~{_needs}", msg=f"{_title} needs +{_needs} here")

    @property
    def root_cmakelists_dir(self):
        """`develop` names the folder of the kernels itself; a clone has it as a part."""
        return "." if "dev_path" in self.spec.variants else "kernels"

    def cmake_args(self):
        """The stack's compiler and, for each library, its prefix: none is searched elsewhere."""
        spec = self.spec
        args = [
            self.define("CMAKE_C_COMPILER", spec["mpi"].mpicc),
            self.define_from_variant("BUILD_TESTING", "tests"),
        ]
        for name, _, _, _, root, _, package, _, _ in LIBRARIES:
            args.append(self.define_from_variant(f"IOKERNEL_{name.upper()}", name))
            if spec.satisfies(f"+{name}"):
                args.append(self.define(root, spec[package].prefix))
        return args

    def _run_verified(self, method, mode, pattern=("s3d", "--grid", "23x19x17")):
        """Writes and reads a small file with two processes; fails if a byte is wrong."""
        if method != "mpiio" and not self.spec.satisfies(f"+{method}"):
            raise SkipTest(f"built with ~{method}")
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
                f"iokernel {pattern[0]} --method {method}: {verdict}, expected: verified"
            )

    def test_mpiio(self):
        """a verified pattern by MPI-IO"""
        self._run_verified("mpiio", "collective")

    def test_hdf5(self):
        """a verified pattern by HDF5"""
        self._run_verified("hdf5", "collective")

    def test_pnetcdf(self):
        """a verified pattern by PnetCDF"""
        self._run_verified("pnetcdf", "nonblocking")

    def test_netcdf4(self):
        """a verified pattern by NetCDF-4"""
        self._run_verified("netcdf4", "collective")

    def test_adios2(self):
        """a verified pattern by ADIOS2"""
        self._run_verified("adios2", "collective")

    def test_cgns(self):
        """a verified structured mesh by CGNS"""
        self._run_verified("cgns", "collective", ("cgns-structured", "--zone", "9x8x7"))

    def test_cgns_unstructured(self):
        """a verified unstructured mesh by CGNS"""
        self._run_verified("cgns", "collective", ("cgns-unstructured", "--elements", "257"))
