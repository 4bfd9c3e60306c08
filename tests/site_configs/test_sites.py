# SPDX-License-Identifier: BSD-3-Clause
"""Every site file: its own scripts, by a dry run on this machine, for tests of each kind."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from reframe.core.exceptions import ConfigError

from iogauge.measure import sites
from reframe_tests.machine.filesystems import hints_for
from tests.reframe_session import ROOT, Session, reframe

# system -> what its scripts must have: directive, launch, and what makes its file systems special.
# A site without a line here is tested like all others, but for this.
MUST_HAVE = {
    "slurm_lustre": ["#SBATCH --nodes=1\n", "\nsrun ", "lfs setstripe -c -1 -S 1M "],
    "pbs_lustre": [":model=ivy\n", "\nmpiexec_mpt -np 4 ", "lfs setstripe -c 16 "],
    "babel": ["# @ bg_size = 64\n", "\nmpirun -mode VN -np 4 ", "stat -c 'block size %o'"],
    "vargas": ["# @ total_tasks = 4\n", "\npoe ", "# @ network.MPI = ", 'OBJECT_MODE="64"'],
    "pleiades": ["\nmodule load mpi-sgi/mpt\n", "\nmpiexec_mpt -np 4 "],
    "mira": ["#COBALT --mode script\n", " --exp-env BGLOCKLESSMPIO_F_TYPE : ", "romio_cb_w"],
    "faust": ["#PBS -l nodes=1:ppn=1\n", "\nmpiexec -n 1 ", "/iogauge."],
    "edison": ["module load cray-parallel-netcdf\n", "\nsrun ", "lfs setstripe -c 96 -S 1M "],
    "altix": ["#PBS -l select=1:ncpus=4:mpiprocs=4:mem=", "--prefix ufs: "],
    "docker": ["btl_vader_single_copy_mechanism", "\nmpiexec.openmpi "],
}
# Sites that other tests run, each with the reason; and modules that are none.
ELSEWHERE = {
    "local": "the tests of ReFrame sessions run it",
    "spack": "no scripts without installed environments: tests/site_configs/test_spack_session.py",
}
SITES = sorted(
    path.stem
    for path in (ROOT / "site_configs").rglob("[!_]*.py")
    if "site_configuration =" in path.read_text() and path.stem not in ELSEWHERE
)
ONE = ("-t", "smoke", "-n", "(S3d|Ior).*call=mpiio:collective")


def dry_run(
    system: str, output: Path, *options: str, tests: str = "s3d.py", **settings: str
) -> Session:
    """With one file of tests; all of them: site_dry_run."""
    return reframe(
        output,
        *("--system", system, "--dry-run", *options),
        config=sites.find(system),
        tests=tests,
        environment={**os.environ, **settings},
    )


@pytest.mark.sampled(1)
@pytest.mark.parametrize("system", SITES)
def test_a_dry_run_writes_scripts_that_bash_accepts(
    system: str, site_dry_run: Callable[[str], Session]
) -> None:
    session = site_dry_run(system)
    assert session.status == 0, session.text
    one = [case for case in session.cases if re.match("(S3d|Ior) ", case["display_name"])]
    assert [case for case in one if case["result"] == "pass"], session.text
    assert all(case["skip_reason"] for case in session.cases if case["result"] != "pass")
    found = session.scripts()
    assert len(found) == len(session.cases) or system == "docker"
    for script in session.output.glob("stage/*/*/*/*/*/rfm_job.sh"):
        subprocess.run(["bash", "-n", script], check=True)
        if script.parent.name.startswith("NoticesAWrongByte"):  # most of its processes fail
            assert "\nexport OMPI_MCA_odls_base_sigkill_timeout=0\n" in script.read_text()
    text = "".join(script.read_text() for script in found)
    for part in MUST_HAVE.get(system, []):
        assert part in text
    assert str(ROOT / "site_configs") not in text


@pytest.mark.parametrize(
    ("system", "pattern", "needs", "hints"),
    [
        ("babel", "ramses-amr", ["mpiio"], {"romio_ds_read"}),
        ("babel", "ramses-hydro", ["mpiio"], {"romio_ds_read", "romio_cb_read"}),
        ("babel", "ior", ["mpiio"], set()),
        ("vargas", "ramses-amr", ["mpiio"], {"write:IBM_largeblock_io", "read:IBM_sparse_access"}),
        ("vargas", "ramses-amr", ["hdf5"], set()),
        ("vargas", "ior", ["mpiio"], set()),
    ],
)
def test_the_slides_hints_are_of_ramses(
    system: str, pattern: str, needs: list[str], hints: set[str]
) -> None:
    site = runpy.run_path(str(sites.find(system)))["site_configuration"]
    entry = site["systems"][0]["partitions"][0]["extras"]["filesystems"]["workdir"]
    assert set(hints_for(entry, pattern, needs)) == hints


def test_faust_has_a_driver_for_each_file_system(tmp_path: Path) -> None:
    found = dry_run("faust", tmp_path, *ONE, tests="s3d.py ior.py").scripts()
    text = {script.parent.parent.parent.name: script.read_text() for script in found}
    assert len(found) == 4, text
    both = "".join(script.read_text() for script in found)
    assert "--prefix pvfs2: " in both
    assert "setfattr -n user.pvfs2.num_dfiles -v 64 " in both
    assert "hints=(\n    --hint romio_ds_write=disable\n)\n" in both
    assert '--prefix nfs: "${hints[@]}"' in both


@pytest.mark.slow
def test_the_published_run_of_s3d_is_one_test(tmp_path: Path) -> None:
    paper = ("-t", "paper", "-n", "S3d.*call=pnetcdf:nonblocking")
    (script,) = dry_run("edison", tmp_path, *paper).scripts()
    text = script.read_text()
    assert "#SBATCH --nodes=171\n#SBATCH --ntasks=4096\n#SBATCH --ntasks-per-node=24\n" in text
    assert "lfs setstripe -c 96 -S 1M " in text
    assert "--grid 800x800x800 --procs-grid 16x16x16" in text
    assert "--steps 5" in text


def test_blue_gene_gets_its_modes_and_blocks(tmp_path: Path) -> None:
    only = ("-t", "smoke", "-n", "S3d.*fs=fs0.*call=mpiio:collective")
    size = ("-S", "S3d.num_tasks=4000", "-S", "S3d.num_tasks_per_node=32")
    for system, block in {"mira": 512, "cetus": 128}.items():
        (script,) = dry_run(system, tmp_path / system, *only, *size).scripts()
        assert f"#COBALT -n {block}\n" in script.read_text()
        assert "runjob --np 4000 --ranks-per-node 32 --block" in script.read_text()


@pytest.mark.slow
def test_what_does_not_fit_is_skipped_before_it_is_submitted(tmp_path: Path) -> None:
    only: tuple[str, ...] = ("-t", "smoke", "-n", "S3d.*fs=pvfs2.*call=mpiio:collective")
    session = dry_run("faust", tmp_path, *only, "-S", "S3d.num_tasks=65")
    assert "need 65 nodes, the partition has 64" in session.cases[0]["skip_reason"]
    only = ("-t", "laptop", "-n", "S3d.*fs=pvfs2.*call=mpiio:collective", "-S", "S3d.num_tasks=1")
    session = dry_run("faust", tmp_path, *only)
    assert session.cases[0]["result"] == "pass"
    only = ("-t", "paper", "-n", "S3d.*fs=pvfs2.*call=mpiio:collective", "-S", "S3d.num_tasks=8")
    session = dry_run("faust", tmp_path, *only)
    # Twice 128 bytes of 800^3 points, on 8 processes.
    assert "15625 MiB of memory per process needed, 256 MiB" in session.cases[0]["skip_reason"]


def test_a_generic_site_takes_its_machine_from_the_environment(tmp_path: Path) -> None:
    mine = {"SCRATCH": "/lustre/me", "QUEUE": "short", "MODULES": "mpi hdf5", "STRIPES": "4"}
    settings = {f"IOGAUGE_{name}": value for name, value in mine.items()}
    only = ("-t", "smoke", "-n", "S3d.*call=mpiio:collective")
    (script,) = dry_run("slurm_lustre", tmp_path, *only, **settings).scripts()
    text = script.read_text()
    assert "#SBATCH --partition=short\n" in text
    assert "module load mpi\nmodule load hdf5\n" in text
    assert "lfs setstripe -c 4 " in text
    assert "\nfile_system=/lustre/me\n" in text


def test_no_job_asks_for_more_time_than_its_partition_gives(tmp_path: Path) -> None:
    only = ("-t", "smoke", "-n", "S3d.*call=mpiio:collective")
    session = dry_run("slurm_lustre", tmp_path, *only, IOGAUGE_MAX_TIME="300")
    scripts = sorted(session.output.glob("stage/*/*/*/*/*/rfm_job.sh"))
    assert [path.parent.name.partition("_")[0] for path in scripts] == ["NoticesAWrongByte", "S3d"]
    for script in scripts:
        assert "#SBATCH --time=00:05:00\n" in script.read_text()


def assert_scripts_ask_for_what_is_reported(session: Session) -> None:
    """A result is checked against the variables of its test. A skipped case has no script."""
    rendered = [case for case in session.cases if case["result"] != "skip"]
    assert rendered
    for case in rendered:
        text = (Path(case["stagedir"]) / "rfm_job.sh").read_text()
        for name in ("fsync", "ceilings", "drop_caches"):
            asked = re.search(rf" --{name.replace('_', '-')}\b", text)
            assert bool(case[name]) == bool(asked), (case["display_name"], name)


def test_each_size_of_the_cache_cliff_is_written_by_whole_arrays(tmp_path: Path) -> None:
    only = ("-t", "paio-pvfs-1$", "-T", "smoke")
    session = dry_run("thunderhead", tmp_path, *only, tests="cliff.py")
    (script,) = session.scripts()
    assert_scripts_ask_for_what_is_reported(session)
    found = re.findall(r" ior -b (\d+) -t (\d+) ", script.read_text())
    assert len(found) > 10
    assert all(array == transfer for array, transfer in found)


@pytest.mark.slow
def test_an_experiment_is_scaled_down_to_a_machine_that_is_no_documents(tmp_path: Path) -> None:
    small = {"IOGAUGE_NODES": "1", "IOGAUGE_CORES": "2"}
    one = ("-t", "s3d-io-run$", "-T", "smoke")
    (script,) = dry_run("slurm_lustre", tmp_path, *one, **small).scripts()
    text = script.read_text()
    assert "#SBATCH --ntasks=2\n" in text
    assert "--grid 100x50x50 --procs-grid 2x1x1" in text  # 800^3 on 16^3: 50^3 each
    assert "scaled down: each stands for 2048 of the document's" in text


@pytest.mark.slow
def test_stripes_are_swept_where_they_can_be_set(tmp_path: Path) -> None:
    only = ("-t", "stripes", "-n", "StripeSweep.*call=mpiio:collective")
    session = dry_run("edison", tmp_path / "edison", *only, tests="sweeps.py")
    assert session.status == 0, session.text
    set_to = {
        line
        for script in session.scripts()
        for line in script.read_text().splitlines()
        if line.startswith("lfs setstripe")
    }
    assert len(session.scripts()) == 15
    assert 'lfs setstripe -c 64 -S 4M "$run_dir"' in set_to
    assert 'lfs setstripe -c -1 -S 16M "$run_dir"' in set_to
    assert dry_run("vargas", tmp_path / "vargas", *only, tests="sweeps.py").listed == []
    one = ("-t", "smoke", "-n", "S3d.*call=mpiio:collective", "-S", "S3d.stripe_count=2")
    (script,) = dry_run("edison", tmp_path / "two", *one).scripts()
    assert "lfs setstripe -c 2 -S 1M " in script.read_text()


@pytest.mark.slow
def test_scaling_is_over_nodes_and_processes_of_a_node(tmp_path: Path) -> None:
    fits = "(?=.*on_nodes=16)(?=.*on_each=16)"
    only = ("-t", "scaling", "-n", f"(Weak|Strong)Scaling.*call=mpiio:collective{fits}")
    found = {script.parent.name.split("_")[0]: script.read_text() for script in
             dry_run("edison", tmp_path, *only, tests="sweeps.py").scripts()}  # fmt: skip
    assert set(found) == {"WeakScaling", "StrongScaling"}
    for text in found.values():
        assert "#SBATCH --nodes=16\n#SBATCH --ntasks=256\n#SBATCH --ntasks-per-node=16\n" in text
    assert "--grid 400x400x200 --procs-grid 8x8x4" in found["WeakScaling"]
    assert "--grid 80x80x80 --procs-grid 8x8x4" in found["StrongScaling"]


@pytest.mark.parametrize(
    ("typo", "said"),
    [
        (
            ('"slurm.j2"', '"slurm.j3"'),
            "scheduler: 'slurm.j3' is unknown; did you mean 'slurm.j2'?",
        ),
        (('stack="cray"', 'stack="crya"'), "environs: 'crya' is unknown; did you mean 'cray'?"),
        (("memory=", "memroy="), "extras: 'memroy' is unknown; did you mean 'memory'?"),
        (
            ("hints=", "hint="),
            "extras.filesystems.scratch1: 'hint' is unknown; did you mean 'hints'",
        ),
        (('"kind": "lustre"', '"kind": "luster"'), "scratch1.striping.kind: 'luster' is unknown"),
        (
            ('"kind": "lustre", "count": 96', '"kind": "ceph", "count": -1'),
            "count: -1 is not a number",
        ),
        (('"size": "1M"', '"size": "1 MB"'), "striping.size: size '1 MB': expected a number"),
        (
            ('f"--partition={', '"--account=my_project", f"--partition={'),
            "access.0: '--account=my_project' is not an option with your own account",
        ),
        (("nodes=5576", 'nodes="many"'), "extras.nodes: 'many' is not a whole number"),
    ],
)
def test_a_typo_in_a_site_file_is_named_with_file_and_key(
    typo: tuple[str, str], said: str, tmp_path: Path
) -> None:
    path = tmp_path / "edison.py"
    text = sites.find("edison").read_text()
    assert typo[0] in text
    here = text.replace("Path(__file__).resolve().parents[2]", f"Path({str(ROOT)!r})")
    path.write_text(here.replace(*typo))
    # ReFrame prints such an error as it is: tests/site_configs/test_site_input.py.
    with pytest.raises(ConfigError) as error:
        runpy.run_path(str(path))
    assert f"{path}: edison:batch." in str(error.value)
    assert said in str(error.value)


@pytest.mark.parametrize("where", ["edison:nosuch", "nosuch"])
def test_an_unknown_system_or_partition_is_named(where: str, tmp_path: Path) -> None:
    config = sites.find("edison")
    session = reframe(tmp_path, "--system", where, "-l", config=config, tests="s3d.py")
    assert session.status == 1
    assert f"'{where}'" in session.text


def test_a_host_that_matches_no_site_is_refused(tmp_path: Path) -> None:
    config = sites.find("edison")
    session = reframe(tmp_path, "-l", config=config, tests="s3d.py")
    assert session.status == 1
    assert f"this host matches no system's `hostnames` in {config}" in session.text


@pytest.mark.parametrize("variable", ["APPTAINER_CONTAINER", "SINGULARITY_CONTAINER"])
def test_without_layers_to_write_in_there_is_no_file_system_of_that_name(variable: str) -> None:
    say = "from site_configs.docker import FILE_SYSTEMS; print('layers' in FILE_SYSTEMS)"
    command = ["env", "-u", "APPTAINER_CONTAINER", "-u", "SINGULARITY_CONTAINER"]
    for more, expected in (((), "True\n"), ((f"{variable}=/image.sif",), "False\n")):
        done = subprocess.run(
            [*command, *more, sys.executable, "-c", say], cwd=ROOT, capture_output=True, text=True,
            check=True,
        )  # fmt: skip
        assert done.stdout == expected
