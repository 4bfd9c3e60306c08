# SPDX-License-Identifier: BSD-3-Clause
"""OpenPBS or PBS Professional for real: both stacks, jobs that end well and that do not, and all
scripts of other machines. Wants a PBS that runs, with two free nodes that share this folder: Debian
has none (tests/pbs_nodes.sh)."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from iogauge.measure import sites
from tests.reframe_session import ROOT, Session, reframe

STACKS = ("mpich", "openmpi")
SMOKE = ("-t", "smoke", "-n", "(S3d|Ior).*call=mpiio:collective")
TWO_NODES = [f"-S{test}.{size}=2" for test in ("S3d", "Ior") for size in ("nodes", "num_tasks")]
SLOW = ("-p", "mpich", "-S", "S3d.prerun_cmds=sleep 300")


def lacking() -> str | None:
    """Why there is no PBS to ask, or None."""
    if not all(shutil.which(name) for name in ("qsub", "pbsnodes", "pbs_tmrsh")):
        return "PBS is not on the PATH (qsub, pbsnodes, pbs_tmrsh)"
    nodes = subprocess.run(["pbsnodes", "-aSj"], capture_output=True, text=True, check=False)
    free = [line for line in nodes.stdout.splitlines() if " free " in line]
    return None if len(free) > 1 else f"PBS has {len(free)} free nodes, not 2: {nodes.stderr}"


pytestmark = [
    pytest.mark.pbs,
    pytest.mark.skipif(bool(why := lacking()), reason=f"{why}"),
]


def run(output: Path, *options: str, tests: str = "s3d.py") -> Session:
    two_nodes = [word for word in TWO_NODES if not tests or word.startswith("-SS3d")]
    words = ("-r", "--system=pbs", *SMOKE, *two_nodes, *options)
    return reframe(output, *words, config=ROOT / "tests" / "pbs_site.py", tests=tests)


@pytest.fixture(scope="session")
def known(tmp_path_factory: pytest.TempPathFactory) -> None:
    """These kernels have shown that they notice a wrong byte: the job for it is not met below."""
    session = run(tmp_path_factory.mktemp("known"), "-p", "mpich")
    assert session.status == 0, session.text


def test_both_patterns_run_on_both_stacks_and_two_nodes(tmp_path: Path) -> None:
    session = run(tmp_path, tests="")
    assert session.status == 0, session.text
    cases = [case for case in session.cases if case["result"] == "pass"]
    ran = sorted((case["pattern"], case["environ"]) for case in cases)
    assert ran == [(name, stack) for name in ("ior", "s3d") for stack in STACKS]
    for case in cases:
        kept = Path(case["outputdir"])
        document = json.loads((kept / "result.json").read_text())
        assert document["verification"]["verdict"] == "verified"
        assert len(set(document["system"]["hosts"])) == 2
        assert (kept / "exit_status").read_text() == "0\n"
        script = (kept / "rfm_job.sh").read_text()
        assert "#PBS -l select=2:ncpus=1:mpiprocs=1\n#PBS -l place=scatter:excl\n" in script
    assert list((tmp_path / "disk").iterdir()) == []


def test_a_job_that_fails_is_quoted(tmp_path: Path) -> None:
    session = run(tmp_path, "-p", "mpich", "-S", "S3d.hints=cb_buffer_size=none")
    assert session.status == 1
    assert "cb_buffer_size=none" in session.cases[0]["fail_reason"]
    assert list((tmp_path / "disk").iterdir()) == []


def test_a_job_past_its_wall_time_says_so_and_cleans_up(tmp_path: Path) -> None:
    session = run(tmp_path, *SLOW, "-S", "S3d.time_limit=5s")
    assert session.status == 1
    reason = session.cases[0]["fail_reason"]
    assert "the job ended with exit status 143" in reason
    assert "exceeded limit 5" in reason
    assert list((tmp_path / "disk").iterdir()) == []


def jobs(folder: Path) -> list[str]:
    """qstat's text of each job below a folder; it breaks long lines."""
    text = subprocess.run(["qstat", "-f"], capture_output=True, text=True, check=True).stdout
    return [job for job in text.replace("\n\t", "").split("\n\n") if str(folder) in job]


def when(job_is: Callable[[str], bool], output: Path, *options: str) -> Session:
    """A session whose one job is deleted, from outside, as soon as qstat's text of it fits."""
    with ThreadPoolExecutor(1) as pool:
        session = pool.submit(run, output, *SLOW, *options)
        end = time.monotonic() + 600
        while time.monotonic() < end and not session.done():
            fitting = [job for job in jobs(output) if job_is(job)]
            if fitting:
                time.sleep(1)
                subprocess.run(["qdel", fitting[0].split()[2]], check=True)
                break
            time.sleep(0.2)
        return session.result()


@pytest.mark.usefixtures("known")
def test_a_cancelled_job_says_so_and_cleans_up(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    ended = when(lambda _: bool(list(disk.glob("iogauge.*"))), tmp_path)
    assert ended.status == 1
    assert "the job ended with exit status 143" in ended.cases[0]["fail_reason"]
    assert list(disk.iterdir()) == []


@pytest.mark.usefixtures("known")
def test_a_job_that_never_ran_ends_and_says_so(tmp_path: Path) -> None:
    ended = when(lambda job: "job_state = W" in job, tmp_path, "-J=-a 12312359")
    assert ended.status == 1
    assert "the job was killed; stderr: empty" in ended.cases[0]["fail_reason"]


@pytest.mark.usefixtures("known")
def test_a_held_job_is_given_up_and_says_so(tmp_path: Path) -> None:
    session = run(tmp_path, "-p", "mpich", "-J=-h")
    assert session.status == 1
    assert "held until qrls: " in session.cases[0]["fail_reason"]


@pytest.mark.usefixtures("known")
def test_a_job_that_no_node_can_hold_ends_with_the_schedulers_reason(tmp_path: Path) -> None:
    session = run(tmp_path, "-p", "mpich", "-S", "S3d.num_cpus_per_task=513")
    assert session.status == 1
    said = "it cannot start: Can Never Run: Insufficient amount of resource: ncpus"
    assert said in session.cases[0]["fail_reason"]


def command(*words: str | Path, folder: Path | None = None) -> str:
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (words, done.stderr)
    return done.stdout


def requests(scripts: list[Path]) -> list[str]:
    """The nodes that they ask for; of requests that differ in memory alone, that for most."""
    found: dict[str, str] = {}
    for script in scripts:
        asked = "".join(re.findall(r"^#PBS -l (?!walltime).*\n", script.read_text(), re.M))
        without = re.sub(r":mem=\d+mb", "", asked)
        found[without] = max(found.get(without, ""), asked, key=memory)
    return list(found.values())


def memory(request: str) -> list[int]:
    return [int(number) for number in re.findall(r":mem=(\d+)mb", request)]


def placed(request: str, folder: Path) -> str:
    """What became of a job that does nothing, with this request, alone in queue `machine`."""
    script = folder / "empty.sh"
    script.write_text(f"#!/bin/bash\n{request}exit 0\n")
    job = command("qsub", "-q", "machine", script, folder=folder).strip()
    while True:
        said = command("qstat", "-x", "-f", job).replace("\n\t", "")
        if "job_state = F" in said:
            return said
        if re.search("comment = (Not Running|Can Never Run)", said):
            command("qdel", job)
            return said
        time.sleep(0.5)


@pytest.fixture
def machine() -> None:
    done = subprocess.run(["qstat", "-Q", "machine"], capture_output=True, check=False)
    if done.returncode:
        pytest.skip("PBS has no queue `machine` (tests/pbs_nodes.sh)")


@pytest.mark.slow
@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize(
    ("system", "tests", "options"),
    [
        ("pleiades", "cgns.py", ("-t", "hdf-group", "-T", "smoke")),
        ("altix", "paio.py", ("-t", "paio", "-T", "smoke")),
        ("pbs_lustre", "", ("-S", "exclusive_access=no")),
        ("pbs_lustre", "", ("-S", "exclusive_access=yes")),
    ],
)
def test_pbs_takes_each_script_of_a_machine_and_starts_each_request(
    system: str,
    tests: str,
    options: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each script is submitted as it is, and held; each request for nodes runs, on as many as the
    machine has, which one node of this PBS says it has."""
    monkeypatch.setenv("IOGAUGE_NODES", "1024")
    output = tmp_path / "scripts"
    words = ("--system", system, "--dry-run", *options)
    reframe(output, *words, config=sites.find(system), tests=tests)
    scripts = sorted(output.glob("stage/*/*/*/*/*/rfm_job.sh"))
    taken = [command("qsub", "-h", script, folder=tmp_path).strip() for script in scripts]
    assert taken
    command("qdel", *taken)
    for request in requests(scripts):
        said = placed(request, tmp_path)
        assert "Exit_status = 0" in said, (request, said)


@pytest.mark.usefixtures("machine")
def test_pbs_refuses_what_the_machine_does_not_have(tmp_path: Path) -> None:
    said = placed("#PBS -l select=1026:ncpus=20\n#PBS -l place=scatter\n", tmp_path)
    assert "comment = Not Running: No available resources on nodes" in said
    said = placed("#PBS -l select=1:ncpus=513\n", tmp_path)
    assert "comment = Not Running: Insufficient amount of resource: ncpus" in said
    words = ["qsub", "-l", "select=1:ncpus=1:nosuch=1", "--", "/bin/true"]
    assert subprocess.run(words, cwd=tmp_path, capture_output=True, check=False).returncode != 0
