# SPDX-License-Identifier: BSD-3-Clause
"""The build fixture's two checks: one MPI and the right one, and all promised libraries; and what
a machine without Ninja or jansson gets."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from iogauge.common.paths import KERNELS, MPICH_ABI, builds
from iogauge.measure import kernels
from reframe_tests.framework.build import (
    GENERATOR,
    BuildKernels,
    missing_methods,
    missing_modes,
    mpi_problem,
)
from reframe_tests.machine import stacks
from tests.reframe_session import changed_site, reframe

OPENMPI = """\
\tlinux-vdso.so.1 (0x00007ffd2b3f2000)
\tlibjansson.so.4 => /lib/x86_64-linux-gnu/libjansson.so.4 (0x00007f2d3c4c5000)
\tlibmpi.so.40 => /lib/x86_64-linux-gnu/libmpi.so.40 (0x00007f2d3c3a0000)
\tlibmpi_cxx.so.40 => /lib/x86_64-linux-gnu/libmpi_cxx.so.40 (0x00007f2d3c380000)
\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f2d3c1bf000)
"""
MPICH_LINE = "\tlibmpich.so.12 => /lib/x86_64-linux-gnu/libmpich.so.12 (0x00007f1d3c3a0000)\n"


def test_one_right_mpi_is_no_problem() -> None:
    assert mpi_problem(OPENMPI, "libmpi.so.40") is None
    assert mpi_problem(MPICH_LINE, "libmpich.so.12") is None


def test_the_wrong_mpi_is_named() -> None:
    problem = mpi_problem(OPENMPI, "libmpich.so.12")
    assert problem is not None
    assert "libmpi.so.40" in problem
    assert "libmpich.so.12" in problem


def test_two_mpis_are_both_named() -> None:
    problem = mpi_problem(OPENMPI + MPICH_LINE, "libmpi.so.40")
    assert problem is not None
    assert "libmpi.so.40, libmpich.so.12" in problem


def test_no_mpi_is_a_problem() -> None:
    problem = mpi_problem("\tnot a dynamic executable\n", "libmpi.so.40")
    assert problem is not None
    assert "no MPI library" in problem


def test_a_library_that_only_names_another_is_no_second_mpi() -> None:
    forwarder = MPICH_LINE.replace("/lib/x86_64-linux-gnu", str(MPICH_ABI))
    other = OPENMPI.replace("mpi.so.40", "mpi.so.12")
    assert mpi_problem(forwarder + other, "libmpi.so.12") is None
    assert mpi_problem(MPICH_LINE + other, "libmpi.so.12") is not None
    assert mpi_problem(forwarder, "libmpi.so.12") is not None


def test_the_abi_of_mpi_5_is_a_library_of_its_own() -> None:
    """Open MPI's comes with the library that its other one needs as well."""
    standard = OPENMPI.replace("libmpi.so.40", "libmpi_abi.so.1").replace("mpi_cxx", "open_mpi")
    assert mpi_problem(standard, "libmpi_abi.so.1") is None
    assert mpi_problem(standard, "libmpi.so.40") is not None
    assert mpi_problem(standard + MPICH_LINE, "libmpi_abi.so.1") is not None


@pytest.mark.parametrize(
    ("right", "beside"),
    [
        ("libmpi_gnu_91.so.12", "libmpifort_gnu_91.so.12"),
        ("libmpi_cray.so.12", "libsci_cray.so.5"),
        ("libmpi_gnu_123.so.12", "libmpi_gtl_hsa.so.0"),
        ("libmpi_intel.so.12", "libmpifort.so.12"),
        ("libmpi_ibm.so.3", "libmpi_ibm_mpifh.so.3"),
        ("libmpich_gnu_51.so.3", "libmpl_gnu_51.so.0"),
        ("libmpi.so", "libmpi++.so"),
        ("libmpi.so.12", "libmpicxx.so.12"),
        ("libmpi.so.40", "libmpi_usempif08.so.40"),
        ("libmpi.so.40", "libmpi_usempi_ignore_tkr.so.40"),
        ("libbgmpi.so.1", "libbgmpi_util.so.1"),
    ],
)
def test_the_name_of_any_mpi_is_known(right: str, beside: str) -> None:
    """But not of its libraries for other languages, or for its own use."""
    line = "\t{0} => /opt/{0} (0x00007f)\n".format
    assert mpi_problem(line(beside) + line(right), right) is None
    assert mpi_problem(MPICH_LINE + line(right), right) is not None
    assert (mpi_problem(line(beside), right) or "").startswith("it is linked to no MPI library")
    if right not in ("libbgmpi.so.1", "libmpi.so"):  # known only from the site file
        assert right in (mpi_problem(MPICH_LINE + line(right), "libmpich.so.12") or "")


def test_another_major_version_is_another_library() -> None:
    assert mpi_problem(OPENMPI.replace("mpi.so.40", "mpi.so.12"), "libmpi.so.40") is not None


LISTING = {
    "methods": [
        {"name": "posix", "available": True, "modes": [], "reason": None},
        {"name": "hdf5", "available": True, "modes": ["collective"], "reason": None},
        {"name": "pnetcdf", "available": False, "modes": [], "reason": "built without PnetCDF"},
    ]
}


def test_promised_methods_must_be_available() -> None:
    assert missing_methods(LISTING, ["hdf5"]) == []
    assert missing_methods(LISTING, ["hdf5", "pnetcdf"]) == ["pnetcdf (built without PnetCDF)"]
    (lacking,) = missing_methods(LISTING, ["cgns"])
    assert lacking.startswith("cgns (")


def test_a_promised_mode_must_be_there() -> None:
    lacks = {"multi": "CGNS 4.4", "collective-metadata": "a shared HDF5"}
    old = {"methods": [{"name": "cgns", "lacking_modes": lacks}]}
    new = {"methods": [{"name": "cgns", "lacking_modes": {}}]}
    assert missing_modes(old, []) == []
    assert missing_modes(old, ["cgns-multi"]) == ["cgns:multi (built without CGNS 4.4)"]
    assert missing_modes(new, ["cgns-multi"]) == []
    assert missing_modes(LISTING, ["cgns-multi"]) == []


def test_a_mode_that_the_build_lacks_is_a_reason_to_skip(tmp_path: Path) -> None:
    """As with HDF5 1.8; a program for other machines cannot be asked."""
    built: Any = SimpleNamespace(stagedir=tmp_path)
    assert BuildKernels.lacks(built, "hdf5", "collective-metadata") == ""
    hdf5 = {"name": "hdf5", "lacking_modes": {"collective-metadata": "HDF5 1.10"}}
    (tmp_path / "list.json").write_text(json.dumps({"methods": [hdf5]}))
    said = "hdf5:collective-metadata (built without HDF5 1.10)"
    assert BuildKernels.lacks(built, "hdf5", "collective-metadata") == said
    assert BuildKernels.lacks(built, "hdf5", "collective") == ""
    assert BuildKernels.lacks(built, "posix", "") == ""


def test_partitions_with_the_same_environment_have_one_build() -> None:
    def partition(name: str, **own: Any) -> Any:
        jobs = SimpleNamespace(**{"modules": [], "env_vars": {}, **own})
        stack = SimpleNamespace(name="gnu", extras={})
        return SimpleNamespace(
            fullname=f"dawn:{name}", prepare_cmds=[], local_env=jobs, environment=lambda _: stack
        )

    parts = [partition("main"), partition("debug"), partition("arm", modules=["arm"])]
    folders = []
    for one in parts:
        built: Any = SimpleNamespace(
            current_environ=one.environment("gnu"),
            current_partition=one,
            current_system=SimpleNamespace(partitions=parts),
        )
        folders.append(vars(BuildKernels)["build_folder"].fget(built).name)
    assert folders == ["dawn-main-gnu", "dawn-main-gnu", "dawn-arm-gnu"]


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("mpicc.mpich"), reason="mpicc.mpich is missing (libmpich-dev)")
def test_a_session_on_two_equal_partitions_compiles_once(tmp_path: Path) -> None:
    """A stack of a new name, so that nothing is built yet."""
    name = f"twins{os.getpid()}"
    site = changed_site(
        tmp_path,
        f"environ('mpich')['name'] = {name!r}\n"
        f"partition['environs'] = [{name!r}]\n"
        "site['systems'][0]['partitions'].append({**partition, 'name': 'twin'})",
    )
    smoke = ("-r", "-t", "smoke", "-n", "S3d.*fs=ram.*call=mpiio:collective")
    try:
        session = reframe(tmp_path, *smoke, config=site, tests="s3d.py")
        folders = [path.name for path in builds().glob(f"*{name}")]
    finally:
        for path in builds().glob(f"*{name}*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert session.status == 0, session.text
    assert sorted(case["partition"] for case in session.cases) == ["host", "twin"]
    assert folders == [f"local-host-{name}"]
    built = [path.read_text() for path in tmp_path.rglob("BuildKernels*/rfm_build.out")]
    assert sorted("Building C object" in text for text in built) == [False, True]


def test_a_build_waits_no_longer_than_was_said(tmp_path: Path) -> None:
    built: Any = SimpleNamespace(
        build_folder=tmp_path / "build", inside="", is_cross=False, stack_arguments=list
    )
    commands = BuildKernels.cmake_commands(built)
    (until,) = (i for i, line in enumerate(commands) if line.startswith("echo"))
    words = ["bash", "-c", "\n".join(["set -e", *commands[: until + 1]])]
    environment = {**os.environ, "IOGAUGE_LOCK_SECONDS": "0.01"}

    def wait() -> subprocess.CompletedProcess[str]:
        return subprocess.run(words, env=environment, capture_output=True, text=True, check=False)

    assert wait().returncode == 0, "nobody else builds"
    with (tmp_path / "build.lock").open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        late = wait()
    assert late.returncode == 1
    first, last = late.stderr.splitlines()
    assert first.startswith("waiting for a build, process ") and "IOGAUGE_LOCK_SECONDS" in last


@pytest.mark.parametrize(("commands", "found"), [(["ninja"], "Ninja"), ([], "Unix Makefiles")])
def test_make_builds_where_there_is_no_ninja(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, commands: list[str], found: str
) -> None:
    """In the script of the fixture, and in a developer's build."""
    for name in commands:
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    script = "\n".join([*GENERATOR, 'echo "$generator"'])
    done = subprocess.run(["/bin/bash", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == f"{found}\n" == f"{kernels.generator()}\n"


def configured(build: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """MPICH's kernels, with a pkg-config that finds nothing of the system's."""
    return subprocess.run(
        ["cmake", "-S", str(KERNELS), "-B", str(build), "-DCMAKE_C_COMPILER=mpicc.mpich",
         "-DBUILD_TESTING=OFF", *words],
        capture_output=True, text=True, check=False,
        env={**os.environ, "PKG_CONFIG_LIBDIR": str(build / "none"), "PKG_CONFIG_PATH": ""},
    )  # fmt: skip


@pytest.mark.slow
def test_where_there_is_no_jansson_its_sources_are_built(tmp_path: Path) -> None:
    done = configured(tmp_path, "-DIOKERNEL_HDF5=OFF", "-DIOKERNEL_PNETCDF=OFF")
    assert "jansson is built from third_party" in done.stdout, done.stderr
    command = ["cmake", "--build", str(tmp_path), "--target", "iokernel_jansson"]
    subprocess.run(command, check=True, capture_output=True)
    assert (tmp_path / "third_party" / "libiokernel_jansson.a").is_file()


@pytest.mark.slow
@pytest.mark.skipif(not Path("/usr/include/pnetcdf.h").exists(), reason="libpnetcdf-dev is missing")
def test_a_library_of_another_mpi_is_left_out_or_refused(tmp_path: Path) -> None:
    """Debian's PnetCDF is Open MPI's: found by chance it is left out, asked for it is refused."""
    done = configured(tmp_path / "found", "-DIOKERNEL_HDF5=OFF")
    assert done.returncode == 0, done.stderr
    assert "built without PnetCDF" in done.stdout and "libpnetcdf" in done.stdout
    asked = "-DIOKERNEL_PNETCDF_ROOT=/usr"
    done = configured(tmp_path / "asked", "-DIOKERNEL_HDF5=OFF", asked)
    assert done.returncode != 0
    assert "a program cannot have two MPIs" in " ".join(done.stderr.split())


@pytest.mark.sampled(1)
@pytest.mark.skipif(not shutil.which("mpicc.mpich"), reason="mpicc.mpich is missing (libmpich-dev)")
@pytest.mark.parametrize(("kind", "refused"), [("int", True), ("long", False)])
def test_a_cgns_with_indices_of_32_bits_is_refused(
    tmp_path: Path, kind: str, *, refused: bool
) -> None:
    """Only its header is looked at: a library of that name is enough."""
    for file, text in (
        ("include/cgnstypes.h", f"typedef {kind} cgsize_t;\n"),
        ("include/pcgnslib.h", "\n"),
        ("lib/libcgns.so", ""),
    ):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text(text)
    own = ["-DIOKERNEL_HDF5_PKGCONFIG=hdf5-mpich", f"-DIOKERNEL_CGNS_ROOT={tmp_path}"]
    words = ["-S", str(KERNELS), "-B", str(tmp_path / "build"), "-DCMAKE_C_COMPILER=mpicc.mpich"]
    done = subprocess.run(
        ["cmake", *words, *own, "-DIOKERNEL_PNETCDF=OFF", "-DBUILD_TESTING=OFF"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode != 0) == refused, done.stderr
    said = " ".join(done.stderr.split())
    assert ("cgsize_t has 32 bits; expected 64" in said) == refused


def test_a_given_program_is_a_path_or_a_name_on_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "iokernel"
    program.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(stacks, "spack_environment", lambda _: None)
    for given, found in (
        (None, None), ("iokernel", str(program)), ("iokernel-2", "iokernel-2"),
        ("./iokernel", "./iokernel"), ("/opt/iokernel", "/opt/iokernel"),
    ):  # fmt: skip
        assert stacks.program_given(SimpleNamespace(extras={"iokernel": given})) == found
