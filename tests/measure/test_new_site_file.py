# SPDX-License-Identifier: BSD-3-Clause
"""The file that `iogauge site new` writes: its stack, its partitions, and that it works."""

from __future__ import annotations

import runpy
import subprocess
from pathlib import Path

import pytest

from iogauge.cli.main import main
from iogauge.measure.new_site import file as new_site
from iogauge.measure.new_site import schedulers
from iogauge.measure.new_site.machine import Machine
from site_configs.support import check
from tests.measure.test_new_site import (
    COBALT,
    LMOD_AVAIL,
    LOADLEVELER,
    NODES,
    NOT_THERE,
    PBS,
    QUEUED,
    SINFO,
    SLURM,
    TORQUE_NODES,
    Commands,
    Made,
    all_of,
)
from tests.reframe_session import ROOT, reframe

OPENMPI, MPICH = "gcc -I/ompi/include -L/ompi/lib -lmpi\n", "gcc -I/mpich/include -lmpich\n"
INTEL = """gcc -I"/opt/intel/mpi/include" -L"/opt/intel/mpi/lib/release" -Xlinker -rpath -Xlinker \\
"/opt/intel/mpi/lib" -lmpifort -lmpi -lrt -lpthread -ldl"""
MVAPICH = "gcc -I/opt/mvapich2/include -L/opt/mvapich2/lib -Wl,-rpath -lmpi\n"
CRAY = "-L/opt/cray/lib -lmpi_gtl_hsa -lsci_gnu_82_mpi -Wl,--as-needed,-lmpi_gnu_91,--no-as-needed"


@pytest.mark.parametrize(
    ("commands", "cray", "right"),
    [
        ({"mpicc": "", "mpicc -show": OPENMPI, "mpicc --showme:version": "mpicc: Open MPI 4.1.4"},
         "", ("mpicc", "mpiexec", "libmpi.so.40")),
        ({"mpicc.mpich": "", "mpicc": "", "mpicc.mpich -show": MPICH},
         "", ("mpicc.mpich", "mpiexec.mpich", "libmpich.so.12")),
        ({"mpicc": "", "mpicc -show": INTEL}, "", ("mpicc", "mpiexec", "libmpi.so.12")),
        ({"mpicc": "", "mpicc -show": MVAPICH}, "", ("mpicc", "mpiexec", "libmpi.so.12")),
        ({"mpicc": "", "cc --cray-print-opts=libs": CRAY}, "2.7",
         ("cc", "mpiexec", "libmpi_gnu_91.so.12")),
        ({"mpicc": "", "mpicc -show": "gcc -lmpi_cxx"}, "", ("mpicc", "mpiexec", "")),
        ({"mpicc": ""}, "2.7", ("cc", "mpiexec", "")),
        ({}, "", ("mpicc", "mpiexec", "")),
    ],
)  # fmt: skip
def test_the_compiler_tells_the_name_of_its_mpi(
    tmp_path: Path, commands: Commands, cray: str, right: tuple[str, str, str]
) -> None:
    machine = Made(commands, CRAYPE_VERSION=cray)
    assert new_site.compiler(machine) == right
    text = written(tmp_path, machine).read_text()
    line = next(line for line in text.splitlines() if '"libmp' in line)
    assert line.strip() == f'"{right[2]}",' or ("libmpi.so.40" in line and "CHECK" in line)


@pytest.mark.parametrize(("mpi", "library"), [("openmpi", "mpi.so.40"), ("mpich", "mpich.so.12")])
def test_the_compilers_here_tell_it_too(
    mpi: str, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    only = f"mpicc.{mpi}"
    if not Machine().which(only):
        pytest.skip(f"{only} is missing: make setup")
    monkeypatch.setattr(Machine, "which", lambda _, name: name if name == only else None)
    assert new_site.compiler(Machine()) == (only, f"mpiexec.{mpi}", f"lib{library}")


MACHINES = {
    "slurm": Made(
        all_of(SLURM, {"mpicc": "", "lfs": "", "getfattr": "", "module avail": LMOD_AVAIL}),
        LMOD_PKG="/lmod",
        LOADEDMODULES="gcc/12.2:openmpi/4.1.5",
        SPACK_ROOT="/sw/spack",
    ),
    "pbs": Made(all_of(PBS, {"qstat --version": "pbs_version = 22.05\n", "mpicc.mpich": ""})),
    "torque": Made(all_of(PBS, {"mpicc": ""})),
    "loadleveler": Made({"llsubmit": "", "llclass": LOADLEVELER}),
    "cobalt": Made({"qsub": "", "cqstat": "", "cqstat -Q": COBALT}),
    "nothing": Made({"sbatch": "", SINFO: NOT_THERE}, table=""),
}


def written(folder: Path, machine: Machine) -> Path:
    path = folder / "dawn.py"
    path.write_text(new_site.site_file("dawn", machine, schedulers.find(machine), path))
    return path


def test_a_partition_without_nodes_is_left_out_and_told(tmp_path: Path) -> None:
    """It was written as one node, of which jobs wait for ever. Cobalt says no numbers at all."""
    nodes = f"{NODES}new|up|0|0|0|0|infinite\n"
    machine = Made(all_of(SLURM, {SINFO: nodes, "mpicc": ""}))
    found = schedulers.find(machine)
    assert [part.name for part in found.partitions] == ["main", "fat"]
    assert found.remarks == ["partition new has no nodes: left out"]
    text = written(tmp_path, machine).read_text()
    assert "\n# partition new has no nodes: left out\n" in text and '"new"' not in text


@pytest.mark.parametrize("name", MACHINES)
def test_the_file_passes_the_check_of_site_files(tmp_path: Path, name: str) -> None:
    text = written(tmp_path, MACHINES[name])
    site = runpy.run_path(str(text))["site_configuration"]
    assert list(check.problems(site)) == []


def test_partitions_have_names_that_reframe_takes(tmp_path: Path) -> None:
    given = ("24h", "gpu.a100", "gpu_a100", "gpu a100", "-x", "main", "_24h")
    nodes = "".join(f"{name}|up|9|2|24|196608|infinite\n" for name in given)
    path = written(tmp_path, Made(all_of(SLURM, {SINFO: nodes})))
    (system,) = runpy.run_path(str(path))["site_configuration"]["systems"]
    names = [part["name"] for part in system["partitions"]]
    assert names == ["_24h", "gpu_a100", "gpu_a100_", "gpu_a100__", "_-x", "main", "_24h_"]
    access = [part["access"] for part in system["partitions"]]
    assert access == [[f"--partition={name}"] for name in given]


def test_what_pbs_does_not_tell_is_marked(tmp_path: Path) -> None:
    """Which nodes a queue has, and who may use it; of equal nodes nothing needs to be known."""
    differ, closed = "# CHECK: the nodes differ, and", "# CHECK: acl_user_enable: may you"
    text = written(tmp_path, MACHINES["pbs"]).read_text()
    assert (text.count(differ), text.count(closed)) == (len(QUEUED), 1)
    assert text.index('"staff"') < text.index(closed) < text.index('"access": ["-q staff"]')
    text = written(tmp_path, Made(all_of(PBS, {"pbsnodes -a": TORQUE_NODES}))).read_text()
    assert (text.count(differ), text.count(closed)) == (0, 1)


@pytest.mark.slow
def test_a_partition_of_several_gets_its_own_scripts(tmp_path: Path) -> None:
    """A dry run on each partition; what a job must say is in its script."""
    path = written(tmp_path, MACHINES["slurm"])
    one = ("-t", "smoke", "-n", "S3d.*fs=lustre.*call=mpiio:collective")
    session = reframe(
        tmp_path / "out", "--system", "dawn", "--dry-run", *one, config=path, tests="s3d.py"
    )
    assert session.status == 0, session.text
    scripts = {path.parts[-4]: path.read_text() for path in session.scripts()}
    assert sorted(scripts) == ["fat", "main"]
    for name, script in scripts.items():
        assert f"#SBATCH --partition={name}\n" in script
        assert "#SBATCH --exclusive\n" in script
        assert "module load openmpi/4.1.5\n" in script
        assert "|| . /lmod/init/bash\n" in script


@pytest.mark.parametrize(
    ("compiler", "default", "listed", "right"),
    [
        ("mpicc.openmpi", "none", "none\n\tpmix\n\tpmi2\n", "--mpi=pmix"),
        ("mpicc.mpich", "none", "none\n\tpmix\n\tpmi2\n", "--mpi=pmi2"),
        ("mpicc.mpich", "none", "none\n\tpmix\n", "--mpi=pmix"),
        ("mpicc.mpich", "pmix", "none\n\tpmix\n\tpmi2\n", None),
        ("mpicc.openmpi", "none", "none\n", None),
    ],
)
def test_srun_starts_the_processes_of_an_mpi_together(
    tmp_path: Path, compiler: str, default: str, listed: str, right: str | None
) -> None:
    settings = f"MinJobAge               = 10 sec\nMpiDefault              = {default}\n"
    more = {compiler: "", "scontrol show config": settings, "sh -c srun --mpi=list 2>&1": listed}
    is_mpich = "mpich" in compiler
    more[f"{compiler} -show"] = MPICH if is_mpich else OPENMPI
    more[f"{compiler} --showme:version"] = "" if is_mpich else "mpicc: Open MPI 5.0.3"
    text = written(tmp_path, Made(all_of(SLURM, more)))
    site = runpy.run_path(str(text))["site_configuration"]
    launcher = site["environments"][0]["extras"]["launcher"]
    assert launcher["options"] == ([right] if right else [])


def test_the_file_works_here(tmp_path: Path) -> None:
    path = written(tmp_path, Made({"mpicc.mpich": ""}, table=Machine().mounts()))
    smoke = ("-t", "smoke", "-n", "S3d.*call=mpiio:collective")
    session = reframe(
        tmp_path / "out", "--system", "dawn", "--dry-run", *smoke, config=path, tests="s3d.py"
    )
    assert session.status == 0, session.text
    assert {case["result"] for case in session.cases} == {"pass"}


def test_module_is_defined_where_a_shell_does_not_have_it(tmp_path: Path) -> None:
    """The lines of the script, with a modules system that says what it is asked for."""
    init = tmp_path / "init"
    init.write_text('module() { echo module "$@"; }\n')
    loaded = Made(LOADEDMODULES="gcc/12.2", LMOD_PKG=str(tmp_path))
    path = written(tmp_path, loaded)
    path.write_text(path.read_text().replace(f"{tmp_path}/init/bash", str(init)))
    site = runpy.run_path(str(path))["site_configuration"]
    lines = "\n".join(["set -e -o pipefail", *site["environments"][0]["prepare_cmds"]])
    done = subprocess.run(
        ["bash", "--norc", "-c", lines], capture_output=True, text=True, check=True
    )
    assert done.stdout == "module load gcc/12.2\n"


def test_the_file_finds_iogauge_wherever_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """ReFrame does not know where that is, and neither does the check."""
    monkeypatch.delenv("PYTHONPATH", raising=False)
    path = written(tmp_path, Made({"mpicc": ""}))
    assert main(["site", "check", str(path)]) == 0
    path.write_text(path.read_text().replace("sys.path.append", "print"))
    assert main(["site", "check", str(path)]) == 1
    assert f"{path}: ReFrame cannot load it: ModuleNotFoundError: " in capsys.readouterr().err
    machine = Made()
    for place, right in (("site_configs", "parents[1]"), ("site_configs/historic", f'"{ROOT}"')):
        path = ROOT / place / "dawn.py"
        assert right in new_site.site_file("dawn", machine, schedulers.find(machine), path)


def test_a_name_that_is_none_and_a_file_that_exists(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["site", "new", "my site"]) == 2
    assert "'my site'" in capsys.readouterr().err
    assert main(["site", "new", "local"]) == 2
    assert "local.py exists already" in capsys.readouterr().err
