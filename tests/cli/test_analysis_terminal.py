# SPDX-License-Identifier: BSD-3-Clause
"""What a user types and sees: keys that there are not, places, and the width of tables."""

from __future__ import annotations

import csv
import fcntl
import io
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iogauge.analysis.judge import acceptance
from iogauge.analysis.pages import grid
from iogauge.analysis.store.ingest import ingest
from iogauge.cli import advise
from iogauge.cli.main import main
from tests.analysis_recorded import DATA, ROOT, Recorded, run_analysis

WIDTH = 80


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An output folder with a session of every pattern, and its store."""
    session = Recorded(tmp_path_factory.mktemp("terminal"), "session-all")
    ingest(session.report, session.output / "store")
    return session.output


def on_a_terminal(
    *words: object, width: int = WIDTH, height: int = 50, status: int = 0
) -> list[str]:
    """The lines that a command prints on a terminal, without colours."""
    main, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
    command = [sys.executable, "-m", "iogauge", *map(str, words)]
    environment = {"PATH": "/usr/bin:/bin", "TERM": "xterm", "LANG": "C.UTF-8"}
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=side, stderr=subprocess.PIPE
    ) as process:
        os.close(side)
        found = b""
        while True:
            try:
                part = os.read(main, 65536)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            found += part
        assert process.stderr
        said = process.stderr.read()
    os.close(main)
    assert process.returncode == status, said
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", found.decode())
    return text.replace("\r", "").splitlines()


# ---------------------------------------------------------------- keys


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("compare", "last~1", "last", "--where", "stak=mpich"), "--where 'stak' is unknown; did "
         "you mean 'stack'?"),
        (("compare", "a", "b", "--by", "hint-set"), "--by 'hint-set' is unknown; did you "
         "mean 'hint_set'?"),
        (("expect", "learn", "local", "--where", "layot=x"), "did you mean 'layout'?"),
        (("claims", "--where", "qqqq=x"), "use one of session, started, "),
        (("history", "--where", "hdf=1.10"), "did you mean 'hdf5'?"),
    ],
)  # fmt: skip
def test_an_unknown_key_is_named_with_the_known_ones(
    output: Path, words: tuple[str, ...], said: str
) -> None:
    done = run_analysis(*words, "--output", output)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stdout == ""


def test_known_keys_of_each_kind_are_taken(output: Path) -> None:
    """A column, a version, a parameter of a test."""
    keys = ("pattern=ramses-hydro", "mpi=4.1", "hdf5=1.10.8", "layout=level-major")
    where = [word for key in keys for word in ("--where", key)]
    done = run_analysis("history", *where, "--output", output, "--csv")
    assert done.returncode == 0, done.stderr
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert {row["variant"] for row in rows} == {"contents=hydro, layout=level-major"}
    wrong = run_analysis("history", "--where", "hdf5=1.1", "--output", output)
    assert wrong.returncode == 3  # 1.1 is not 1.10


# ---------------------------------------------------------------- places


@pytest.mark.slow
def test_output_moves_the_store_and_nothing_is_written_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = Recorded(tmp_path / "mine").output
    elsewhere = tmp_path / "elsewhere"
    for name, folder in (("HOME", "home"), ("TMPDIR", "tmp"), ("IOGAUGE_OUTPUT", "output")):
        (elsewhere / folder).mkdir(parents=True)
        monkeypatch.setenv(name, str(elsewhere / folder))
    monkeypatch.delenv("IOGAUGE_STORE", raising=False)
    before = {path for path in tmp_path.rglob("*") if not path.is_relative_to(output)}
    checkout = {path: path.stat().st_mtime_ns for path in _of_the_checkout()}
    report = str(output / "reports" / "run-report-0.json")
    for words in (
        ("summary",), ("store", "add"), ("report",), ("report", report), ("history", "--all"),
        ("compare", "last", "peak"), ("expect", "accept", "--where", "stack=mpich", "--why", "x"),
        ("expect", "list"), ("advise", "--pattern", "s3d", "--system", "local"), ("why",),
        ("claims", "C1"), ("store", "recover"),
    ):  # fmt: skip
        assert main([*words, "--output", str(output)]) in (0, 1), words
    assert (output / "store" / "store.json").exists()
    assert (output / "report.html").exists()
    assert list((output / "store" / "baselines").iterdir())
    after = {path for path in tmp_path.rglob("*") if not path.is_relative_to(output)}
    assert after == before
    assert {path: path.stat().st_mtime_ns for path in _of_the_checkout()} == checkout


def _of_the_checkout() -> list[Path]:
    """All that a command could make there."""
    places = (ROOT, ROOT / "output", ROOT / "references" / "sites")
    found = [path for place in places if place.is_dir() for path in place.iterdir()]
    return [path for path in found if not path.name.startswith(".") and path.is_file()]


def test_store_and_its_variable_still_decide(tmp_path: Path) -> None:
    output = Recorded(tmp_path / "mine").output
    by_variable, by_option = tmp_path / "variable", tmp_path / "option"
    run_analysis("store", "add", "--output", output, IOGAUGE_STORE=str(by_variable))
    assert (by_variable / "store.json").exists()
    run_analysis(
        "store", "add", "--output", output, "--store", by_option, IOGAUGE_STORE=str(by_variable)
    )
    assert (by_option / "store.json").exists()
    assert not (output / "store").exists()


# ---------------------------------------------------------------- width


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "words",
    [
        ("compare", "last", "peak"),
        ("compare", "mpiio:independent", "mpiio:collective", "--by", "method"),
        ("history", "--all"),
        ("advise", "--pattern", "s3d", "--system", "local"),
        ("store", "add"),
        ("summary", "--all"),
    ],
)
def test_a_table_fits_the_terminal(output: Path, words: tuple[str, ...]) -> None:
    lines = on_a_terminal(*words, "--output", output)
    lines = lines[: lines.index("")] if "" in lines else lines  # what follows is no table
    assert lines
    assert max(map(len, lines)) <= WIDTH, "\n".join(lines)
    assert not any("…" in line for line in lines)
    wide = on_a_terminal(*words, "--output", output, "--wide")
    assert not any(line.startswith("left out: ") for line in wide)


def test_what_is_left_out_is_said_and_a_pipe_has_it(output: Path) -> None:
    words = ("compare", "last", "peak", "--output", output)
    lines = on_a_terminal(*words, width=44, height=300)
    assert lines[0].startswith("all: ")
    said = next(line for line in lines if line.startswith("left out: "))
    missing = said.removeprefix("left out: ").partition(";")[0].split(", ")
    heading = run_analysis(*words).stdout.splitlines()[0]
    assert all(name in heading for name in missing)
    rows = json.loads(run_analysis(*words, "--json").stdout)
    assert all(name.replace(" ", "_") in rows[0] for name in missing)


@pytest.mark.parametrize(
    "words",
    [("compare", "last", "peak"), ("advise", "--pattern", "ramses-hydro", "--system", "local")],
)
def test_what_tells_rows_apart_is_never_left_out(output: Path, words: tuple[str, ...]) -> None:
    """Not on a narrow terminal, nor where the rows are too many for it."""
    lines = on_a_terminal(*words, "--output", output, height=24)
    assert len(lines) <= 23, "\n".join(lines)
    rows = [{"stack": stack, "fs": fs, "note": "x" * 60, "verdict": "faster", "value": 1.0}
            for stack in ("mpich", "openmpi") for fs in ("ram", "disk")]  # fmt: skip
    cases, columns = grid.as_cases(rows, list(rows[0]))
    assert columns == ["case", "note", "verdict", "value"]
    assert [row["case"] for row in cases] == [
        "mpich ram",
        "mpich disk",
        "openmpi ram",
        "openmpi disk",
    ]
    assert "case" in grid.fitting(cases, columns, 1)[0]


def test_a_ratio_that_is_not_decided_has_two_digits(capsys: pytest.CaptureFixture[str]) -> None:
    verdicts = ("not decided yet", "faster", "not decided yet")
    values = zip(verdicts, (3.456, 3.456, 14.68), strict=True)
    rows = [{"call": "posix", "ratio": value, "verdict": verdict} for verdict, value in values]
    grid.show(rows, ["call", "ratio", "verdict"], wide=True)
    assert [line.split()[1] for line in capsys.readouterr().out.splitlines()[1:]] == [
        "3.5", "3.46", "15",
    ]  # fmt: skip


def test_columns_go_by_what_they_tell() -> None:
    row = {"name": "a" * 20, "unit": "MiB/s", "value": 1.0, "samples": 3, "verdict": "slower"}
    rows = [row, {**row, "name": "b" * 20}]
    assert grid.fitting(rows, list(row), 200) == (list(row), [])
    kept, left_out = grid.fitting(rows, list(row), 36)
    assert left_out == ["unit", "samples"]
    assert kept == ["name", "value", "verdict"]
    assert grid.fitting(rows, list(row), 1)[0] == ["name", "value", "verdict"]


WIDE = (advise.COLUMNS, acceptance.COLUMNS)
NUMBERS = {"rank", "mib_s", "low", "high", "default_mib_s", "over_default", "gain_low",
           "gain_high", "value"}  # fmt: skip


@given(st.data())
def test_80_columns_show_what_tells_rows_apart_and_no_half_interval(data: st.DataObject) -> None:
    columns = list(data.draw(st.sampled_from(WIDE)))
    texts = st.text("abcdefghij", min_size=1, max_size=12)
    rows = [
        {name: data.draw(st.floats(1, 9999)) if name in NUMBERS else data.draw(texts)
         for name in columns}
        for _ in range(data.draw(st.integers(2, 4)))
    ]  # fmt: skip
    cases, joined = grid.as_cases(rows, columns)
    kept, left_out = grid.fitting(cases, joined, WIDTH)
    assert sorted(kept + left_out) == sorted(set(joined))
    for row, case in zip(rows, cases, strict=True):
        shown = " ".join(str(case[name]) for name in kept)
        for name in columns:
            assert name not in (*grid.KEYS, "case") or str(row[name]) in shown, name
    assert ("low" in kept) == ("high" in kept) and ("gain_low" in kept) == ("gain_high" in kept)


def test_a_pipe_gets_each_sentence_in_one_line() -> None:
    """However long: a program reads lines."""
    done = run_analysis("blame", DATA / "darshan" / "mpich-collective-dxt" / "trace.darshan")
    said = [line for line in done.stdout.splitlines() if line.startswith("inferred: ")]
    assert len(said) == 1 and len(said[0]) > 200 and said[0].endswith(" at most")
