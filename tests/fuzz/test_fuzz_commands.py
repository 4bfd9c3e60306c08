# SPDX-License-Identifier: BSD-3-Clause
"""Command lines and environments, made at random: an answer or one line, an exit status that is
documented, and no file elsewhere. iokernel is built with sanitizers for this."""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from hypothesis import strategies as st

from iogauge.cli.main import main
from iogauge.cli.table import COMMANDS, OLD
from iogauge.common import tables, text
from iogauge.measure import kernels
from tests.analysis_recorded import Recorded
from tests.fuzz.cases import fuzz

ROOT = Path(__file__).resolve().parents[2]
# As `make test-sanitizers` builds it, so that CI builds it once.
BUILD = ROOT / ".local" / "build" / "test-sanitize"
ARGUMENTS = ("-DIOKERNEL_WERROR=ON", "-DIOKERNEL_SANITIZE=ON", "-DIOKERNEL_TEST_PROCESSES=1;2")

NUMBERS = (
    "0",
    "1",
    "-1",
    "2",
    "3",
    "64",
    "1k",
    "1m",
    "-4k",
    "9" * 18,
    "9" * 19,
    "9" * 20,
    "9" * 400,
    "18446744073709551616",
    "9223372036854775807",
    "4294967296",
    "1e3",
    "0x10",
    "nan",
    "inf",
    "1t",
    "9999999t",
    "",
    " ",
    "+1",
    "1.5",
    "0.0001",
)


def _options() -> list[str]:
    """All that --help names, without those that write elsewhere or depend on the machine's load."""
    found = set(re.findall(r"^  (-{1,2}[A-Za-z][\w-]*)", _help(), re.MULTILINE))
    return sorted(found - {"--json", "--dir", "-o", "--start-limit"})


def _help() -> str:
    kernels.build("openmpi", BUILD, *ARGUMENTS)
    done = subprocess.run(
        [BUILD / "iokernel", "--help"], capture_output=True, text=True, check=True, env=ENVIRONMENT
    )
    return done.stdout


ENVIRONMENT = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1"}
SIZES = st.sampled_from(NUMBERS) | st.integers().map(str)
GRIDS = st.lists(SIZES, min_size=1, max_size=4).map("x".join)
NAMES = st.sampled_from(
    [name for what in tables.REGISTRIES for name in tables.names(what)]
    + [
        "bogus",
        "",
        "%s%n",
        "x" * 5000,
        "\x1b[2J",
        "cb_nodes=2",
        "cb_buffer_size=0",
        "=",
        "a=",
        "altix",
        "float64",
        "level-major",
        "process-major",
        "reused",
        "zero-copy",
        "copy",
        "/",
        "-",
    ]
)
VALUES = (
    SIZES
    | GRIDS
    | NAMES
    | st.text(
        alphabet=st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8
    )
)


@pytest.fixture(scope="module")
def options() -> list[str]:
    found = _options()
    assert len(found) > 30
    return found


@pytest.mark.slow  # builds the kernels with sanitizers
@fuzz("iokernel: options", 0.01, 20, data=st.data())
def test_options_of_iokernel(options: list[str], data: st.DataObject) -> None:
    words = [data.draw(st.sampled_from(tables.names("patterns")) | VALUES)]
    words += ["--method", data.draw(st.sampled_from(tables.names("methods")) | VALUES)]
    for _ in range(data.draw(st.integers(0, 6))):
        words.append(data.draw(st.sampled_from(options)))
        if data.draw(st.booleans()):
            words.append(data.draw(VALUES))
    # Without a run: --plan reads all options, and computes all sizes with them.
    words.append(data.draw(st.sampled_from(("--plan", "--plan", "--plan", "--list", "--help"))))
    with tempfile.TemporaryDirectory(prefix="iogauge-fuzz-") as folder:
        done = subprocess.run(
            [BUILD / "iokernel", *words],
            capture_output=True,
            timeout=300,
            cwd=folder,
            check=False,
            env={**ENVIRONMENT, "OMPI_COMM_WORLD_RANK": "0"},
        )
        assert not list(Path(folder).iterdir())
    said = done.stderr.decode(errors="replace")
    assert "Sanitizer" not in said, said
    assert "runtime error" not in said, said
    assert done.returncode in (0, 1, 2), said
    if done.returncode:
        assert said.startswith("iokernel: error: "), said
        assert not re.search("[\x00-\x1f\x7f-\x9f]", said.removesuffix("\n")), said


# ---------------------------------------------------------------- the analysis

FLAGS = (
    "--json",
    "--csv",
    "--where",
    "--store",
    "--output",
    "--html",
    "--png",
    "--tables",
    "--by",
    "--quantity",
    "--fail-slower",
    "--allow-undecided",
    "--margin",
    "--references",
    "--pattern",
    "--system",
    "--for",
    "--default",
    "--top",
    "--write",
    "--last",
    "--no-summary",
    "--help",
    "--version",
)
GIVEN = (
    "store",
    "report.json",
    "page.html",
    "folder",
    "last",
    "last~1",
    "last~99999999999999999999",
    "openmpi",
    "mpich",
    "peak",
    "published",
    "reference",
    "stack",
    "method",
    "session",
    "date",
    "2026-99-99..",
    "C1",
    "C5",
    "fs=ram",
    "pattern=s3d",
    "hints=",
    "=",
    "a=b",
    "'=1",
    "s3d",
    "local",
    "write_bw",
    "read",
    "5%",
    "-5",
    "nan",
    "'; DROP TABLE records; --",
    "x" * 300,
    "%s",
    "(",
    "[",
    "*",
    "\\",
    "\x1b[2J",
    "²",
)


@pytest.fixture(scope="module")
def stored() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="iogauge-fuzz-"))
    report = Recorded(folder / "recorded").report
    with redirect_stdout(io.StringIO()):
        assert main(["store", "add", str(report), "--store", str(folder / "store")]) == 0
    shutil.copy(report, folder / "report.json")
    yield folder
    shutil.rmtree(folder)


@contextmanager
def inside(folder: Path) -> Iterator[None]:
    """Files of relative names are made there."""
    before = Path.cwd()
    os.chdir(folder)
    os.environ["IOGAUGE_OUTPUT"] = str(folder)
    try:
        yield
    finally:
        os.chdir(before)
        del os.environ["IOGAUGE_OUTPUT"]


# They measure, build, or ask the machine.
WORKING = {
    "run",
    "collect",
    "certify",
    "build",
    "doctor",
    "site new",
    "site check",
    "site list",
    "stack list",
}
READING = [one.name for one in COMMANDS if not one.in_checkout and one.name not in WORKING]
WORDS = st.lists(st.sampled_from(FLAGS) | st.sampled_from(GIVEN), max_size=7)


@fuzz(
    "iogauge: command lines",
    0.04,
    80,
    command=st.sampled_from([*READING, *OLD, "bogus"]),
    words=WORDS,
)
def test_command_lines_of_the_analysis(stored: Path, command: str, words: list[str]) -> None:
    if "--png" in words or "--html" in words or command in ("report", "trace"):
        words = [word for word in words if word not in ("--png", "--html")]
        words += ["--csv"] if command == "report" else []
    out, err = io.StringIO(), io.StringIO()
    try:
        with inside(stored), redirect_stdout(out), redirect_stderr(err):
            status = main([*command.split(), *words])
    except SystemExit as ended:  # as argparse ends
        status = int(ended.code or 0)
    said = err.getvalue()
    assert status in (0, 1, 2, 3), said
    assert "Traceback" not in said
    for one in (out.getvalue(), said):
        assert not text.CONTROL.search(one.replace("\n", "")), one[:500]
    if status == 3:
        assert said.splitlines()[-1].startswith(("iogauge: ", "gate ", "  ")), said


VARIABLES = (
    "IOGAUGE_OUTPUT",
    "IOGAUGE_STORE",
    "IOGAUGE_REFERENCES",
    "IOGAUGE_TEMPLATES",
    "IOGAUGE_ENVIRONMENTS",
    "COLUMNS",
    "TERM",
    "LANG",
    "LC_ALL",
    "NO_COLOR",
    "FORCE_COLOR",
    "TMPDIR",
    "HOME",
)
SETTINGS = st.sampled_from(GIVEN) | st.sampled_from(
    ("", " ", "a b", "C", "de_DE", "-1", "0", "/", "\n", "\udcff")
)


@pytest.mark.slow
@fuzz(
    "environment variables",
    0.0005,
    3,
    values=st.dictionaries(st.sampled_from(VARIABLES), SETTINGS, min_size=1, max_size=3),
)
def test_environments(stored: Path, values: dict[str, str]) -> None:
    for words in (["summary", "report.json"], ["compare", "openmpi", "mpich", "--by", "stack"]):
        done = subprocess.run(
            [sys.executable, "-m", "iogauge", *words],
            capture_output=True,
            cwd=stored,
            timeout=600,
            env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), **values},
            check=False,
        )
        said = done.stderr.decode(errors="replace")
        assert done.returncode in (0, 1, 2, 3), (values, said)
        assert "Traceback" not in said, (values, said)
