# SPDX-License-Identifier: BSD-3-Clause
"""What a real Slurm says of other machines' scripts; and a job of two nodes whose program is in an
image, with a stand-in of the container engine, without which the program's path is none."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from iogauge.measure import sites
from iogauge.measure.kernels import build_for_tests
from tests.docs import experiment_scripts
from tests.docs.experiment_scripts import TWO_CALLS
from tests.reframe_session import ROOT, Session, reframe
from tests.slurm_cluster import Cluster, ClusterProblem, lacking

SYSTEM = "slurm_lustre"
IMAGE, PROGRAM = "/proj/iogauge.sif", "/opt/iogauge/iokernel"
ENGINE = f"""#!/bin/bash
[[ $1 == exec ]] || exit 64
shift
[[ $1 != --bind ]] || shift 2
[[ $1 == {IMAGE} ]] || exit 65
shift
exec "${{@/{PROGRAM.replace("/", chr(92) + "/")}/KERNEL}}"
"""
SITE = f"""
import sys
sys.path.append({str(ROOT / "tests")!r})
import slurm_site
from site_configs.support import common
image = common.stack(
    "image", "mpicc", "libmpich.so.12", ["romio"],
    launcher=["--mpi=pmi2", "ENGINE exec --bind /scratch {IMAGE}"],
    inside=["ENGINE", "exec", {IMAGE!r}],
    iokernel={PROGRAM!r},
)
system = slurm_site.system("slurm", "squeue.j2", "srun")
system["partitions"][0]["environs"] = ["image"]
site_configuration = {{
    **slurm_site.site_configuration, "systems": [system], "environments": [image],
}}
"""

SWEEPS = "(RamsesShared|RamsesSizes|StrongScaling|WeakScaling|StripeSweep)%.*call="

pytestmark = [
    pytest.mark.first,
    pytest.mark.slow,
    pytest.mark.slurm,
    pytest.mark.skipif(
        not shutil.which("mpicc.mpich"), reason="mpicc.mpich is missing: make setup"
    ),
    pytest.mark.skipif(bool(lacking()), reason=f"{lacking()}: make setup-test"),
]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(accounting=False) as started:
        yield started


def requests(output: Path) -> dict[str, Path]:
    """Of the scripts of a dry run: what each asks for, and one script that does."""
    return {
        "".join(re.findall(r"^#SBATCH (?!--job-name).*\n", script.read_text(), re.M)): script
        for script in output.glob("stage/*/*/*/*/*/rfm_job.sh")
    }


def test_slurm_would_start_each_script_of_edison(cluster: Cluster, tmp_path: Path) -> None:
    """Its nodes are in the cluster's configuration: sbatch says when each job would start."""
    output = tmp_path / "edison"
    words = ("--system", "edison", "--dry-run", "-t", "s3d-io", "-T", "smoke")
    assert reframe(output, *words, config=sites.find("edison"), tests="s3d.py").status == 0
    scripts = list(output.glob("stage/*/*/*/*/*/rfm_job.sh"))
    assert len(scripts) == 4  # three experiments, and the check of the verification
    for script in scripts:
        cluster.run("sbatch", "--test-only", str(script))
    too_large, each = tmp_path / "too_large.sh", re.compile(r"--ntasks-per-node=\d+")
    too_large.write_text(each.sub("--ntasks-per-node=99", script.read_text()))
    with pytest.raises(ClusterProblem, match="node configuration is not available"):
        cluster.run("sbatch", "--test-only", str(too_large))


@pytest.fixture
def start(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Session]:
    """A dry run whose requests Slurm would start, on up to 16,384 processes, of 1,024 of the same
    nodes."""
    nodes = {"NODES": 1024, "CORES": 24, "MEMORY": 62464, "QUEUE": "regular", "MAX_TIME": 86400}
    for name, value in nodes.items():
        monkeypatch.setenv(f"IOGAUGE_{name}", str(value))

    def started(*options: str) -> Session:
        session = experiment_scripts.all_tests(SYSTEM, tmp_path, *options)
        found = requests(tmp_path)
        assert any("--ntasks=16384\n" in request for request in found)
        for script in found.values():
            cluster.run("sbatch", "--test-only", str(script))
        return session

    return started


def test_slurm_would_start_each_shared_request_of_all_tests(start: Callable[..., Session]) -> None:
    """script_judge.py judges each script, too. Sweeps by two calls, other tests by each."""
    session = start("-S", "exclusive_access=no", "-n", f"^(?!{SWEEPS})|{TWO_CALLS}")
    assert len(session.scripts()) > 500
    assert experiment_scripts.wrong_in(session, SYSTEM) == []


def test_slurm_would_start_exclusive_requests(start: Callable[..., Session]) -> None:
    """They ask for the same as shared ones but memory: two tests have all numbers of processes."""
    session = start("-S", "exclusive_access=yes", "-n", f"(Strong|Weak)Scaling.*{TWO_CALLS}")
    assert len(session.scripts()) > 50


def test_a_program_in_an_image_runs_on_two_nodes(cluster: Cluster, tmp_path: Path) -> None:
    engine, site = tmp_path / "apptainer", tmp_path / "image_site.py"
    engine.write_text(ENGINE.replace("KERNEL", str(build_for_tests("mpich") / "iokernel")))
    engine.chmod(0o755)
    site.write_text(SITE.replace("ENGINE", str(engine)))
    words = ("-r", "--system=slurm", "-t", "smoke", "-n", "S3d.*call=mpiio:collective")
    session = reframe(
        tmp_path,
        *(*words, "-SS3d.nodes=2", "-SS3d.num_tasks=2"),
        config=site,
        tests="s3d.py",
        environment=cluster.environment,
    )
    assert session.status == 0, session.text
    (case,) = session.cases
    kept = Path(case["outputdir"])
    script = (kept / "rfm_job.sh").read_text()
    assert "#SBATCH --nodes=2\n#SBATCH --ntasks=2\n" in script
    launch = f"srun --mpi=pmi2 {engine} exec --bind /scratch {IMAGE} {PROGRAM} s3d"
    assert f"\n{launch} " in re.sub(r"\s*\\\n\s*", " ", script)
    document = json.loads((kept / "result.json").read_text())
    assert document["verification"]["verdict"] == "verified"
    assert document["system"]["nodes"] == 2
