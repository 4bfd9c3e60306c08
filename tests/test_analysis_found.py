# SPDX-License-Identifier: BSD-3-Clause
"""What `make run` says last: the words, from made sessions whose answers are known."""

from __future__ import annotations

import json
from pathlib import Path

from iogauge.cli import ingest
from tests import analysis_made as made
from tests.analysis_recorded import run_analysis, s3d

MPIIO, POSIX, SHARED = s3d("mpiio:collective"), s3d("posix"), s3d("posix-shared")


def found(folder: Path, values: made.Values) -> str:
    """The lines, of a session in which each value is a job."""
    session = made.split(made.session(folder / "s", values))
    ingest.ingest(session.report, folder / "store")
    done = run_analysis("found", session.report, "--store", folder / "store")
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_what_is_decided(tmp_path: Path) -> None:
    """POSIX is 3 times the default in each of seven rounds, and twice that of the other stack;
    300 to 318 of a ceiling of 800. One lucky job of another way outruns nothing."""
    base = [103.0, 100, 105, 101, 106, 102, 104]
    values = {
        (MPIIO, "openmpi"): base, (POSIX, "openmpi"): [3 * v for v in base],
        (POSIX, "mpich"): [1.5 * v for v in base], (SHARED, "openmpi"): [999.0],
    }  # fmt: skip
    assert found(tmp_path, values).splitlines() == [
        "fastest way to write, by pattern and file system:",
        "s3d: ram posix on openmpi, 309 MiB/s, 3.00 (3.00 to 3.00) times mpiio:collective",
        "stacks: openmpi wins 1: s3d ram 2.00 (2.00 to 2.00) times mpich",
        "far below a file per process (1 of 1 fastest ways decided): s3d ram 39 % (38 % to 40 %)",
        "undecided: nothing",
    ]


def test_what_is_undecided_and_why(tmp_path: Path) -> None:
    """The stacks take turns; of the default there are three jobs."""
    values = {
        (POSIX, "openmpi"): [700.0, 710, 700, 710, 700, 710, 705],
        (POSIX, "mpich"): [690.0, 720, 690, 720, 690, 720, 690],
        (MPIIO, "openmpi"): [100.0, 100, 100],
    }
    lines = found(tmp_path, values).splitlines()
    assert lines[1] == "s3d: ram posix on openmpi, 705 MiB/s"
    assert lines[2] == "stacks: no difference was decided"
    assert lines[3] == "ceilings: none is sure to stay below 50 % (1 of 1 fastest ways decided)"
    said = " ".join(" ".join(lines[4:]).split())
    assert said == (
        "undecided: s3d ram gain: 3 pairs; 6 needed (make ab ROUNDS=6); "
        "s3d ram mpich?: now one was faster, now the other"
    )


def test_a_gain_that_is_not_sure_is_said_with_its_interval(tmp_path: Path) -> None:
    values = {
        (POSIX, "openmpi"): [700.0, 710, 700, 710, 700, 710, 705],
        (MPIIO, "openmpi"): [690.0, 720, 690, 720, 690, 720, 690],
    }
    line = found(tmp_path, values).splitlines()[1]
    assert line == (
        "s3d: ram posix on openmpi, 705 MiB/s (none over mpiio:collective is sure: "
        "1.01 (0.99 to 1.02))"
    )


def test_a_way_whose_gain_is_known_comes_before_one_that_may_be_no_faster(tmp_path: Path) -> None:
    """The same way on two stacks, of which one is 1 % faster in most rounds; the default ran as
    often on the other one alone."""
    base = [100.0, 101, 99, 100, 102, 98, 100]
    values = {
        (MPIIO, "openmpi"): base, (MPIIO, "mpich"): base[:1],
        (POSIX, "openmpi"): [700.0, 710, 700, 710, 700, 710, 705],
        (POSIX, "mpich"): [690.0, 720, 710, 720, 710, 720, 715],
    }  # fmt: skip
    lines = found(tmp_path, values).splitlines()
    assert lines[1].startswith("s3d: ram posix on openmpi, 705 MiB/s, 7.0")


def test_a_default_that_is_fastest_is_named_so(tmp_path: Path) -> None:
    base = [100.0, 101, 99, 100, 102, 98, 100]
    values = {(MPIIO, "openmpi"): base, (POSIX, "openmpi"): [v / 2 for v in base]}
    assert (
        found(tmp_path, values).splitlines()[1] == "s3d: ram mpiio:collective on openmpi, 100 MiB/s"
    )


def test_for_programs(tmp_path: Path) -> None:
    session = made.session(tmp_path / "s", {(POSIX, "openmpi"): [700.0]})
    ingest.ingest(session.report, tmp_path / "store")
    done = run_analysis("found", session.report, "--store", tmp_path / "store", "--json")
    rows = json.loads(done.stdout)
    assert rows[0] == {"about": "s3d", "found": "ram posix on openmpi, 700 MiB/s"}
    assert [row["about"] for row in rows] == ["s3d", "stacks", "ceilings", "undecided"]


def test_a_session_that_wrote_nothing(tmp_path: Path) -> None:
    made.store(tmp_path, [{(POSIX, "openmpi"): [700.0]}])
    other = made.session(tmp_path / "other", {(POSIX, "openmpi"): [700.0]}, day=9)
    done = run_analysis("found", other.report, "--store", tmp_path / "store")
    assert done.returncode == 3
    assert "holds no verified write" in done.stderr
