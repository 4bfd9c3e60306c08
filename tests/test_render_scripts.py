"""`python -m reframe_tests.render`: the scripts that ReFrame would submit."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.reframe_session import ROOT


def render(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "reframe_tests.render", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_scripts_for_one_partition_work_there(tmp_path: Path) -> None:
    there = ("--folder", "/home/me/jobs", "--iokernel", "/home/me/iokernel", "-t", "smoke")
    done = render(
        *("--system", "mira_cetus", "--partition", "cetus", "--output", str(tmp_path), *there),
        "S3d.*fs=fs0.*call=mpiio:collective",
    )
    assert done.returncode == 0, done.stderr
    (script,) = tmp_path.rglob("job.sh")
    assert done.stdout.strip() == str(script)
    text = script.read_text()
    assert f"\ncd -- /home/me/jobs/{script.parent.relative_to(tmp_path)}\n" in text
    assert "    /home/me/iokernel s3d " in text
    assert "#COBALT -n 128\n" in text
    assert "/stage/" not in text
    subprocess.run(["bash", "-n", script], check=True)


def test_what_is_not_there_is_named() -> None:
    assert "there is no site_configs/nosuch.py" in render("--system", "nosuch", "S3d").stderr
    done = render("--system", "faust", "--partition", "nosuch", "S3d")
    assert done.returncode == 1
    assert "nosuch" in done.stderr
