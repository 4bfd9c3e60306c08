"""Job scripts: what a template gives, what the script does, and how a template's errors read."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from reframe_tests.render import TemplateProblem, render, template_for

GOLDEN = Path(__file__).parent / "golden"


def values(**more: Any) -> dict[str, Any]:
    """What a test and its job hand to a template."""
    return {
        "test": {"name": "S3d %fs=disk %call=mpiio:collective %scale=laptop"},
        "system": "local",
        "partition": "host",
        "environ": "openmpi",
        "template": "local.sh.j2",
        "fs": {
            "name": "disk",
            "path": "/scratch/my files",
            "type": "tmpfs",
            "note": "this 'disk' is tmpfs, so memory",
            "create": True,
        },
        "environment": ["module load openmpi", "export OMPI_MCA_pml=ob1"],
        "before": ["echo before"],
        "after": ["echo after"],
        "programs": [
            {
                "path": "/opt/iokernel",
                "options": [
                    "s3d --grid 100x100x100",
                    "--method mpiio --mode collective",
                    '--dir "$run_dir"',
                    "--json result.json",
                ],
            }
        ],
        "job": {
            "processes": 4,
            "directives": [],
            "launcher": "mpiexec.openmpi -n 4 --bind-to none",
            "folder": "/stage",
        },
        **more,
    }


def test_the_local_script_is_the_one_that_was_agreed() -> None:
    assert render("local.sh.j2", values()) == (GOLDEN / "local.sh").read_text()


def script_in(folder: Path, body: str, environment: list[str] | None = None) -> Path:
    """A local script in `folder` whose program does `body`, on a file system in `folder`."""
    program = folder / "program.sh"
    program.write_text(f"#!/bin/bash\n{body}\n")
    program.chmod(0o755)
    fs = {"name": "disk", "path": str(folder / "it's a disk"), "type": "ext4", "note": ""}
    text = render(
        "local.sh.j2",
        values(
            fs={**fs, "create": True},
            environment=environment or [],
            before=[],
            after=[],
            programs=[{"path": str(program), "options": ['"$run_dir"']}],
            job={"processes": 1, "directives": [], "launcher": "env -- X=1", "folder": "/stage"},
        ),
    )
    script = folder / "stage" / "rfm_job.sh"
    script.parent.mkdir()
    script.write_text(text)
    script.chmod(0o755)
    return script


def left_on_the_file_system(folder: Path) -> list[Path]:
    return list((folder / "it's a disk").iterdir())


@pytest.mark.parametrize("status", [0, 7])
def test_the_script_ends_as_its_program_does_and_cleans_up(tmp_path: Path, status: int) -> None:
    body = f'test -d "$1" && echo "$1" > "{tmp_path}/seen" && touch "$1/data"; exit {status}'
    script = script_in(tmp_path, body)
    done = subprocess.run([script], cwd="/", check=False)
    assert done.returncode == status
    assert (script.parent / "exit_status").read_text() == f"{status}\n"
    assert (tmp_path / "seen").read_text().startswith(str(tmp_path / "it's a disk" / "iogauge."))
    assert left_on_the_file_system(tmp_path) == []


def test_two_runs_at_once_have_folders_of_their_own(tmp_path: Path) -> None:
    script = script_in(tmp_path, f'echo "$1" >> "{tmp_path}/seen"; sleep 0.3')
    runs = [subprocess.Popen([script]) for _ in range(2)]
    assert [run.wait() for run in runs] == [0, 0]
    assert len(set((tmp_path / "seen").read_text().split("\n")[:2])) == 2


def test_a_terminated_job_cleans_up_and_says_so(tmp_path: Path) -> None:
    script = script_in(tmp_path, f'touch "$1/data" "{tmp_path}/started"; sleep 60')
    job = subprocess.Popen([script], start_new_session=True)
    while not (tmp_path / "started").exists():
        time.sleep(0.01)
    # As ReFrame's local scheduler ends a job: all processes of its session.
    os.killpg(job.pid, signal.SIGTERM)
    assert job.wait(timeout=10) == 128 + signal.SIGTERM
    assert (script.parent / "exit_status").read_text() == "143\n"
    assert left_on_the_file_system(tmp_path) == []


def test_a_failing_environment_stops_the_job(tmp_path: Path) -> None:
    script = script_in(tmp_path, f'touch "{tmp_path}/started"', environment=["false"])
    assert subprocess.run([script], check=False).returncode == 1
    assert (script.parent / "exit_status").read_text() == "1\n"
    assert not (tmp_path / "started").exists()


def test_a_missing_variable_is_named_with_template_and_line(tmp_path: Path) -> None:
    (tmp_path / "job.sh.j2").write_text("#!/bin/bash\n\necho {{ fs.path }}\necho {{ fs.stripe }}\n")
    with pytest.raises(TemplateProblem) as caught:
        render("job.sh.j2", values(), tmp_path)
    assert str(caught.value).startswith("job.sh.j2, line 4: ")
    assert "'stripe'" in str(caught.value)


def test_an_error_in_an_included_template_names_that_template(tmp_path: Path) -> None:
    (tmp_path / "job.sh.j2").write_text('#!/bin/bash\n{% include "part.sh.j2" %}\n')
    (tmp_path / "part.sh.j2").write_text("\n{{ nothing }}\n")
    with pytest.raises(TemplateProblem, match=r"part\.sh\.j2, line 2: 'nothing' is undefined"):
        render("job.sh.j2", values(), tmp_path)


def test_wrong_syntax_is_named_with_template_and_line(tmp_path: Path) -> None:
    (tmp_path / "job.sh.j2").write_text("#!/bin/bash\n{% if %}\n")
    with pytest.raises(TemplateProblem, match=r"job\.sh\.j2, line 2: "):
        render("job.sh.j2", values(), tmp_path)


def test_a_missing_template_is_named() -> None:
    with pytest.raises(TemplateProblem, match=r"nosuch\.sh\.j2"):
        render("nosuch.sh.j2", values())


def test_a_site_overrides_one_block_and_keeps_the_rest(tmp_path: Path) -> None:
    templates = Path(__file__).parents[1] / "templates"
    for template in templates.glob("*.j2"):
        (tmp_path / template.name).write_text(template.read_text())
    own = tmp_path / "sites" / "dawn" / "local.sh.j2"
    own.parent.mkdir(parents=True)
    own.write_text(
        '{% extends "local.sh.j2" %}\n{% block stripe %}\nlfs setstripe "$run_dir"\n'
        "{% endblock stripe %}\n"
    )
    assert template_for("local.sh.j2", "dusk", tmp_path) == "local.sh.j2"
    name = template_for("local.sh.j2", "dawn", tmp_path)
    plain = (GOLDEN / "local.sh").read_text().splitlines()
    sites = render(name, values(), tmp_path).splitlines()
    assert [line for line in sites if line not in plain] == ['lfs setstripe "$run_dir"']
    assert sites.index('lfs setstripe "$run_dir"') < sites.index("echo before")
    assert [line for line in plain if line not in sites] == []
