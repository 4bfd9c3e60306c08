# SPDX-License-Identifier: BSD-3-Clause
"""ReFrame with Spack environments: a fake `spack` whose environment is Debian's MPICH and HDF5, as
environments/debian/link_farm.sh makes them Spack's. All but Spack itself is real."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from reframe_tests.machine import spack
from tests.fake_spack import FakeSpack
from tests.reframe_session import ROOT, Session, reframe

pytestmark = [
    pytest.mark.first,
    pytest.mark.skipif(
        not all(shutil.which(name) for name in ("mpicc.mpich", "mpicc.openmpi", "cmake", "ninja")),
        reason="Debian's stacks are missing: environments/debian/setup.sh installs them",
    ),
]

ONE = ("--system", "spack", "-t", "smoke", "-t", "ram", "-n", "S3d.*call=hdf5:collective")
SITE = ROOT / "site_configs" / "spack.py"
VARIANT = "pytest-of-spack"
OTHER = "pytest-of-spack-2"
ROOTS = {"mpi": "mpich", "hdf5": "hdf5", "parallel-netcdf": "parallel-netcdf", "cgns": "cgns"}


def farm_packages() -> dict[str, tuple[str, Path]]:
    """Name -> version and prefix of each external."""
    subprocess.run([ROOT / "environments" / "debian" / "link_farm.sh"], check=True)
    farm = ROOT / ".local" / "stacks" / "spack-debian" / "packages.yaml"
    packages = {}
    for name, settings in yaml.safe_load(farm.read_text())["packages"].items():
        for external in settings.get("externals", []):
            version = external["spec"].split("@")[1].split()[0]
            packages[name] = (version, Path(external["prefix"]))
    return packages


@pytest.fixture
def fake(tmp_path: Path) -> Iterator[FakeSpack]:
    """A Spack whose environments are installed."""
    found = FakeSpack(tmp_path / "fake")
    packages = farm_packages()
    for variant in (VARIANT, OTHER):
        found.environment(variant, packages, ROOTS)
    yield found
    for variant in (VARIANT, OTHER):
        spack.activation_file(variant).unlink(missing_ok=True)
        shutil.rmtree(ROOT / ".local" / "build" / f"spack-host-{variant}", ignore_errors=True)


def run(fake: FakeSpack, output: Path, *options: str, config: Path = SITE, **more: str) -> Session:
    environment = fake.variables(**{"IOGAUGE_SPACK": VARIANT, **more})
    how = () if "--dry-run" in options else ("-r",)
    return reframe(
        output, *how, *ONE, *options, config=config, tests="s3d.py", environment=environment
    )


@pytest.mark.slow
def test_an_environment_needs_no_other_set_up(fake: FakeSpack, tmp_path: Path) -> None:
    session = run(fake, tmp_path)
    assert session.status == 0, session.text
    (case,) = session.cases
    assert case["result"] == "pass"
    kept = Path(case["outputdir"])
    lock = fake.environments / VARIANT / "spack.lock"
    assert (kept / "spack.lock").read_bytes() == lock.read_bytes()
    assert case["spack_packages"]["mpich"].endswith("/mpich00")
    document = json.loads((kept / "result.json").read_text())
    assert document["verification"]["verdict"] == "verified"
    script = (kept / "rfm_job.sh").read_text()
    assert f". {spack.activation_file(VARIANT)}\n" in script
    assert "/spack-debian/mpich/bin/mpiexec -n 2 " in script
    # Of the launcher of Open MPI 5, which does not read Open MPI 4's.
    for setting in ("hwloc_default_binding_policy=none", "rmaps_default_mapping_policy=:over"):
        assert f"export PRTE_MCA_{setting}" in script.replace('"', "")


@pytest.mark.slow
def test_two_stacks_compare_in_one_session(fake: FakeSpack, tmp_path: Path) -> None:
    session = run(fake, tmp_path, IOGAUGE_SPACK=f"{VARIANT} {OTHER}")
    assert session.status == 0, session.text
    assert {case["environ"]: case["result"] for case in session.cases} == {
        VARIANT: "pass",
        OTHER: "pass",
    }
    builds = ROOT / ".local" / "build"
    programs = [builds / f"spack-host-{variant}" / "iokernel" for variant in (VARIANT, OTHER)]
    assert all(program.is_file() for program in programs)


@pytest.mark.slow
def test_the_environments_darshan_records(fake: FakeSpack, tmp_path: Path) -> None:
    runtime = tmp_path / "darshan" / "lib" / "libdarshan.so"
    runtime.parent.mkdir(parents=True)
    runtime.touch()
    shutil.rmtree(fake.environments / VARIANT)
    packages = farm_packages() | {"darshan-runtime": ("3.4.5", runtime.parents[1])}
    fake.environment(VARIANT, packages, ROOTS)
    session = run(fake, tmp_path / "output", "--dry-run")
    assert session.status == 0, session.text
    (case,) = session.cases
    assert f"LD_PRELOAD={runtime}" in (Path(case["stagedir"]) / "rfm_job.sh").read_text()


@pytest.mark.slow
def test_a_program_of_another_mpi_is_refused(fake: FakeSpack, tmp_path: Path) -> None:
    """A program that somebody built with Open MPI, given for an environment with MPICH."""
    source = tmp_path / "wrong.c"
    source.write_text("#include <mpi.h>\nint main(void) { return MPI_Init(0, 0); }\n")
    subprocess.run(["mpicc.openmpi", source, "-o", tmp_path / "wrong"], check=True)
    session = run(fake, tmp_path, "-S", f"BuildKernels.kernel_path={tmp_path / 'wrong'}")
    assert session.status != 0
    said = " ".join(session.text.split())
    assert "libmpi.so.40; the stack's MPI is libmpich.so.12 alone; build it with" in said


@pytest.mark.slow
def test_what_is_missing_is_a_skip_with_the_command_to_run(fake: FakeSpack, tmp_path: Path) -> None:
    (fake.environments / VARIANT / "spack.lock").unlink()
    session = run(fake, tmp_path)
    (case,) = session.cases
    assert case["result"] == "skip"
    assert f"run: spack -e {fake.environments / VARIANT} install" in case["skip_reason"]


@pytest.mark.slow
def test_no_spack_at_all(fake: FakeSpack, tmp_path: Path) -> None:
    session = run(fake, tmp_path, PATH="/usr/bin:/bin")
    (case,) = session.cases
    assert case["result"] == "skip"
    assert "spack is not on PATH" in case["skip_reason"]
