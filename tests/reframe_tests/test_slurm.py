# SPDX-License-Identifier: BSD-3-Clause
"""Slurm for real: two slurmd on this machine, both stacks, jobs that end well and that do not."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from iogauge.measure.kernels import build_for_tests
from tests import slurm_site
from tests.ctest import mpi_end
from tests.reframe_session import (
    ROOT,
    SLEEP,
    Session,
    changed_site,
    is_asleep,
    reframe,
    untraced_kernel,
)
from tests.selftest import injector
from tests.slurm_cluster import PATIENCE, Cluster, lacking
from tests.slurm_guard import members

STACKS = ("mpich", "openmpi")
SITE = ROOT / "tests" / "slurm_site.py"
TWO_NODES = [f"-S{test}.{size}=2" for test in ("S3d", "Ior") for size in ("nodes", "num_tasks")]
SMOKE = ("-t", "smoke", "-n", "(S3d|Ior).*call=mpiio:collective")

pytestmark = [
    pytest.mark.first,
    pytest.mark.slow,
    pytest.mark.slurm,
    pytest.mark.skipif(
        not all(shutil.which(f"mpicc.{stack}") for stack in STACKS),
        reason="mpicc.openmpi or mpicc.mpich is missing: make setup",
    ),
    pytest.mark.skipif(bool(lacking()), reason=f"{lacking()}: make setup-test"),
]


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    with Cluster() as started:
        yield started


def run(
    cluster: Cluster, output: Path, *options: str, tests: str = "s3d.py", config: Path = SITE
) -> Session:
    two_nodes = [word for word in TWO_NODES if not tests or word.startswith("-SS3d")]
    return reframe(
        output,
        *("-r", "--system=slurm", *SMOKE, *two_nodes, *options),
        config=config,
        tests=tests,
        environment=cluster.environment,
    )


@pytest.fixture(scope="session")
def past_its_limit(
    cluster: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Future[Session]]:
    """Slurm's limits are whole minutes: this job waits for its end beside the other tests."""
    slow = ("-SS3d.prerun_cmds=sleep 300", "-SS3d.time_limit=1m", "-p", "mpich")
    with ThreadPoolExecutor(1) as pool:
        folder = tmp_path_factory.mktemp("limit")
        yield pool.submit(run, cluster, folder, *slow, "-SS3d.nodes=1", "-SS3d.num_tasks=1")


BOTH = "COMPLETED|ionode[1-2]"


def accounted(cluster: Cluster, job: str, what: str, wanted: str) -> bool:
    """Whether sacct says this, or begins so: it learns late of its end, and of all its nodes."""
    end, found = time.monotonic() + PATIENCE, ""
    while not found.startswith(wanted) and time.monotonic() < end:
        time.sleep(0.5)
        jobs_alone = [] if "." in job else ["-X"]
        found = cluster.run("sacct", "-n", *jobs_alone, "-P", "-j", job, "-o", what).strip()
    return found.startswith(wanted)


def test_both_patterns_run_on_both_stacks_and_two_nodes(
    cluster: Cluster, past_its_limit: Future[Session], tmp_path: Path
) -> None:
    session = run(cluster, tmp_path, tests="")
    assert session.status == 0, session.text
    cases = [case for case in session.cases if case["result"] == "pass"]
    assert sorted((case["pattern"], case["environ"]) for case in cases) == [
        (pattern, stack) for pattern in ("ior", "s3d") for stack in STACKS
    ]
    for case in cases:
        kept = Path(case["outputdir"])
        script = (kept / "rfm_job.sh").read_text()
        assert "#SBATCH --nodes=2\n#SBATCH --ntasks=2\n#SBATCH --ntasks-per-node=1\n" in script
        assert "\nsrun --mpi=pmi" in script
        assert (kept / "exit_status").read_text() == "0\n"
        assert accounted(cluster, case["jobid"], "state,nodelist", BOTH)
    assert list((tmp_path / "disk").iterdir()) == []


def test_a_process_has_the_cpus_that_it_asks_for(cluster: Cluster, tmp_path: Path) -> None:
    """From Slurm 22.05 on srun does not inherit the job's --cpus-per-task."""
    session = run(cluster, tmp_path, "-p", "mpich", "-S", "S3d.num_cpus_per_task=2")
    assert session.status == 0, session.text
    (case,) = session.cases
    assert "#SBATCH --cpus-per-task=2\n" in script_of(case)
    assert accounted(cluster, f"{case['jobid']}.0", "ntasks,alloccpus", "2|4")


def test_without_accounting_squeue_is_enough(cluster: Cluster, tmp_path: Path) -> None:
    session = run(cluster, tmp_path, "--system=squeue")
    assert session.status == 0, session.text
    assert sorted(case["environ"] for case in session.cases) == list(STACKS)
    for case in session.cases:
        assert f"\nmpiexec.{case['environ']} -n 2" in script_of(case)


def test_scaling_goes_over_two_nodes(cluster: Cluster, tmp_path: Path) -> None:
    session = reframe(
        tmp_path,
        *("-r", "--system=slurm", "-t", "scaling", "-p", "mpich", "-S", "repeats=1"),
        *("-n", "(Weak|Strong)Scaling.*call=mpiio:collective.*on_nodes=2.*on_each=(1|2)"),
        config=SITE,
        tests="sweeps.py",
        environment=cluster.environment,
    )
    assert session.status == 0, session.text
    ran = {(case["name"].split(" ")[0], case["num_tasks"]) for case in session.cases}
    assert {("WeakScaling", 2), ("StrongScaling", 2)} <= ran
    for case in session.cases:
        if case["result"] == "pass":
            assert accounted(cluster, case["jobid"], "state,nodelist", BOTH)
            assert "#SBATCH --nodes=2\n" in script_of(case)


def test_a_log_is_replayed_on_two_nodes(cluster: Cluster, tmp_path: Path) -> None:
    log = ROOT / "tests" / "data" / "darshan" / "darshan-mpich-hdf5-dxt" / "trace.darshan"
    session = reframe(
        tmp_path,
        *("-r", "--system=slurm", "-n", "Replay", "-S", f"Replay.log={log}", "-SReplay.nodes=2"),
        config=SITE,
        tests="replay.py",
        environment=cluster.environment,
    )
    assert session.status == 0, session.text
    assert sorted(case["environ"] for case in session.cases) == list(STACKS)
    for case in session.cases:
        assert "#SBATCH --nodes=2\n#SBATCH --ntasks=2\n" in script_of(case)
        assert accounted(cluster, case["jobid"], "state,nodelist", BOTH)


def script_of(case: dict[str, str]) -> str:
    return (Path(case["outputdir"]) / "rfm_job.sh").read_text()


def test_scripts_written_beforehand_run_and_are_collected(cluster: Cluster, tmp_path: Path) -> None:
    """sbatch and bash alone, as on a machine without ReFrame."""
    kernel = untraced_kernel(tmp_path)
    environment = {**cluster.environment, "IOGAUGE_DISK": str(tmp_path / "disk")}
    options = ["--dry-run", "--site", str(SITE), "--system", "slurm", "-t", "smoke", *TWO_NODES[:2]]
    options += ["-o", str(tmp_path / "scripts"), "--iokernel", str(kernel)]
    words = [sys.executable, "-m", "iogauge", "run", *options, "-n", "S3d.*call=mpiio:collective"]
    subprocess.run(words, check=True, cwd=ROOT, env=environment)
    scripts = list((tmp_path / "scripts").rglob("mpich/*/job.sh"))
    assert sorted(one.parent.name.split("_")[0] for one in scripts) == ["NoticesAWrongByte", "S3d"]
    shutil.rmtree(scripts[0].parents[2] / "openmpi")
    for script in scripts:
        submit = ["sbatch", "--wait", "job.sh"]
        subprocess.run(submit, cwd=script.parent, env=environment, check=True)
    environment["IOGAUGE_OUTPUT"] = str(tmp_path / "output")
    words = [*words[:3], "collect", str(tmp_path / "scripts"), "--site", str(SITE)]
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, env=environment)
    found = {case["environ"]: case for case in Session(0, "", tmp_path / "output").cases}
    assert found["mpich"]["result"] == "pass", done.stdout
    assert found["openmpi"]["result"] != "pass"
    assert "has no results: was its job.sh run there?" in done.stdout


def test_a_job_that_fails_is_quoted(cluster: Cluster, tmp_path: Path) -> None:
    session = run(cluster, tmp_path, "-p", "mpich", "-S", "S3d.hints=cb_buffer_size=none")
    assert session.status == 1
    (case,) = session.cases
    assert "cb_buffer_size=none" in case["fail_reason"]
    assert accounted(cluster, case["jobid"], "state", "FAILED")
    assert list((tmp_path / "disk").iterdir()) == []


@pytest.mark.parametrize(
    ("option", "held", "reason"),
    [("-SS3d.time_limit=2h", 600, "PartitionTimeLimit"), ("-J=--hold", 5, "JobHeldUser")],
)
def test_a_job_that_cannot_start_is_cancelled_with_the_reason(
    option: str, held: int, reason: str, cluster: Cluster, tmp_path: Path
) -> None:
    """Its limit is above the partition's, or it is held: Slurm leaves it pending. A first session
    runs the job on which all tests depend: held, that one would fail in their place."""
    assert run(cluster, tmp_path / "first", "-p", "mpich").status == 0
    site = changed_site(tmp_path, f"templated.HELD = {held}", "tests.slurm_site")
    session = run(cluster, tmp_path, "-p", "mpich", option, config=site)
    assert session.status == 1
    (case,) = session.cases
    assert reason in case["fail_reason"]
    at_once = json.loads((Path(case["stagedir"]) / "case.json").read_text())["case"]
    assert at_once["fail_reason"] == case["fail_reason"]
    assert accounted(cluster, case["jobid"], "state", "CANCELLED")


def test_a_path_that_is_not_on_the_node_is_named_with_its_key(
    cluster: Cluster, tmp_path: Path
) -> None:
    missing = tmp_path / "nosuch"
    disk = "partition['extras']['filesystems']['disk']"
    change = f"{disk} |= {{'path': {str(missing)!r}, 'create': False}}"
    site = changed_site(tmp_path, change, "tests.slurm_site")
    session = run(cluster, tmp_path, "-p", "mpich", config=site)
    assert session.status == 1
    assert f"error: file system disk: {missing} is not a folder on " in session.text
    assert "see filesystems.disk.path of partition slurm:batch in the site file" in session.text


def test_a_cancelled_job_says_so_and_cleans_up(cluster: Cluster, tmp_path: Path) -> None:
    slow = ("-p", "mpich", "-S", f"S3d.prerun_cmds={SLEEP}", "-J", "comment=cancelled-by-test")
    with ThreadPoolExecutor(1) as pool:
        session = pool.submit(run, cluster, tmp_path, *slow)
        job = running_job(cluster, "cancelled-by-test", session)
        while not is_asleep():
            assert not session.done(), session.result().text
            time.sleep(0.1)
        cluster.run("scancel", job)
        ended = session.result()
    assert ended.status == 1
    (case,) = ended.cases
    assert case["jobid"] == job
    assert accounted(cluster, job, "state", "CANCELLED")
    assert "the job ended with exit status 143" in case["fail_reason"]
    assert list((tmp_path / "disk").iterdir()) == []


@pytest.fixture(scope="session")
def injector_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return injector.build(tmp_path_factory.mktemp("injector"))


# One process on each of two nodes: what goes wrong in the second one's first write, and what the
# first node's guard, which sees nothing of it, then says.
STANDSTILLS = {
    "block": r"process 1 on .*: no progress .* it is writing, in phase write of method posix",
    "stop": r"all processes on .* are stopped, or the node is down: no message",
}


@pytest.mark.parametrize("fault", STANDSTILLS)
@pytest.mark.parametrize("stack", STACKS)
def test_what_stands_still_on_another_node_ends_the_job(
    cluster: Cluster, tmp_path: Path, injector_library: Path, stack: str, fault: str
) -> None:
    done, document = two_processes(cluster, tmp_path, injector_library, stack, fault)
    assert done.returncode != 0
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("iokernel: error")]
    assert re.search(STANDSTILLS[fault], line), done.stderr
    assert document["status"] == "hung" and document["system"]["nodes"] == 2
    assert list((tmp_path / "files").iterdir()) == []


def test_a_slow_node_is_waited_for(
    cluster: Cluster, tmp_path: Path, injector_library: Path
) -> None:
    """For longer than the patience: it moves, the others wait for it."""
    done, document = two_processes(cluster, tmp_path, injector_library, "mpich", "slow")
    assert done.returncode == 0, done.stderr
    assert document["status"] == "ok"
    assert document["samples"][0]["write"]["seconds"] > 6


def ran(
    command: list[str], cluster: Cluster, document: Path
) -> tuple[subprocess.CompletedProcess[str], Any]:
    """A command that starts iokernel, and the document that it writes."""
    run = partial(subprocess.run, command, capture_output=True, text=True, timeout=PATIENCE,
                  env=cluster.environment)  # fmt: skip
    done = mpi_end.twice_at_most(run, lambda one: mpi_end.kernel_blames_mpi(one.stderr, document))
    return done, json.loads(document.read_text())


def two_processes(
    cluster: Cluster, folder: Path, library: Path, stack: str, fault: str
) -> tuple[subprocess.CompletedProcess[str], Any]:
    """IOR on two nodes, with a fault in the second process; and its document."""
    files, result = folder / "files", folder / "result.json"
    files.mkdir()
    plan = injector.Plan("write", fault, times=None, rank=1)
    given = {**injector.preload(library, plan, files), **dict(slurm_site.OPEN_MPI)}
    # Without -K srun waits for a process that is stopped, also when the job has failed.
    command = ["srun", "-K", "-N2", "-n2", slurm_site.SRUN[stack], "env"]
    command += [f"{name}={value}" for name, value in given.items()]
    command += [str(build_for_tests(stack) / "iokernel"), "ior", "-b", "8k", "-t", "1k"]
    command += ["--method", "posix", "--patience", "6", "--dir", str(files), "--json", str(result)]
    return ran(command, cluster, result)


@pytest.mark.parametrize(("stack", "processes"), [("mpich", "2"), ("openmpi", "4")])
def test_collective_buffering_goes_between_nodes(
    cluster: Cluster, tmp_path: Path, stack: str, processes: str
) -> None:
    """Method twophase: windows on each node, messages between them; small buffers, many rounds."""
    files, result = tmp_path / "files", tmp_path / "result.json"
    files.mkdir()
    command = ["srun", "-K", "-N2", "-n", processes, slurm_site.SRUN[stack], "env"]
    command += [f"{name}={value}" for name, value in slurm_site.OPEN_MPI]
    command += [str(build_for_tests(stack) / "iokernel"), "s3d", "--grid", "20x20x20"]
    command += ["--method", "twophase", "--buffer-size", "4k", "--straight", "1g"]
    command += ["--dir", str(files), "--json", str(result)]
    done, document = ran(command, cluster, result)
    assert done.returncode == 0, done.stderr
    assert document["system"]["nodes"] == 2
    assert document["verification"]["verdict"] == "verified"


def running_job(cluster: Cluster, comment: str, session: Future[Session]) -> str:
    """The job with this comment."""
    while not session.done():
        for line in cluster.run("squeue", "-h", "-t", "RUNNING", "-o", "%A %k").splitlines():
            job, its_comment = line.split(" ", 1)
            if its_comment == comment:
                return job
        time.sleep(0.2)
    raise AssertionError(session.result().text)


@pytest.mark.last
def test_a_job_past_its_time_limit_says_so_and_cleans_up(
    cluster: Cluster, past_its_limit: Future[Session]
) -> None:
    session = past_its_limit.result()
    assert session.status == 1
    (case,) = session.cases
    assert accounted(cluster, case["jobid"], "state", "TIMEOUT")
    assert "DUE TO TIME LIMIT" in case["fail_reason"]
    assert list((session.output / "disk").iterdir()) == []


def test_nothing_is_left_when_the_cluster_stops() -> None:
    with Cluster(accounting=False) as small:
        folder, daemons = small.folder, [daemon for _, daemon in small.daemons]
        step = subprocess.Popen(["srun", "-N2", "sleep", "60"], env=small.environment)
        while len(small.run("squeue", "-h", "-t", "RUNNING").splitlines()) < 1:
            time.sleep(0.1)
    assert step.wait(PATIENCE) != 0
    assert all(daemon.poll() is not None for daemon in daemons)
    assert not folder.exists()


OWNER = """
import time
from iogauge.measure.kernels import build
from tests.slurm_cluster import Cluster
with Cluster(accounting=False) as cluster:
    job = "trap '' TERM; srun sleep 300 & sleep 300"
    cluster.run("sbatch", "-N2", "-o", "/dev/null", "--wrap", job)
    while not cluster.run("squeue", "-h", "-s", "-o", "%i").split():
        time.sleep(0.1)
    print(cluster.folder, flush=True)
    time.sleep(300)
"""


def test_nothing_is_left_when_its_owner_is_killed_outright() -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert owner.stdout
    folder = owner.stdout.readline().strip()
    names: set[str] = set()
    while not {"munged", "slurmctld", "slurmd", "slurmstepd", "sleep"} <= names:
        assert owner.poll() is None
        for process in members(folder):
            with suppress(OSError):  # it has just ended
                names.add(Path(f"/proc/{process}/comm").read_text().strip())
    owner.kill()
    owner.wait()
    end = time.monotonic() + PATIENCE
    while Path(folder).exists() and time.monotonic() < end:
        time.sleep(0.1)
    assert members(folder) == []
    assert not Path(folder).exists()
