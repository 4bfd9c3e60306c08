# SPDX-License-Identifier: BSD-3-Clause
"""`make soak`: how a run that did not end well is counted, and what of it is kept."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import soak


@pytest.mark.parametrize(
    "text, kind",
    [
        ("no end after 180 s:\nexit status -9; expected 0:\n", "no end"),
        ("exit status 1; expected 0:\niokernel: error: process 1 on n: no progress for 60 s",
         "hung"),
        ("exit status 1; expected 0:\niokernel: error: the library crashed in phase write (SIGBUS)",
         "crashed"),
        ("exit status 1; expected 0:\niokernel: error: write: no space", "error"),
        ("exit status 213; expected 0:\nORTE was unable to start", "launcher"),
        ("verification.bytes is 7; expected 8", "wrong"),
    ],
)  # fmt: skip
def test_kinds(text: str, kind: str) -> None:
    assert soak.kind_of(text) == kind


@pytest.fixture
def few_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soak, "SECONDS", 10)  # Python has started by then


@pytest.mark.slow
@pytest.mark.usefixtures("few_seconds")
def test_a_run_that_does_not_end_is_ended_and_says_where_it_was(tmp_path: Path) -> None:
    program = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"
    with pytest.raises(soak.run_case.Wrong) as wrong:
        soak.run([sys.executable, "-c", program], tmp_path / "result.json")
    text = str(wrong.value)
    assert soak.kind_of(text) == "no end"
    number = text.split("expected 0:\n")[1].split()[0]
    assert f"\n{number}: " in text, "its place"
    assert not Path(f"/proc/{number}").exists()


@pytest.mark.parametrize("crashes", [1, 2])
def test_ctest_runs_a_case_again_that_crashed_in_mpi_finalize(
    crashes: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Once; and any other mistake counts at once."""
    ends: list[Exception | None] = [soak.run_case.MpiCrashed("MPI crashed")] * crashes
    ends += [None, soak.run_case.Wrong("verification.bytes is 7; expected 8")]

    def one(*_: Any) -> None:
        end = ends.pop(0)
        if end:
            raise end

    monkeypatch.setattr(soak.run_case, "one", one)
    nothing: Any = None
    if crashes == 1:
        soak.run_case.one_or_again(nothing, nothing, nothing, 1)
        assert "repeated, because MPI crashed" in capsys.readouterr().out
    with pytest.raises(soak.run_case.Wrong):
        soak.run_case.one_or_again(nothing, nothing, nothing, 1)
    assert len(ends) == (0 if crashes == 1 else 2)


def test_the_same_seed_draws_the_same_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one that is not right: it is counted and kept."""
    listing: dict[str, Any] = {
        "methods": [{"name": "posix", "options": [], "modes": [], "file_per_process": True,
                     "moves_nothing": False, "moves_as": None, "writes_alone": True}],
        "modes": [], "cross": [],
    }  # fmt: skip
    combinations: list[tuple[str, str, str | None]] = [
        ("s3d", "posix", None),
        ("ior", "posix", None),
    ]
    stack = soak.Drawn(
        "openmpi", Path("iokernel"), ("mpiexec",), listed=listing, combinations=combinations
    )
    drawn: list[str] = []

    def one(options: Any, case: Any, way: Any, processes: int, run: Any) -> None:
        drawn.append(f"{options.pattern} {processes} {case.options}")
        if len(drawn) % 10 == 7:
            raise soak.run_case.Wrong("verification.bytes is 7; expected 8")

    monkeypatch.setattr(soak.run_case, "one", one)
    found = soak.soak([stack], 10, 5, tmp_path / "a")
    soak.soak([stack], 10, 5, tmp_path / "b")
    assert drawn[:10] == drawn[10:] and len(set(drawn)) > 1
    assert found.wrong == 1 and found.kinds["openmpi", soak.RIGHT] == 9
    (kept,) = found.kept
    assert "verification.bytes is 7" in kept.read_text()
    rows = [line.replace(" ", "") for line in soak.table(found).splitlines()]
    assert "|openmpi|10|9|0|0|0|0|0|1|" in rows


def test_other_work_ends_with_the_soak() -> None:
    with soak.busy(1):
        mine = subprocess.run(
            ["ps", "-o", "pid=,args=", "--ppid", str(os.getpid())],
            capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
        (line,) = [line for line in mine.splitlines() if "getppid" in line]
    assert not Path(f"/proc/{line.split()[0]}").exists()
