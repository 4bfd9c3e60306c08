# SPDX-License-Identifier: BSD-3-Clause
"""A failing case made small: over stand-ins, and the C program of recorded rounds."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iogauge.analysis.blame.accesses import MPIIO, WRITE
from iogauge.analysis.darshan.raw import CLOSE
from iogauge.analysis.errors import EXIT_DATA, UsageError
from iogauge.cli.main import main
from iogauge.common import processes
from iogauge.common.run_folder import JOB_SCRIPT
from iogauge.measure.iokernel import Stack
from iogauge.measure.shrink import program
from iogauge.measure.shrink.case import (
    RIGHT,
    CannotShrinkError,
    Failing,
    Runner,
    Tries,
    fewest,
    of_run,
    shrink,
    without_own,
)
from reframe_tests.machine import leftovers
from tests.analysis.blame.test_blame import Made

ROOT = Path(__file__).parents[2]
WORDS = ("s3d", "--grid", "64x64x32", "--fsync", "--hint", "cb_nodes=2", "--method", "mpiio")
GIVEN = Failing(16, WORDS, (("NEEDED", "2"), ("IDLE", "1")))


def silent(_line: str) -> None:
    pass


def needs(case: Failing) -> bool:
    """Three processes, 16 points along the first axis, the hint and one variable."""
    points = int(case.words[case.words.index("--grid") + 1].split("x")[0]) if _grid(case) else 0
    hint = "cb_nodes=2" in case.words
    return case.processes >= 3 and points >= 16 and hint and ("NEEDED", "2") in case.environment


def _grid(case: Failing) -> bool:
    return "--grid" in case.words


def test_only_what_the_failure_needs_is_left() -> None:
    tries = Tries(lambda case: "mismatch" if needs(case) else RIGHT, 1, silent)
    found = shrink(GIVEN, tries)
    assert found.processes == 3
    assert found.environment == (("NEEDED", "2"),)
    words = " ".join(found.words)
    assert words == "s3d --grid 16x1x1 --hint cb_nodes=2 --method mpiio"


def test_a_failure_by_chance_needs_tries() -> None:
    draw = random.Random(1)

    def end(case: Failing) -> str:
        return "mismatch" if needs(case) and draw.random() < 0.5 else RIGHT

    found = shrink(GIVEN, Tries(end, 20, silent))
    assert (found.processes, found.environment) == (3, (("NEEDED", "2"),))


def test_another_failure_is_not_the_one_looked_for() -> None:
    """What a pattern does not take is an error, and no smaller case."""

    def end(case: Failing) -> str:
        return "mismatch" if case.processes == 16 else "status 1"

    assert shrink(GIVEN, Tries(end, 3, silent)).processes == 16


def test_what_never_fails_is_not_shrunk() -> None:
    with pytest.raises(CannotShrinkError, match=r"no failure in 6 runs of "):
        shrink(GIVEN, Tries(lambda _: RIGHT, 2, silent))


def test_a_command_line_that_is_refused_is_not_shrunk(tmp_path: Path) -> None:
    """It has no failure to look for: the first run ends the search, with what iokernel said."""
    launcher, kernel = tmp_path / "launch", tmp_path / "kernel"
    launcher.write_text('#!/bin/sh\nshift 2; exec "$@"\n')
    kernel.write_text('#!/bin/sh\necho run >>"$0.runs"\necho "error: no pattern s4d" >&2\nexit 2\n')
    for path in (launcher, kernel):
        path.chmod(0o755)
    runner = Runner(Stack("", kernel, (str(launcher),)), tmp_path)
    with pytest.raises(UsageError, match="no pattern s4d"):
        shrink(GIVEN, Tries(runner.end, 6, silent))
    assert (tmp_path / "kernel.runs").read_text() == "run\n"


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 40), st.sets(st.integers(0, 39), min_size=1, max_size=5))
def test_fewest_leaves_what_is_needed_and_nothing_else(n: int, needed: set[int]) -> None:
    needed = {i % n for i in needed}
    assert fewest(range(n), lambda some: needed <= set(some)) == sorted(needed)


def test_a_run_that_a_program_makes(tmp_path: Path) -> None:
    """The stand-in is wrong from 2 processes on, and says so as iokernel does."""
    launcher, kernel = tmp_path / "launch", tmp_path / "kernel"
    launcher.write_text('#!/bin/sh\nshift; export N=$1; shift; exec "$@"\n')
    kernel.write_text(
        '#!/bin/sh\nwhile [ "$1" != --json ]; do shift; done\n'
        'if [ "$N" -ge 2 ]; then v=mismatch s=1; else v=verified s=0; fi\n'
        'echo "{\\"verification\\": {\\"verdict\\": \\"$v\\"}}" > "$2"; exit $s\n'
    )
    for path in (launcher, kernel):
        path.chmod(0o755)
    runner = Runner(Stack("", kernel, (str(launcher),)), tmp_path)
    found = shrink(Failing(8, ("ior", "-b", "64", "--method", "m")), Tries(runner.end, 1, silent))
    assert str(found) == "-n 2 ior -b 1 --method m"
    assert not list(tmp_path.glob("iogauge.*"))


def test_a_run_of_a_session_is_read(tmp_path: Path) -> None:
    (tmp_path / JOB_SCRIPT).write_text("export OMPI_MCA_io_ompio_num_aggregators='2'\nexport A=1\n")
    command = "/x/iokernel ramses-amr --size 16 --dir /d --json result.json --method mpiio"
    case = of_run(tmp_path, lambda _: (4, command))
    assert case.words == ("ramses-amr", "--size", "16", "--method", "mpiio")
    assert case.environment == (("OMPI_MCA_io_ompio_num_aggregators", "2"),)
    assert without_own(["ior", "--keep", "--dir=/d"]) == ("ior",)


def recorded() -> list[program.Round]:
    """Two processes: a header of one, a call of both, one through a view, and after closing one
    that does not count."""
    made = Made(2)
    calls = {"alone": 0, "all": 1}
    for process in (0, 1):
        if process == 0:
            made.access(0, WRITE, 0, 8, layer=MPIIO)
        for pieces in ([(8 + 8 * process, 8)], [(32 + 4 * process, 4), (64 + 4 * process, 4)]):
            first = made.count[process]
            for offset, length in pieces:
                at = made.access(process, WRITE, offset, length, layer=MPIIO)
                row = list(made.rows[at])
                row[4], row[5] = calls["all"], first
                made.rows[at] = tuple(row)
        made.event(process, CLOSE)
        made.access(process, WRITE, 0, 8, layer=MPIIO)
    traced = made.traced()
    traced.calls = ["MPI_File_write_at", "MPI_File_write_at_all"]
    return program.rounds_of(traced, 0)


def test_rounds_are_the_calls_of_all_and_what_each_did_before() -> None:
    alone, together, viewed = recorded()
    assert (alone.together, alone.pieces) == (False, ((0, 0, 8),))
    assert (together.together, together.viewed) == (True, False)
    assert sorted(together.pieces) == [(0, 8, 8), (1, 16, 8)]
    assert viewed.viewed
    assert sorted(viewed.pieces) == [(0, 32, 4), (0, 64, 4), (1, 36, 4), (1, 68, 4)]


def test_the_program_compiles_without_a_warning(tmp_path: Path) -> None:
    compiler = shutil.which("mpicc.openmpi") or shutil.which("mpicc.mpich")
    if not compiler:
        pytest.skip("no mpicc.openmpi or mpicc.mpich is installed")
    text = program.text_of(recorded(), 2, "mpiexec -n 2", 1, "some MPI")
    assert text.count("\n") <= program.MOST_LINES
    assert "@" not in text
    source = tmp_path / "repro.c"
    source.write_text(text)
    command = [compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("value", ["4", "a=b", ""])
def test_a_case_that_never_fails_ends_the_command(
    value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its environment is what --set names, up to the first `=`."""
    tried = []

    def end(_: Runner, case: Failing) -> str:
        tried.append(case)
        return RIGHT

    monkeypatch.setattr(Runner, "end", end)
    words = ["--program", sys.executable, "--set", f"LIMIT={value}", "-n", "3", "--tries", "2"]
    out = tmp_path / "repro.c"
    assert main(["shrink", *words, "-o", str(out), "--", "s3d", "--fsync"]) == EXIT_DATA
    assert set(tried) == {Failing(3, ("s3d", "--fsync"), (("LIMIT", value),))}
    assert capsys.readouterr().err.startswith("iogauge: no failure in 6 runs of ")
    assert not out.exists()


def test_a_program_that_nobody_named_replaces_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Runner, "end", lambda *_: "mismatch")
    monkeypatch.setattr(program, "traced", lambda *_: None)
    monkeypatch.setattr(program, "_library", str)
    monkeypatch.setattr(program, "make", lambda *_: ("made", 1, 1))
    words = ["shrink", "--program", sys.executable, "--tries", "1", "--runs", "1"]
    Path("repro.c").write_text("the user's")
    Path("repro-2.c").symlink_to("nowhere")
    for out, made in (([], "repro-3.c"), (["-o", "repro.c"], "repro.c")):
        assert main([*words, *out, "--", "s3d"]) == 0
        assert Path(made).read_text() == "made"
        assert (Path("repro.c").read_text() == "the user's") == (not out)
    assert not Path("nowhere").exists()


def test_a_program_that_is_too_long_is_refused() -> None:
    many = [program.Round(True, tuple((0, 10**6 * i, 1000) for i in range(500)))]
    with pytest.raises(CannotShrinkError, match="expected at most 150"):
        program.text_of(many, 2, "", 1, "")


@pytest.mark.parametrize(
    ("runner", "call"),
    [
        ("shrink.case.Runner(stack, place)", "end(shrink.case.Failing(1, ()))"),
        ("replay.Runner(stack, place, place)", "run(Alternative('', [], 1))"),
    ],
)
def test_a_run_ends_with_the_command_that_is_killed(tmp_path: Path, runner: str, call: str) -> None:
    maker = f"""
import sys
import time
from pathlib import Path
from iogauge.analysis.judge.faster_alternative import Alternative
from iogauge.measure import replay, shrink
from iogauge.measure.iokernel import Stack
import iogauge.measure.shrink.case
place = Path(sys.argv[1])
stack = Stack("", Path("kernel"), ("sh", "-c", "echo $$ > {tmp_path}/job; sleep 1000"))
{runner}.{call}
"""
    with subprocess.Popen([sys.executable, "-c", maker, str(tmp_path)], cwd=ROOT) as process:
        while not (tmp_path / "job").is_file() or not (tmp_path / "job").read_text().strip():
            assert process.poll() is None
            time.sleep(0.05)
        process.kill()
    job = int((tmp_path / "job").read_text())
    end = time.monotonic() + 60
    while processes.of_session(job) and time.monotonic() < end:
        time.sleep(0.05)
    assert not processes.of_session(job)
    (said,) = leftovers.remove(tmp_path)
    assert said.startswith("removed")


def raced(culprits: set[int], most: int) -> Any:
    """A made program, which fails if it has a culprit; with more than `most` it is
    too long to be printed."""

    def text(some: Sequence[Any]) -> str:
        if len(some) > most:
            raise program.NoProgramError("too long")
        return " ".join(map(str, some))

    runs = 0

    def failed(words: str) -> tuple[int, int]:
        """In every other run, as a race may."""
        nonlocal runs
        runs += 1
        return len(culprits & set(map(int, words.split()))) * (runs % 2), 9

    return SimpleNamespace(text=text, failed=failed, case=SimpleNamespace(processes=2))


@pytest.mark.parametrize(
    ("accused", "culprits", "found"),
    [
        ([4, 7], {7}, "7"),  # the first of the accused that fails alone
        ([4, 7], {4, 7}, "4"),
        ([4], {5}, "5"),  # none fails alone: the fewest of all
        ([], {1}, "1"),
        ([4], set(), ""),
    ],
)
def test_the_program_has_the_rounds_that_fail(
    monkeypatch: pytest.MonkeyPatch, accused: list[int], culprits: set[int], found: str
) -> None:
    rounds = list(range(9))
    rows = np.array([(MPIIO, 3)], [("layer", "i8"), ("file", "i8")])
    blame = SimpleNamespace(traced=SimpleNamespace(accesses=rows))
    monkeypatch.setattr(program, "find", lambda _: blame)
    monkeypatch.setattr(program, "rounds_of", lambda *_: rounds)
    monkeypatch.setattr(program, "suspects", lambda *_: accused)
    monkeypatch.setattr(program, "text_of", lambda some, *_, **more: " ".join(map(str, some)))
    said: list[str] = []
    made = raced(culprits, most=3)
    if not found:
        with pytest.raises(program.NoProgramError, match="its MPI-IO calls alone did not fail"):
            program.make(made, Path(), 2, said.append)
    else:
        text, wrong, of = program.make(made, Path(), 2, said.append)
        assert (text, of) == (found, 9 * program.RUNS)
        assert program.RUNS // 2 <= wrong <= program.RUNS // 2 + 1
    assert said == [f"9 rounds of MPI-IO calls are recorded, {len(accused)} of them raced"]
    rows["layer"] = MPIIO + 1
    with pytest.raises(program.NoProgramError, match="does not write through MPI-IO"):
        program.make(made, Path(), 2, said.append)
