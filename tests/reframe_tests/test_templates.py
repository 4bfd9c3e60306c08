# SPDX-License-Identifier: BSD-3-Clause
"""Job scripts: what a template gives, what the script does, and how a template's errors read."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from iogauge.common.hints import sort_hints
from reframe_tests.jobs.render import TemplateProblem, render, template_for

GOLDEN = Path(__file__).parents[1] / "golden"


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
            "striping": None,
            "published_peak": "36000 MB/s (NERSC, 2013)",
        },
        "hints": hints(),
        "environment": ["module load openmpi", "export OMPI_MCA_pml=ob1"],
        "before": ["echo before"],
        "after": ["echo after"],
        "trace": None,
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
        "job": job(),
        **more,
    }


def hints(form: str = "options", **of_run: str) -> dict[str, Any]:
    """A run's hints, as a test hands them over."""
    return {"form": form, **asdict(sort_hints(of_run))}


def job(**more: Any) -> dict[str, Any]:
    """What a job hands to a template."""
    return {
        "name": "rfm_S3d_0d1a48dc",
        "processes": 4,
        "processes_per_node": 4,
        "full_nodes": 1,
        "rest": 0,
        "nodes": 1,
        "block": 1,
        "job_type": "parallel",
        "cores_per_process": 1,
        "exclusive": False,
        "memory": 0,
        "time_limit": 600.0,
        "options": [],
        "directives": [],
        "launcher": "mpiexec.openmpi -n 4 --bind-to none",
        "stdout": "rfm_job.out",
        "stderr": "rfm_job.err",
        "folder": "/stage",
        **more,
    }


def test_the_local_script_is_the_one_that_was_agreed() -> None:
    assert render("local.sh.j2", values()) == (GOLDEN / "local.sh").read_text()


LUSTRE = {"kind": "lustre", "count": 96, "own": 1, "size": "1M"}
PVFS2 = {"kind": "pvfs2", "count": 8, "size": "64k"}
CEPH = {"kind": "ceph", "count": 3, "size": "64k"}
GPFS = {"kind": "gpfs"}
UNEVEN: dict[str, Any] = {
    "processes": 10,
    "processes_per_node": 4,
    "full_nodes": 2,
    "rest": 2,
    "nodes": 3,
}


def on(scheduler: str, striping: dict[str, Any] | None = None, **of_job: Any) -> str:
    """The script of a scheduler's template."""
    fs = {**values()["fs"], "create": False, "striping": striping}
    name = f"{scheduler}.sh.j2"
    return render(name, values(template=name, fs=fs, job=job(**of_job)))


# name of the golden script -> the script; one for each feature of the templates
FEATURES = {
    # `access` and test options, a directive of another tool, Lustre
    "slurm": lambda: on(
        "slurm", LUSTRE, options=["-C knl", "#DW jobdw"], exclusive=True, launcher="srun", **UNEVEN
    ),
    # a last node with fewer processes, all memory, a resource of the chunks, PVFS2
    "pbs": lambda: on(
        "pbs",
        PVFS2,
        options=["-q long", "model=ivy"],
        exclusive=True,
        memory=1024,
        launcher="mpiexec_mpt -np 10",
        **UNEVEN,
    ),
    # another resource of the chunks, whole nodes in Torque's way, CephFS
    "torque": lambda: on(
        "torque",
        CEPH,
        options=["-q long", "ib"],
        exclusive=True,
        launcher="mpiexec -n 10",
        **UNEVEN,
    ),
    # a block that is larger than the job needs, runjob, GPFS
    "cobalt": lambda: on(
        "cobalt",
        GPFS,
        block=128,
        launcher='runjob --np 10 --ranks-per-node 4 --block "$COBALT_PARTNAME" :',
        options=["-A project", "-q default"],
        **UNEVEN,
    ),
    # Blue Gene/P and Power6
    "loadleveler-bluegene": lambda: on(
        "loadleveler",
        GPFS,
        block=64,
        job_type="bluegene",
        launcher="mpirun -mode VN -np 10",
        options=["bg_connection = PREFER_TORUS"],
        **UNEVEN,
    ),
    "loadleveler": lambda: on("loadleveler", launcher="poe", options=["class = c"], **UNEVEN),
}


@pytest.mark.parametrize("name", FEATURES)
def test_scripts_are_those_that_were_agreed(name: str, tmp_path: Path) -> None:
    text = FEATURES[name]()
    assert text == (GOLDEN / f"{name}.sh").read_text()
    script = tmp_path / "script"
    script.write_text(text)
    subprocess.run(["bash", "-n", script], check=True)


DIRECTIVES = {
    "slurm": "#SBATCH",
    "pbs": "#PBS",
    "torque": "#PBS",
    "cobalt": "#COBALT",
    "loadleveler": "# @",
}


@pytest.mark.parametrize("name", FEATURES)
def test_directives_come_before_anything_that_runs(name: str) -> None:
    """All of these schedulers stop reading directives at the first command."""
    mark = DIRECTIVES[name.partition("-")[0]]
    lines = FEATURES[name]().splitlines()
    directives = [n for n, line in enumerate(lines) if line.startswith(mark)]
    commands = [n for n, line in enumerate(lines) if line and not line.startswith("#")]
    assert lines[0] == "#!/bin/bash"
    assert directives[0] == 1
    assert directives[-1] < commands[0]
    if mark == "#COBALT":
        assert directives == list(range(1, 1 + len(directives)))
    if mark == "# @":
        assert lines[directives[-1]] == "# @ queue"


def test_one_node_that_is_not_full_is_the_only_chunk() -> None:
    few: dict[str, Any] = {
        "processes": 3,
        "processes_per_node": 4,
        "full_nodes": 0,
        "rest": 3,
        "nodes": 1,
    }
    assert "#PBS -l select=1:ncpus=3:mpiprocs=3\n" in on("pbs", **few)
    assert "place=" not in on("pbs", **few)
    assert "#PBS -l nodes=1:ppn=3\n" in on("torque", **few)


def test_pbs_gives_each_node_its_share() -> None:
    """Without `place` both chunks come from one node that has room; the first one counts."""
    places = [
        re.findall(r"^#PBS -l (place=.*)$", on("pbs", **UNEVEN, **more), re.MULTILINE)
        for more in ({}, {"exclusive": True}, {"options": ["-l place=pack"]})
    ]
    assert places == [["place=scatter"], ["place=scatter:excl"], ["place=pack"]]
    assert "#PBS -l place=pack:excl\n" in on("pbs", exclusive=True)
    assert "# @ node_usage = not_shared\n" in on("loadleveler", exclusive=True)


@pytest.mark.parametrize(
    ("exclusive", "own", "asked"),
    [
        (False, [], 0),
        (True, [], 1),
        (True, ["-l naccesspolicy=singleuser"], 0),
        (True, ["-W x=NACCESSPOLICY:SINGLEUSER"], 0),
    ],
)
def test_torque_gives_whole_nodes(exclusive: bool, own: list[str], asked: int) -> None:
    """`place` is PBS Professional's. What the site asks for itself stays alone."""
    text = on("torque", exclusive=exclusive, options=own, **UNEVEN)
    assert text.count("#PBS -l naccesspolicy=singlejob\n") == asked
    assert "place=" not in text and all(f"#PBS {option}\n" in text for option in own)


def script_in(folder: Path, body: str, environment: list[str] | None = None) -> Path:
    """A local script in `folder` whose program does `body`, on a file system in `folder`."""
    program = folder / "program.sh"
    program.write_text(f"#!/bin/bash\n{body}\n")
    program.chmod(0o755)
    fs = {"name": "disk", "path": str(folder / "it's a disk"), "type": "ext4", "note": "",
          "striping": None, "published_peak": ""}  # fmt: skip
    text = render(
        "local.sh.j2",
        values(
            fs={**fs, "create": True},
            environment=environment or [],
            before=[],
            after=[],
            programs=[{"path": str(program), "options": ['"$run_dir"']}],
            job=job(processes=1, launcher="env -- X=1"),
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
    assert job.wait() == 128 + signal.SIGTERM
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


OF_TWO_KINDS = {
    "romio_cb_write": "enable",
    "cb_config_list": "*:1",
    "io_ompio_grouping_option": "5",
}


def test_a_run_without_hints_says_nothing_of_them() -> None:
    assert "hint" not in render("local.sh.j2", values())


@pytest.mark.parametrize(
    ("form", "lines"),
    [
        (
            "options",
            "hints=(\n    --hint romio_cb_write=enable\n    --hint 'cb_config_list=*:1'\n)\n",
        ),
        (
            "ior",
            "export IOR_HINT__MPI__romio_cb_write=enable\n"
            "export IOR_HINT__MPI__cb_config_list='*:1'\n",
        ),
        (
            "romio",
            "cat > hints.txt <<'END'\nromio_cb_write enable\ncb_config_list *:1\nEND\n"
            'export ROMIO_HINTS="$PWD/hints.txt"\n',
        ),
    ],
)
def test_hints_stand_in_the_script_in_the_form_that_the_program_takes(
    form: str, lines: str
) -> None:
    text = render("local.sh.j2", values(hints=hints(form, **OF_TWO_KINDS)))
    assert "export OMPI_MCA_io_ompio_grouping_option=5\n" in text
    assert lines in text
    assert text.count("romio_cb_write") == 1
    assert text.index(lines) < text.index("mpiexec")


def test_a_site_overrides_the_hints(tmp_path: Path) -> None:
    shutil.copytree(Path(__file__).parents[2] / "templates", tmp_path, dirs_exist_ok=True)
    own = tmp_path / "sites" / "dawn" / "local.sh.j2"
    own.parent.mkdir(parents=True)
    own.write_text(
        '{% extends "local.sh.j2" %}\n{% block hints %}\n{% include "hints/romio.sh.j2" %}\n'
        "{% endblock hints %}\n"
    )
    text = render("sites/dawn/local.sh.j2", values(hints=hints(**OF_TWO_KINDS)), tmp_path)
    assert "export ROMIO_HINTS=" in text
    assert "--hint" not in text


def test_a_site_overrides_one_block_and_keeps_the_rest(tmp_path: Path) -> None:
    templates = Path(__file__).parents[2] / "templates"
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
