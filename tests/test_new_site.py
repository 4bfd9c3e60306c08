# SPDX-License-Identifier: BSD-3-Clause
"""`make site`: a first site file that works, from what the machine shows."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.reframe_session import ROOT, reframe
from tools import new_site

MOUNTS = """\
sysfs /sys sysfs rw 0 0
10.0.0.1@o2ib:/scratch /lustre/scratch lustre rw,flock 0 0
/dev/gpfs1 /gpfs gpfs rw 0 0
server:/home /home nfs4 rw,vers=4.2 0 0
"""


def only(*commands: str):  # type: ignore[no-untyped-def]
    return lambda name: f"/usr/bin/{name}" if name in commands else None


@pytest.mark.parametrize(
    ("commands", "back_end"),
    [
        (("sbatch", "sacct", "qsub"), "slurm.j2"),
        (("sbatch",), "squeue.j2"),
        (("qsub", "cqstat"), "cobalt.j2"),
        (("qsub", "pbsnodes"), "torque.j2"),
        (("qsub", "pbsnodes", "pbs_snapshot"), "pbs.j2"),
        (("llsubmit",), "loadleveler.j2"),
        ((), "local.j2"),
    ],
)
def test_the_batch_system_is_known_by_its_commands(
    commands: tuple[str, ...], back_end: str
) -> None:
    assert new_site.scheduler(only(*commands))[0] == back_end


def test_parallel_file_systems_are_those_of_proc_mounts() -> None:
    lines = new_site.filesystems(MOUNTS, has_lfs=True)
    assert len(lines) == 3
    assert lines[0].startswith('"lustre_scratch": common.file_system("/lustre/scratch"')
    assert '"count": 4' in lines[0]
    assert '{"kind": "gpfs"}' in lines[1]
    assert "striping" not in lines[2]
    assert "striping" not in new_site.filesystems(MOUNTS, has_lfs=False)[0]


def test_the_file_works_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", only("mpicc.mpich"))
    path = tmp_path / "dawn.py"
    text = new_site.site_file("dawn").replace(
        "Path(__file__).resolve().parents[1]", f"Path({str(ROOT)!r})"
    )
    path.write_text(text)
    smoke = ("-t", "smoke", "-n", "S3d.*call=mpiio:collective")
    session = reframe(
        tmp_path / "out", "--system", "dawn", "--dry-run", *smoke, config=path, tests="s3d.py"
    )
    assert session.status == 0, session.text
    assert [case["result"] for case in session.cases] == ["pass"]


def test_a_name_that_is_none_and_a_file_that_exists(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert new_site.main(["my site"]) == 2
    assert "'my site'" in capsys.readouterr().err
    assert new_site.main(["local"]) == 1
    assert "local.py exists already" in capsys.readouterr().err
