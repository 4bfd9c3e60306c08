"""PBS, Torque, Cobalt and LoadLeveler from submission to verdict, against command stand-ins."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests import batch_standin
from tests.reframe_session import ROOT, Session, reframe

KINDS = tuple(batch_standin.COMMANDS)
OWN = ("cobalt", "loadleveler")
ONLY = ("-t", "smoke", "-n", "S3d.*call=mpiio:collective")

pytestmark = pytest.mark.skipif(
    not shutil.which("mpicc.mpich"), reason="mpicc.mpich is missing: make setup"
)


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built once, for all of these systems."""
    from tools.kernels import build

    folder = ROOT / ".local" / "build" / "test-standin"
    build("mpich", folder, "-DBUILD_TESTING=OFF", target="iokernel")
    return folder / "iokernel"


def environment(folder: Path, kind: str, says: str = "") -> dict[str, str]:
    batch_standin.install(folder / "standin", kind)
    path = f"{folder / 'standin' / 'bin'}:{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "STANDIN_SAYS": says}


def run(kind: str, kernel: Path, output: Path, *options: str, says: str = "") -> Session:
    return reframe(
        output,
        *("-r", "--system", kind, *ONLY, "-S", f"kernel_path={kernel}", *options),
        config=ROOT / "tests" / "standin_site.py",
        tests="s3d.py",
        environment=environment(output, kind, says),
    )


@pytest.mark.parametrize("kind", KINDS)
def test_a_job_runs_from_submission_to_verdict(kind: str, kernel: Path, tmp_path: Path) -> None:
    session = run(kind, kernel, tmp_path)
    assert session.status == 0, session.text
    (case,) = session.cases
    kept = Path(case["outputdir"])
    assert json.loads((kept / "result.json").read_text())["verification"]["verdict"] == "verified"
    assert case["jobid"] in ("100", "100.server", "frontend.site.100")
    assert list((tmp_path / "disk").iterdir()) == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_job_that_fails_is_quoted(kind: str, kernel: Path, tmp_path: Path) -> None:
    session = run(kind, kernel, tmp_path, "-S", "S3d.hints=cb_buffer_size=none")
    assert session.status == 1
    assert "cb_buffer_size=none" in session.cases[0]["fail_reason"]
    assert list((tmp_path / "disk").iterdir()) == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_cancelled_job_says_so_and_cleans_up(kind: str, kernel: Path, tmp_path: Path) -> None:
    """Cancelled by the system's own command, from outside, while it runs."""
    slow = ("-S", "S3d.prerun_cmds=sleep 300")
    with ThreadPoolExecutor(1) as pool:
        session = pool.submit(run, kind, kernel, tmp_path, *slow)
        disk = tmp_path / "disk"
        end = time.monotonic() + 60
        while not (disk.exists() and list(disk.glob("iogauge.*"))) and time.monotonic() < end:
            time.sleep(0.1)
        name = batch_standin.COMMANDS[kind][2]
        subprocess.run([tmp_path / "standin" / "bin" / name, "100"], check=True)
        ended = session.result()
    assert ended.status == 1
    assert "the job ended with exit status 143" in ended.cases[0]["fail_reason"]
    assert list(disk.iterdir()) == []


@pytest.mark.parametrize("kind", OWN)
def test_a_submission_without_an_id_is_quoted(kind: str, kernel: Path, tmp_path: Path) -> None:
    session = run(kind, kernel, tmp_path, says="no-id")
    assert session.status == 1
    assert "no job id in 'try again later'" in session.text


@pytest.mark.parametrize("kind", OWN)
def test_a_garbled_answer_is_never_the_end_of_a_job(
    kind: str, kernel: Path, tmp_path: Path
) -> None:
    session = run(kind, kernel, tmp_path, says="garbled")
    assert session.status == 1
    assert "neither the job nor its end in 'Segmentation fault'" in session.text


@pytest.mark.parametrize("kind", OWN)
def test_a_missing_command_is_named(kind: str, kernel: Path, tmp_path: Path) -> None:
    session = reframe(
        tmp_path,
        *("-r", "--system", kind, *ONLY, "-S", f"kernel_path={kernel}"),
        config=ROOT / "tests" / "standin_site.py",
        tests="s3d.py",
    )
    assert session.status == 1
    assert f"{batch_standin.COMMANDS[kind][0]} rfm_job.sh" in session.text
