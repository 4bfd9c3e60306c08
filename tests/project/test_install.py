# SPDX-License-Identifier: BSD-3-Clause
"""`pip install .`: the wheel holds all that measures and reads, and works in another folder."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import iogauge
from iogauge.cli import doctor, table
from iogauge.common import paths
from tests.analysis_recorded import ROOT

DATA = ROOT / "tests" / "data" / "session"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What pip would put into site-packages. Its dependencies are this Python's."""
    folder = tmp_path_factory.mktemp("installed")
    tree = folder / "tree"
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.split("\0")  # fmt: skip
    for name in filter(None, listed):
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tree / name)
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (wheel,) = folder.glob("*.whl")
    assert wheel.name.startswith(f"iogauge-{iogauge.version()}-")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site-packages")
    return folder / "site-packages"


def run(
    installed: Path, cwd: Path, *words: str, hidden: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """The command `iogauge`, as its entry point starts it. `hidden`: modules instead of others."""
    start = "import sys; sys.argv[0] = 'iogauge'; from iogauge.cli.main import main; "
    environment = {
        **os.environ,
        "PYTHONPATH": f"{hidden or installed}:{installed}",
        "PYTHONSAFEPATH": "1",
    }
    for name in ("IOGAUGE_OUTPUT", "IOGAUGE_TEMPLATES", "IOGAUGE_REFERENCES"):
        environment.pop(name, None)
    environment["XDG_CACHE_HOME"] = str(installed.parent / "cache")
    environment["IOGAUGE_NO_LOCK"] = "1"  # nothing is measured
    return subprocess.run(
        [sys.executable, "-c", f"{start}sys.exit(main())", *words],
        cwd=cwd, env=environment, capture_output=True, text=True,
    )  # fmt: skip


def test_the_command_is_named(installed: Path) -> None:
    (entry,) = installed.glob("*.dist-info/entry_points.txt")
    assert "iogauge = iogauge.cli.main:main" in entry.read_text()
    licences = list(installed.glob("*.dist-info/licenses/LICENSE"))
    assert licences, "the licence comes with the package"
    assert {path.name for path in installed.iterdir() if path.is_dir()} == {
        "iogauge", f"iogauge-{iogauge.version()}.dist-info",
    }  # fmt: skip


def test_it_says_its_version_and_its_own_name(installed: Path, tmp_path: Path) -> None:
    assert run(installed, tmp_path, "--version").stdout == f"iogauge {iogauge.version()}\n"
    told = run(installed, tmp_path, "--help").stdout
    assert "iogauge help VERB" in told and "python -m" not in told


@pytest.mark.slow
def test_a_recorded_session_in_another_folder(installed: Path, tmp_path: Path) -> None:
    """Copied with another name for its output folder; all that is made stays in this folder."""
    shutil.copytree(DATA / "results", tmp_path / "output")
    done = run(installed, tmp_path, "summary", "--json")
    found = json.loads(done.stdout)
    verified = [row for row in found["rows"] if row["verdict"] == "verified"]
    assert len(verified) == found["counts"]["verified"] > 10, done.stderr
    done = run(installed, tmp_path, "report")
    assert (tmp_path / "output" / "report.html").is_file(), done.stderr
    done = run(installed, tmp_path, "claims", "C11", "--json")
    assert json.loads(done.stdout)[0]["claim"] == "C11", done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"output"}


@pytest.mark.slow
def test_without_the_extra_the_page_has_no_charts_and_says_so(
    installed: Path, tmp_path: Path
) -> None:
    """What only draws charts is the extra `charts`: `iogauge run` ends well without it."""
    results = ROOT / "tests" / "data" / "session-all" / "results"  # with scaling, published numbers
    shutil.copytree(results, tmp_path / "output")
    (hidden := tmp_path / "hidden").mkdir()
    for name in ("altair", "vl_convert"):
        (hidden / f"{name}.py").write_text(f"raise ModuleNotFoundError(name={name!r})\n")
    done = run(installed, tmp_path, "report", hidden=hidden)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "output" / "report.html").read_text()
    assert "For a chart here: pip install" in page and "<figcaption>Points" not in page
    done = run(installed, tmp_path, "summary", "--png", "bars.png", hidden=hidden)
    assert done.returncode == 2 and "pip install altair vl-convert-python" in done.stderr


def test_what_sets_up_stacks_says_that_it_needs_a_checkout(installed: Path, tmp_path: Path) -> None:
    commands = [c.name for c in table.COMMANDS if c.in_checkout] + ["certify", "claims --run"]
    assert "stack add" in commands and "run" not in commands
    for command in commands:
        done = run(installed, tmp_path, *command.split())
        assert done.returncode == 3 and done.stderr.count("\n") == 1, done.stderr
        assert f"iogauge: {command} needs a checkout" in done.stderr


def test_the_doctor_asks_for_no_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """`pip install` leaves charts out, and runs do without."""
    lost: set[str] = set()
    monkeypatch.setattr(
        doctor.metadata, "distributions", lambda name: [] if name in lost else [name]
    )
    for missing, stops in ((["altair", "vl-convert-python"], False), (["duckdb"], True)):
        lost = set(missing)
        (line,) = doctor._python()
        assert line.stops == stops, line


# Only a checkout has these; `make`'s targets are its Makefile's.
ITS_OWN = re.compile(
    r"\bmake (?:setup|run|test|docs|spack|help)\b|\.venv|\b(?:environments|tools|tests)/"
)
# Messages of commands that say at once that they need a checkout, or that say where it is.
MAY_NAME_THEM = {
    "iogauge/cli/stack.py": "stack check",
    "iogauge/common/paths.py": "IN_CHECKOUT",
    "iogauge/cli/doctor.py": "MPI",
}


def texts(path: Path) -> list[str]:
    """A file's strings, without those that document it."""
    tree = ast.parse(path.read_text())
    said = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    strings = (node for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return [one.value for one in strings if isinstance(one.value, str) and id(one) not in said]


def test_no_message_names_what_only_a_checkout_has(installed: Path, tmp_path: Path) -> None:
    """Of the stacks' needs `site_configs.support.debian.need` says what is right for a package."""
    source = installed / "iogauge" / "source"
    places = [installed / "iogauge", source / "reframe_tests"]
    found = {
        str(path.relative_to(source if source in path.parents else installed))
        for place in places
        for path in place.rglob("*.py")
        if "site_configs" not in path.parts and any(map(ITS_OWN.search, texts(path)))
    }
    assert found == set(MAY_NAME_THEM)
    code = """
from iogauge.common import paths
from iogauge.cli import doctor
from site_configs.support import chosen
print(paths.SET_UP, doctor.MPI)
for name in ("openmpi", "mpich", "trixie-openmpi", "trixie-mpich", "wheel:mpich==5.0.2",
             "abi:mpich==5.0.2", "standard:mpich==5.0.2", "standard:sid-openmpi"):
    for needs in chosen.stack(name)["extras"]["needs"].values():
        print(*(need["from"] for need in needs))
"""
    told = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path, env={"PYTHONPATH": f"{installed}:{source}", "PYTHONSAFEPATH": "1"},
        capture_output=True, text=True,
    )  # fmt: skip
    assert "iogauge site new" in told.stdout, told.stderr
    assert ITS_OWN.findall(told.stdout) == []


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("mpicc"), reason="mpicc is missing")
def test_it_renders_jobs_of_a_site_file_of_its_own(installed: Path, tmp_path: Path) -> None:
    """Tests, templates, site files and the kernels' tables come along; ReFrame finds them."""
    done = run(installed, tmp_path, "site", "new", "mine")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "mine.py").read_text()
    assert "import iogauge" in text
    done = run(installed, tmp_path, "site", "check", "mine.py")
    assert done.returncode == 0, done.stderr
    guesses = sum("# CHECK" in line for line in text.splitlines())
    assert f"\n{guesses} lines are still marked CHECK" in done.stdout
    words = ["-n", "S3d.*mpiio:collective", "--scale", "smoke", "--dry-run", "-o", "scripts"]
    done = run(installed, tmp_path, "run", *words)
    assert done.returncode == 0, done.stderr
    assert "iokernel" in next((tmp_path / "scripts").rglob("job.sh")).read_text()


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("mpicc"), reason="mpicc is missing")
def test_templates_and_references_of_a_site_are_where_one_stands(
    installed: Path, tmp_path: Path
) -> None:
    (elsewhere := tmp_path / "sites").mkdir()
    assert run(installed, elsewhere, "site", "new", "mine").returncode == 0
    found = re.search(r'"scheduler": "(\w+)\.j2"', (elsewhere / "mine.py").read_text())
    assert found
    (own := tmp_path / "templates" / "sites" / "mine").mkdir(parents=True)
    block = "{% block stripe %}\n: of mine\n{% endblock stripe %}\n"
    (own / f"{found[1]}.sh.j2").write_text(f'{{% extends "{found[1]}.sh.j2" %}}\n{block}')
    words = ["-n", "S3d.*mpiio:collective", "--scale", "smoke", "--dry-run", "-o", "scripts"]
    done = run(installed, tmp_path, "run", "--site", "sites/mine.py", *words)
    assert done.returncode == 0, done.stderr
    assert "\n: of mine\n" in next((tmp_path / "scripts").rglob("job.sh")).read_text()
    code = "from iogauge.analysis.judge import references; print(references.SITES)"
    told = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path, env={"PYTHONPATH": str(installed), "PYTHONSAFEPATH": "1"},
        capture_output=True, text=True,
    )  # fmt: skip
    assert told.stdout == f"{tmp_path / 'references'}\n", told.stderr


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("mpicc"), reason="mpicc is missing")
def test_a_session_leaves_its_files_where_one_stands(installed: Path, tmp_path: Path) -> None:
    """ReFrame loads a site file in that file's folder, which for an installed one is no place for
    results."""
    listed = run(installed, tmp_path, "run", "-n", "S3d", "--scale", "smoke", "--", "-l")
    assert listed.returncode == 0 and "- S3d " in listed.stdout, listed.stdout + listed.stderr
    (log := tmp_path / "output" / "reframe.log").unlink()
    done = run(installed, tmp_path, "run", "-n", "NoSuchTest")
    assert done.returncode == 2 and log.is_file(), done.stdout + done.stderr
    assert not list(installed.rglob("output"))


def test_without_a_session_it_says_where_it_looked(installed: Path, tmp_path: Path) -> None:
    done = run(installed, tmp_path, "summary")
    assert done.returncode == 3 and done.stderr.count("\n") == 1
    assert "output" in done.stderr


def test_each_table_that_is_read_comes_along(installed: Path) -> None:
    for path in paths.KERNELS.rglob("*.def"):
        there = installed / "iogauge" / "source" / "kernels" / path.relative_to(paths.KERNELS)
        assert there.read_text() == path.read_text()
