# SPDX-License-Identifier: BSD-3-Clause
"""Nothing that a site file says runs as a command: it is refused, or it is a word of the script."""

from __future__ import annotations

import copy
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from iogauge.common.hints import sort_hints
from reframe_tests.jobs import shell
from reframe_tests.jobs.render import TemplateProblem, render
from reframe_tests.jobs.schedulers import NAMES
from site_configs.support import check
from tests.reframe_session import ROOT, Session, reframe
from tests.reframe_tests.test_templates import job, values
from tests.site_configs.test_site_input import site_of

SITE = ROOT / "tests" / "canary_site.py"
COMMAND = "touch ran"
WORDS = f"x\"; {COMMAND}; ' ; {COMMAND} & $({COMMAND}) `{COMMAND}` #"
EVIL = f"{WORDS}\n{COMMAND}\nEND\n{COMMAND}\r{COMMAND}"
TEMPLATES = ("local", "slurm", "pbs", "torque", "cobalt", "loadleveler")
STRIPING = {
    "lustre": {"kind": "lustre", "count": 4, "size": "1M", "own": 1},
    "pvfs2": {"kind": "pvfs2", "count": 4, "size": "64k"},
    "ceph": {"kind": "ceph", "count": 4, "size": "64k"},
}
# The commands of scripts, as nothing.
STANDINS = ("lfs", "setfattr", "getfattr", "pvfs2-viewdist", "mpiexec")


def ran(folder: Path) -> bool:
    return any(path.name == "ran" for path in folder.rglob("*"))


def script_values(folder: Path, form: str, kind: str, hints: dict[str, str]) -> dict[str, Any]:
    disk = {**values()["fs"], "path": str(folder / "disk"), "striping": STRIPING[kind]}
    return values(
        fs=disk,
        hints={"form": form, **vars(sort_hints({"cb_nodes": "2", "BGLMPIO_COMM": "1", **hints}))},
        environment=[],
        before=[],
        after=[],
        programs=[{"path": "true", "options": []}],
        job=job(folder=str(folder), launcher="mpiexec", options=["-q long", "model=ivy"]),
    )


# What of a script's values comes from a site file.
PLACES = [
    *(("fs", key) for key in ("name", "path", "type", "note", "published_peak")),
    *(("fs", "striping", key) for key in ("kind", "count", "size")),
    *(("system",), ("partition",), ("environ",), ("test", "name")),
    *(("job", "options", 0), ("job", "options", 1), ("job", "job_type")),
    *(("hints", "mpi", "cb_nodes"), ("hints", "environment", "BGLMPIO_COMM")),
]


def poisoned(given: dict[str, Any], path: tuple[Any, ...], word: str = EVIL) -> dict[str, Any]:
    """A copy in which one value is `word`."""
    found = copy.deepcopy(given)
    inner: Any = found
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = word
    return found


@pytest.mark.parametrize("template", TEMPLATES)
def test_no_value_of_a_script_is_a_command(template: str, tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in STANDINS:
        (tools / name).write_text("#!/bin/bash\nexit 0\n")
        (tools / name).chmod(0o755)
    cases = []
    for form, kind in (("options", "lustre"), ("ior", "pvfs2"), ("romio", "lustre")):
        given = script_values(tmp_path, form, kind, {})
        render(f"{template}.sh.j2", given)  # what is refused below is refused for its poison
        first = form == "options"
        cases += [
            poisoned(given, path) for path in PLACES if first or "mpi" in path or len(path) == 3
        ]
        cases += [
            script_values(tmp_path, form, kind, {key: "1"}) for key in (EVIL, f"BGLMPIO_{EVIL}")
        ]
    rendered = 0
    for case in cases:
        try:
            text = render(f"{template}.sh.j2", case)
        except TemplateProblem:
            continue
        rendered += 1
        script = tmp_path / "job.sh"
        script.write_text(text)
        subprocess.run(["bash", "-n", script], check=True)
        path = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"}
        subprocess.run(["bash", script], cwd=tmp_path, env=path, capture_output=True, check=False)
        assert not ran(tmp_path), text
    assert rendered >= 12


@pytest.mark.parametrize(
    "text", [EVIL, "$(touch ran)", "a\\$(touch ran)", "${x:-$(touch ran)}", '"']
)
def test_a_variables_value_is_no_command(text: str, tmp_path: Path) -> None:
    done = subprocess.run(
        ["bash", "-c", f"export X={shell.assigned(text)}; printf %s \"$X\""],
        cwd=tmp_path, capture_output=True, check=True,
    )  # fmt: skip
    assert not ran(tmp_path)
    assert done.stdout.decode() == text
    home = subprocess.run(
        ["bash", "-c", f"HOME=/h; echo {shell.assigned('$HOME/a b:${HOME}')}"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert home.stdout == "/h/a b:/h\n"


def full_site(scheduler: str) -> dict[str, Any]:
    disk = {
        "path": "/disk", "type": "ext4", "note": "a note", "prefix": "ufs:",
        "hints": {"cb_nodes": "4"}, "hints_where": [{"hints": {"a": "b"}, "patterns": ["s3d"]}],
        "striping": {"kind": "lustre", "count": "4", "size": "1M"},
        "published_peak": {"value": 1, "source": "a page"},
    }  # fmt: skip
    site = site_of(
        scheduler=scheduler, access=["-q long"], env_vars=[["A", "b"]],
        extras={"job_type": "parallel", "filesystems": {"disk": disk}},
    )  # fmt: skip
    site["environments"][0] |= {
        "env_vars": [["C", "d"]],
        "extras": {"launcher": {"command": "mpiexec", "options": ["-l"]}, "darshan": "/d"},
    }
    return site


def texts(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], bool]]:
    """Places of all texts, and of all keys that are names (True)."""
    if isinstance(value, str):
        yield path, False
    if not isinstance(value, dict | list):
        return
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        if path[-1:] in (("hints",), ("filesystems",)):
            yield (*path, key), True
        yield from texts(inner, (*path, key))


@pytest.mark.parametrize("scheduler", NAMES)
def test_a_line_break_in_any_text_of_a_site_is_refused(scheduler: str) -> None:
    site = full_site(scheduler)
    assert list(check.problems(site)) == []
    places = list(texts(site))
    assert len(places) > 20
    for path, is_key in places:
        wrong = copy.deepcopy(site)
        inner: Any = wrong
        for key in path[:-1]:
            inner = inner[key]
        if is_key:
            inner[EVIL] = inner.pop(path[-1])
        else:
            inner[path[-1]] = EVIL
        found = list(check.problems(wrong))
        assert found, path
        assert all("\n" not in problem for problem in found), found


@pytest.mark.parametrize("value", ["$(touch ran)", "`touch ran`", "a\nb"])
def test_commands_in_env_vars_are_refused(value: str) -> None:
    (problem,) = check.problems(site_of(env_vars=[["A", value]]))
    assert problem.startswith("dawn:batch.env_vars.0.1: ")
    assert "commands stand in prepare_cmds" in problem


def canary_session(system: str, folder: Path, *options: str) -> Session:
    shutil.rmtree(folder / "disks", ignore_errors=True)
    (folder / "disks").mkdir()
    return reframe(
        folder / "out put",
        *("--system", system, "-t", "smoke", "-n", "S3d.*call=mpiio:collective", *options),
        config=SITE,
        tests="s3d.py",
        environment={**os.environ, "IOGAUGE_CANARY": str(folder / "disks")},
    )


@pytest.mark.sampled(2)
@pytest.mark.parametrize("scheduler", NAMES)
def test_scripts_of_all_schedulers_hold_words_and_no_commands(
    scheduler: str, tmp_path: Path
) -> None:
    session = canary_session(scheduler.partition(".")[0], tmp_path, "--dry-run")
    assert session.status == 0, session.text
    found = session.scripts()
    assert found, session.text
    for script in session.output.glob("stage/*/*/*/*/*/rfm_job.sh"):
        subprocess.run(["bash", "-n", script], check=True)
        code = re.sub(r"^#.*$", "", script.read_text(), flags=re.MULTILINE)
        assert script not in found or "touch ran" in code
    assert not ran(tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("mpicc.mpich"), reason="mpicc.mpich is missing: make setup")
def test_the_local_one_runs_and_makes_nothing_else(tmp_path: Path) -> None:
    """In a folder with a blank in its name, too."""
    more = ("-S", "repeats=1", "-S", "unknown_hints=pass")  # `canary` is no library's
    session = canary_session("local", tmp_path, "-r", *more)
    assert session.status == 0, session.text
    assert not ran(tmp_path)
