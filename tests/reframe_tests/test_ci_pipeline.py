# SPDX-License-Identifier: BSD-3-Clause
"""The pipeline that ReFrame makes for GitLab keeps the system, and its jobs run one by one."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from iogauge.common import lock
from iogauge.measure import sites
from tests.reframe_session import ROOT, reframe

SYSTEM = "slurm_lustre"
SITE = sites.find(SYSTEM)


@pytest.mark.slow
def test_each_job_of_a_pipeline_names_its_system(tmp_path: Path) -> None:
    """And a job's own command, with the job's variables, selects its one test on that system: this
    machine is none of the site's, so without them ReFrame would find no system."""
    words = ("--system", SYSTEM, "-n", "S3d%.*fs=.*call=posix%scale=smoke")
    pipeline = tmp_path / "ci.yml"
    made = reframe(
        tmp_path / "a", *words, "--ci-generate", str(pipeline), config=SITE, tests="s3d.py"
    )
    assert made.status == 0, made.text
    data = yaml.safe_load(pipeline.read_text())
    jobs = {name: job for name, job in data.items() if isinstance(job, dict) and "script" in job}
    assert {name.partition("_")[0] for name in jobs} == {
        "BuildKernels", "NoticesAWrongByte", "S3d",
    }  # fmt: skip
    for job in jobs.values():
        assert job["variables"] == {"RFM_SYSTEM": SYSTEM}
        assert job["resource_group"] == f"iogauge-{SYSTEM}"
    (job,) = [job for name, job in jobs.items() if name.startswith("S3d")]
    assert "--system" not in job["script"][0]  # if ReFrame ever keeps it, ours can go
    _, *command = shlex.split(job["script"][0])
    done = subprocess.run(
        [sys.executable, Path(sys.executable).with_name("reframe"),
         *(w for w in command if w != "-r" and not w.startswith("--restore-session")), "-l"],
        cwd=ROOT, capture_output=True, text=True, check=False,
        env={**os.environ, **job["variables"], "IOGAUGE_OUTPUT": str(tmp_path / "b")},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"selected system:   '{SYSTEM}'" in done.stdout
    assert sum(line.startswith("- S3d") for line in done.stdout.splitlines()) == 1


def test_a_pipeline_is_written_while_another_session_measures(tmp_path: Path) -> None:
    environment = {**os.environ, "IOGAUGE_OUTPUT": str(tmp_path), lock.LIMIT: "0"}
    environment.pop(lock.ESCAPE, None)
    asked = ["--site", SYSTEM, "-n", "S3d%.*call=posix%scale=smoke", "--", "--ci-generate"]
    with lock.measuring("another", [tmp_path / lock.NAME], always=True):
        done = subprocess.run(
            [sys.executable, "-m", "iogauge", "run", *asked, str(tmp_path / "ci.yml")],
            cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "BuildKernels" in (tmp_path / "ci.yml").read_text()
