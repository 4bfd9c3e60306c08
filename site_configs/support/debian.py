# SPDX-License-Identifier: BSD-3-Clause
"""The stacks of Debian's packages, of the machine's own release and of others, each in a root
folder (environments/debian/release.sh), in one ReFrame session.
"""

import os
import platform
import re
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reframe.core.exceptions import ConfigError

from iogauge.common.paths import LOCAL, is_checkout
from iogauge.common.text import unknown
from site_configs.support import common

CORES = common.cores()
PREFIXES = LOCAL / "stacks"
RELEASE = re.compile(r"[a-z]+")


def own_version() -> float:
    """Debian's release here: infinity for one without a number, such as sid; 12 if none is here."""
    with suppress(OSError):
        system = platform.freedesktop_os_release()
        if system.get("ID") == "debian":
            return float(system.get("VERSION_ID", "inf"))
    return 12


OWN = own_version()


def need(what: Path | str, package: str) -> dict[str, str]:
    """A command (a bare name) or a file (a path) that a stack needs, and what provides it: a script
    of the checkout, which an installed package lacks, begins with `environments/`."""
    if package.startswith("environments/") and not is_checkout():
        package = "build it, and name it in a site file: iogauge site new NAME"
    return {"what": str(what), "from": package}


@dataclass(frozen=True)
class Debian:
    """A release that provides a stack's packages: the machine's own, or one in a root folder."""

    release: str = ""

    @property
    def is_newer(self) -> bool:
        """Newer than Debian 12, which has libraries of 2022."""
        return bool(self.release) or OWN > 12

    @property
    def folder(self) -> Path:
        return LOCAL / "releases" / self.release

    def stack(self, mpi: str) -> str:
        return f"{self.release}-{mpi}" if self.release else mpi

    def prefix(self, mpi: str) -> Path:
        """The folder of libraries that Debian does not have for this MPI."""
        return PREFIXES / self.stack(mpi)

    def program(self, command: str) -> str:
        return str(self.folder / "bin" / command) if self.release else command

    def need(self, what: str, package: str) -> dict[str, str]:
        """A command, or a path below /usr, of a package of this release."""
        if not self.release:
            return need(what, f"Debian package {package}")
        path = what if what.startswith("/") else f"/usr/bin/{what}"
        maker = f"environments/debian/release.sh {self.release}"
        return need(f"{self.folder}/root{path}", f"{maker}: package {package}")

    def build_tools(self) -> list[dict[str, str]]:
        ninja = "ninja" if self.release or shutil.which("ninja") else "make"
        return [self.need("cmake", "cmake"), self.need(ninja, "ninja-build")]

    def mpi_tools(self, mpi: str, development: str, runtime: str) -> list[dict[str, str]]:
        return [self.need(f"mpicc.{mpi}", development), self.need(f"mpiexec.{mpi}", runtime)]

    def extras(self) -> dict[str, Any]:
        """Extras of a release in a root folder."""
        if not self.release:
            return {}
        return {"inside": [self.program("enter")], "versions": str(self.folder / "versions.txt")}


HERE = Debian()


def built(file: str, debian: Debian, mpi: str) -> dict[str, str]:
    """A file of a library that is built from Debian's source."""
    maker = f"release.sh {debian.release}" if debian.release else "setup.sh"
    return need(debian.prefix(mpi) / file, f"environments/debian/{maker}")


def with_newer(debian: Debian, library: str, feature: str) -> list[str]:
    """What a library has, and in newer releases (HDF5 and PnetCDF 1.14) also that feature."""
    return [library, *([feature] if debian.is_newer else [])]


def cgns_features(debian: Debian, mpi: str) -> list[str]:
    """CGNS 4.4 and newer can write several arrays at once. 4.5.0 calls itself 4500."""
    header = debian.prefix(mpi) / "include" / "cgnslib.h"
    text = header.read_text() if header.is_file() else ""
    version = re.search(r"^#define CGNS_VERSION +(\d+)", text, re.MULTILINE)
    return ["cgns", *(["cgns-multi"] if version and int(version[1]) >= 4400 else [])]


# Debian builds it only for Open MPI, apart from the serial one.
NETCDF4 = f"/usr/lib/{platform.machine()}-linux-gnu/netcdf/mpi"


LIMITS: dict[str, dict[str, Any]] = {
    "openmpi": {
        "count": 8 * CORES,
        "why": "more than 8 processes per core measure the kernel's scheduler",
    },
    "mpich": {
        "count": CORES,
        "why": "MPICH busy-polls: with more processes than cores a barrier takes "
        "15 ms and the numbers are the scheduler's",
    },
}
# Open MPI's own choice on one node; naming it saves 0.2 s of probing at each start.
OPENMPI_VARIABLES = [["OMPI_MCA_pml", "ob1"]]


def entry(
    name: str,
    mpi: str,
    *,
    library: str,
    programs: tuple[str, str],
    features: list[str],
    needs: dict[str, Any],
    cmake: dict[str, Any] | None = None,
    **extras: Any,
) -> dict[str, Any]:
    """The environ of an MPI on this machine. `programs`: its compiler and its launcher; `cmake`,
    `needs`: by feature."""
    compiler, launcher = programs
    is_mpich = mpi == "mpich"
    as_root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    options = [] if is_mpich else ["--oversubscribe", "--bind-to none", *as_root]
    all_extras = {
        "mpi_library": library,
        "launcher": {"command": launcher, "options": options},
        "cmake": cmake or {"mpi": [f"-DCMAKE_C_COMPILER={compiler}"]},
        "max_processes": LIMITS[mpi],
        "needs": needs,
        **extras,
    }
    variables = [] if is_mpich else OPENMPI_VARIABLES
    return common.environ(name, compiler, features, all_extras, env_vars=variables)


def with_extras(environ: dict[str, Any], **extras: Any) -> dict[str, Any]:
    return {**environ, "extras": {**environ["extras"], **extras}}


def of_debian(
    debian: Debian,
    mpi: str,
    library: str,
    *,
    features: list[str],
    cmake: dict[str, list[str]],
    needs: dict[str, Any],
    **extras: Any,
) -> dict[str, Any]:
    """What all of Debian's stacks have: MPI, HDF5, and CGNS that was built for them."""
    cgns = [built("include/pcgnslib.h", debian, mpi)]
    header = debian.need(f"/usr/include/hdf5/{mpi}/hdf5.h", f"libhdf5-{mpi}-dev")
    has_hdf5 = with_newer(debian, "hdf5", "hdf5-multi")
    hdf5 = [header, debian.need("pkg-config", "pkg-config")]
    return entry(
        debian.stack(mpi),
        mpi,
        library=library,
        programs=(debian.program(f"mpicc.{mpi}"), debian.program(f"mpiexec.{mpi}")),
        features=[*has_hdf5, *cgns_features(debian, mpi), *features],
        needs={
            "build": debian.build_tools(),
            **needs,
            **dict.fromkeys(has_hdf5, hdf5),
            **dict.fromkeys(cgns_features(debian, mpi), cgns),
        },
        cmake={
            "mpi": [f"-DCMAKE_C_COMPILER=mpicc.{mpi}"],
            "hdf5": [f"-DIOKERNEL_HDF5_PKGCONFIG=hdf5-{mpi}"],
            "cgns": [f"-DIOKERNEL_CGNS_ROOT={debian.prefix(mpi)}"],
            **cmake,
        },
        **debian.extras(),
        **extras,
    )


def openmpi(debian: Debian = HERE) -> dict[str, Any]:
    """Debian's Open MPI, HDF5 and PnetCDF, and CGNS built for it."""
    peak = [] if debian.release else ["peak"]
    # Debian 13 has it, for Open MPI; release.sh installs it in its root, setup.sh does not.
    adios2 = ["adios2"] if debian.release else []
    # A component of MPI-IO that version 4 has, of Debian 12, and 5 lacks.
    older = [] if debian.is_newer else ["two_phase"]
    pnetcdf = [debian.need("/usr/include/pnetcdf.h", "libpnetcdf-dev")]
    has_pnetcdf = with_newer(debian, "pnetcdf", "pnetcdf-aggregation")
    return of_debian(
        debian,
        "openmpi",
        "libmpi.so.40",
        features=["netcdf4", *adios2, *has_pnetcdf, *peak, "components"],
        cmake={
            "pnetcdf": ["-DIOKERNEL_PNETCDF_ROOT=/usr"],
            "netcdf4": [f"-DIOKERNEL_NETCDF4_ROOT={NETCDF4}"],
            "adios2": ["-DIOKERNEL_ADIOS2_ROOT=/usr" if adios2 else "-DIOKERNEL_ADIOS2=OFF"],
        },
        needs={
            "mpi": debian.mpi_tools("openmpi", "libopenmpi-dev", "openmpi-bin"),
            **dict.fromkeys(has_pnetcdf, pnetcdf),
            "netcdf4": [debian.need(f"{NETCDF4}/include/netcdf_par.h", "libnetcdf-mpi-dev")],
            "adios2": [debian.need("/usr/include/adios2_c.h", "libadios2-mpi-c-dev")],
        },
        components=["dynamic", "dynamic_gen2", "individual", *older, "vulcan", "romio"],
    )


def mpich(debian: Debian = HERE) -> dict[str, Any]:
    """Debian's MPICH and HDF5, and PnetCDF and CGNS built for it."""
    return of_debian(
        debian,
        "mpich",
        "libmpich.so.12",
        features=["romio", "pnetcdf"],
        cmake={
            "pnetcdf": [f"-DIOKERNEL_PNETCDF_ROOT={debian.prefix('mpich')}"],
            "netcdf4": ["-DIOKERNEL_NETCDF4=OFF"],
            "adios2": ["-DIOKERNEL_ADIOS2=OFF"],
        },
        needs={
            "mpi": debian.mpi_tools("mpich", "libmpich-dev", "mpich"),
            "pnetcdf": [built("include/pnetcdf.h", debian, "mpich")],
        },
    )


MPIS = {"openmpi": openmpi, "mpich": mpich}


def stack(name: str) -> dict[str, Any]:
    release, dash, mpi = name.rpartition("-")
    if mpi not in MPIS or (dash and not RELEASE.fullmatch(release)):
        here, *_ = MPIS
        raise ConfigError(
            f"stack {unknown(name[:60], MPIS)} (with a release of Debian: trixie-{here})"
        )
    return MPIS[mpi](Debian(release))
