# SPDX-License-Identifier: BSD-3-Clause
"""Schedules of traces: nothing is lost, nothing invented, and conflicts are found."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iogauge.analysis.darshan.header import Header
from iogauge.analysis.darshan.log import read_log
from iogauge.analysis.errors import AnalysisError
from iogauge.analysis.replay import acts, check, extents, phases, plan, schedule, trace
from iogauge.analysis.replay.trace import ACCESS, READ, WRITE, CannotReplayError
from iogauge.cli.main import main
from iogauge.common.paths import ROOT

DATA = Path(__file__).parents[2] / "data" / "darshan"
WITH_DXT = ("darshan-mpich-hdf5-dxt", "mpich-collective-dxt")

accesses = st.lists(
    st.tuples(
        st.integers(0, 1), st.integers(0, 1), st.sampled_from([0, 8, 16, 24, 40, 48, 100]),
        st.sampled_from([8, 16]),
    ),
    max_size=40,
)  # fmt: skip
places = st.lists(
    st.tuples(st.integers(0, 30), st.integers(1, 12), st.integers(0, 2), st.integers(0, 2)),
    max_size=12,
)


def rows_of(found: list[tuple[int, int, int, int]], seconds: float = 1.0) -> Any:
    """Accesses one after the other, `seconds` apart and a tenth of that long."""
    rows = np.zeros(len(found), ACCESS)
    for i, (file, write, offset, length) in enumerate(found):
        rows[i] = (file, write, offset, length, i * seconds, (i + 0.1) * seconds, *[0] * 6)
    return rows


def moved(found: list[tuple[int, int, int, int]]) -> extents.Moved:
    table = np.array(found, np.int64).reshape(-1, 4)
    return extents.Moved(table[:, 0], table[:, 0] + table[:, 1], table[:, 2], table[:, 3])


def undone(made: Any) -> list[tuple[int, int, int, int]]:
    """The accesses that acts stand for."""
    return [
        (int(a["file"]), int(a["kind"] == schedule.WRITE), int(a["offset"] + k * a["stride"]),
         int(a["length"]))
        for a in made
        for k in range(int(a["count"]))
    ]  # fmt: skip


@pytest.mark.parametrize("calls", [1, 5])
def test_calls_that_move_no_byte_are_no_schedule(calls: int, tmp_path: Path) -> None:
    rows = rows_of([(0, i % 2, 8 * i, 0) for i in range(calls)])
    files = [trace.TracedFile("/a", trace.POSIX, None)]
    log = SimpleNamespace(files=[])
    one = trace.Trace(Path("log"), log, files, [rows, rows[:0]], [])  # type: ignore[arg-type]
    with pytest.raises(CannotReplayError, match="log: its calls moved no byte"):
        plan.make(one, tmp_path / "s")
    assert not (tmp_path / "s").exists()


@given(accesses, st.floats(0.05, 2))
def test_acts_are_the_accesses(found: list[tuple[int, int, int, int]], gap: float) -> None:
    """All of them, in order; each file is open around its own."""
    rows = rows_of(found)
    log = SimpleNamespace(files=[trace.TracedFile("/a", trace.POSIX, None) for _ in range(2)])
    one = trace.Trace(Path("log"), log, log.files, [rows], [])  # type: ignore[arg-type]
    if not found:
        return
    parts = phases.find(one, gap)
    planned = plan.Plan(one, parts, [])
    periods = plan._periods(planned)
    made = acts.acts_of(one, 0, parts, periods[0], acts.kinds(one))
    assert undone(made) == found
    is_open = set()
    for act in made:
        file, kind = int(act["file"]), int(act["kind"])
        if kind == schedule.OPEN:
            is_open.add(file)
        elif kind == schedule.CLOSE:
            is_open.remove(file)
        elif kind in (schedule.READ, schedule.WRITE):
            assert file in is_open
    assert not is_open
    assert int((made["kind"] == schedule.PHASE).sum()) == len(parts) - 1


def test_strided_runs_are_few() -> None:
    found = [(0, 1, 24 * i, 8) for i in range(1000)] + [(0, 1, 10**6 + 8 * i, 8) for i in range(9)]
    rows = rows_of(found)
    first, count = acts.runs(rows, np.zeros(len(rows), np.int64))
    assert list(first) == [0, 1000] and list(count) == [1000, 9]


@given(places)
def test_conflicts_are_those_of_each_byte(found: list[tuple[int, int, int, int]]) -> None:
    who = {
        (phase, byte): {r for s, n, p, r in found if p == phase and s <= byte < s + n}
        for phase in range(3)
        for byte in range(50)
    }
    several = {byte for (_, byte), ranks in who.items() if len(ranks) > 1}
    answer = extents.conflicts(moved(found))
    ranges = zip(answer.start, answer.end, strict=True)
    assert {byte for a, b in ranges for byte in range(a, b)} == several
    for low, high, a, b in answer.examples:
        assert a != b and low < high
        assert any(all({a, b} <= who[p, byte] for byte in range(low, high)) for p in range(3))


@given(places, places)
def test_what_is_read_first(
    reads: list[tuple[int, int, int, int]], writes: list[tuple[int, int, int, int]]
) -> None:
    needed = {
        byte
        for s, n, p, _ in reads
        for byte in range(s, s + n)
        if not any(q < p and t <= byte < t + m for t, m, q, _ in writes)
    }
    start, end = extents.read_first(moved(reads), moved(writes))
    found = {byte for a, b in zip(start, end, strict=True) for byte in range(a, b)}
    assert found == needed


@pytest.mark.parametrize("name", WITH_DXT)
def test_accesses_are_those_of_the_log(name: str) -> None:
    """As the other reader has them, which reads each segment by itself."""
    path = DATA / name / "trace.darshan"
    log = read_log(path, segments=True)
    found = trace.load(path)
    (file,) = found.files
    assert file.level == trace.POSIX and file.below  # through views
    expected: dict[int, list[tuple[float, int, int, int]]] = {}
    for one in log.segments:
        if one.module != "POSIX":
            continue
        for way, rows in ((WRITE, one.writes), (READ, one.reads)):
            for offset, length, start, _ in rows:
                expected.setdefault(one.rank, []).append((start, way, offset, length))
    for rank, accesses in enumerate(found.accesses):
        mine = [(a["start"], a["write"], a["offset"], a["length"]) for a in accesses]
        assert sorted(mine) == sorted(expected.get(rank, [])), rank
        assert [row[0] for row in mine] == sorted(row[0] for row in mine)


def test_calls_that_dxt_lacks_are_counted() -> None:
    path = DATA / WITH_DXT[0] / "trace.darshan"
    log = read_log(path, ids=True)
    first, *rest = trace._blocks(path, path, log)
    sets, *more = trace._missing(log, [first, *rest])
    assert sets.startswith(trace.DATA_SETS) and not more
    (entry,) = (e for e in log.files if (e.module, e.path) == (first.module, log.ids[first.file]))
    calls = sum(entry.values[name] for name in ("READS", "WRITES"))
    assert first.module == "POSIX"
    assert trace._missing(log, [replace(first, segments=first.segments[1:]), *rest]) == [
        sets,
        f"not replayed: 1 of {calls} calls of POSIX, which DXT lacks: {entry.path}",
    ]


def test_what_is_inferred_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "s"
    assert main(["replay", "plan", str(DATA / WITH_DXT[0] / "trace.darshan"), "-o", str(file)]) == 0
    said = capsys.readouterr().out
    assert "its MPI-IO calls went through file views" in said and "inferred: " in said
    header = schedule.read_header(file)
    assert header["said"] and all(line in said for line in header["said"])
    assert all(one["by_library"] for one in header["files"])
    assert sum(each[1] + each[3] for each in header["each"]) == 48 + 32  # the log's counters


def test_only_counters_are_no_schedule(tmp_path: Path) -> None:
    with pytest.raises(CannotReplayError, match=r"only counters, no single access \(DXT\)"):
        trace.load(DATA / "mpich-holes" / "trace.darshan")


def test_a_log_cut_behind_its_accesses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = (DATA / WITH_DXT[0] / "trace.darshan").read_bytes()
    log = tmp_path / "cut.darshan"
    log.write_bytes(whole[:-1])  # of the heat map
    assert main(["replay", "plan", str(log), "-o", str(tmp_path / "s")]) == 0
    said = "the log is truncated: HEATMAP is not whole"
    assert said in capsys.readouterr().out
    assert said in schedule.read_header(tmp_path / "s")["said"]


@pytest.mark.parametrize("kept", [0.3, 0.7])
def test_a_cut_log_leaves_no_schedule(
    tmp_path: Path, kept: float, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = (DATA / WITH_DXT[0] / "trace.darshan").read_bytes()
    log = tmp_path / "cut.darshan"
    log.write_bytes(whole[: int(len(whole) * kept)])
    assert main(["replay", "plan", str(log), "-o", str(tmp_path / "s")]) == 3
    assert "cut.darshan" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [log]


def test_a_folder_without_files_of_the_log(tmp_path: Path) -> None:
    log = DATA / WITH_DXT[0] / "trace.darshan"
    with pytest.raises(CannotReplayError, match="no access to a file of /nowhere"):
        trace.load(log, trace.Choice(only=["/nowhere"]))


def test_a_schedule_that_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = DATA / WITH_DXT[0] / "trace.darshan"
    shutil.copy(log, tmp_path / "s")
    assert main(["replay", "check", str(tmp_path / "s"), str(log), str(log)]) == 3
    assert "expected a schedule" in capsys.readouterr().err


def traced(found: list[tuple[int, int, int, int]]) -> trace.Trace:
    """Of two processes: these accesses, and none."""
    log = read_log(DATA / WITH_DXT[0] / "trace.darshan")
    files = [trace.TracedFile(f"/{i}", trace.POSIX, None) for i in range(2)]
    return trace.Trace(Path("log"), log, files, [rows_of(found), rows_of([])], [])


LIKE = [(0, 1, 0, 8), (0, 1, 8, 8), (1, 0, 0, 16)]
UNLIKE = {
    "less": (LIKE[:2], "2 accesses, and in the log 3"),
    "order": ([LIKE[1], LIKE[0], LIKE[2]], "access 0 is a write of 8 bytes at 8 of /0"),
    "size": ([*LIKE[:2], (1, 0, 0, 8)], "access 2 is a read of 8 bytes at 0 of /1"),
    "direction": ([*LIKE[:2], (1, 1, 0, 16)], "access 2 is a write of 16 bytes at 0 of /1"),
    "file": ([*LIKE[:2], (0, 0, 0, 16)], "access 2 is a read of 16 bytes at 0 of /0"),
}


@pytest.mark.parametrize("what", UNLIKE)
def test_a_replay_that_is_not_like_its_log(what: str) -> None:
    found, says = UNLIKE[what]
    compared = check.compare(traced(LIKE), traced(found), phases.GAP)
    assert compared.exact == 1 and len(compared.wrong) == 1
    assert compared.wrong[0].startswith("process 0: ") and says in compared.wrong[0]
    assert not check.compare(traced(LIKE), traced(LIKE), phases.GAP).wrong


def test_a_phase_lasts_from_its_first_begin_to_its_last_end() -> None:
    """Three accesses, each a tenth of their distance, which is twice as long in the replay."""
    rows = [[rows_of(LIKE, seconds), rows_of(LIKE[:1], seconds)] for seconds in (0.001, 0.002)]
    log, replay = (replace(traced([]), accesses=one) for one in rows)
    (phase,) = check.compare(log, replay, phases.GAP).phases
    assert (phase.calls, phase.bytes) == (4, 40)
    lasts = [phase.log, phase.replay, phase.log_whole, phase.replay_whole]
    assert lasts == pytest.approx([3e-4, 6e-4, 2.1e-3, 4.2e-3])


def test_a_large_log_needs_little_memory() -> None:
    """`make replay-size` has the whole one. Seconds do not matter here. In a separate
    process, whose memory is the plan's."""

    def sized(accesses: int, most_mib: int) -> subprocess.CompletedProcess[str]:
        words = ["--processes", "64", "--accesses", str(accesses), "--most-seconds", "inf"]
        command = [sys.executable, "-m", "tests.sizes", "replay", *words]
        command += ["--most-mib", str(most_mib)]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    done = sized(200_000, 200)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "200000 accesses of 64 processes" in done.stdout
    assert sized(6400, 1).returncode == 1


def test_damaged_accesses_are_refused_or_planned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever stands in a log: a schedule, or an error that names the log."""
    path = DATA / WITH_DXT[0] / "trace.darshan"
    log = read_log(path, ids=True)
    pieces = Header.pieces
    chosen = random.Random(7)
    planned = refused = 0

    def damaged(header: Header, module: int) -> Iterator[bytes]:
        data = bytearray(b"".join(pieces(header, module)))
        for _ in range(chosen.randint(1, 4)):
            at = 8 * chosen.randrange(len(data) // 8)
            value = chosen.choice([0, 1, 2**62, 2**63, 2**64 - 1, chosen.getrandbits(64)])
            data[at : at + 8] = value.to_bytes(8, "little")
        yield bytes(data[: chosen.choice([len(data), len(data), chosen.randrange(len(data))])])

    monkeypatch.setattr(trace, "read_log", lambda *_, **__: log)
    monkeypatch.setattr(Header, "pieces", damaged)
    for _ in range(300):
        try:
            plan.make(trace.load(path), tmp_path / "s")
            planned += 1
        except AnalysisError as error:
            assert str(path) in str(error)
            refused += 1
    assert planned and refused


def test_who_writes_the_same_bytes_is_named(tmp_path: Path) -> None:
    """In one phase; a phase later it is the later one's."""
    one = traced([(0, 1, 0, 8), (0, 1, 8, 8)])
    one.accesses[1] = rows_of([(0, 1, 6, 4)])
    made = plan.make(one, tmp_path / "s", gap=10.0)
    assert made.undefined == 4
    assert made.conflicts == ["processes 0 and 1 write bytes 6 to 10 in one phase: /0"]
    assert schedule.read_header(tmp_path / "s")["undefined"] == 1
    one = traced([(0, 1, 0, 8), (0, 1, 8, 8)])
    one.accesses[1] = rows_of([(0, 1, 6, 4)])
    one.accesses[1]["start"] += 5
    one.accesses[1]["end"] += 5
    made = plan.make(one, tmp_path / "s", gap=3.0)
    assert len(made.phases) == 2 and not made.undefined and not made.conflicts


def test_what_is_waited_for_later_is_written_later(tmp_path: Path) -> None:
    """Of three phases, a nonblocking write lasts from the first to the last."""

    def made(
        others: list[tuple[float, tuple[int, int, int, int]]], done: float = 20.05
    ) -> plan.Plan:
        one = traced([(0, WRITE, 0, 8), (0, WRITE, 100, 8), (0, WRITE, 200, 8)])
        one.accesses[0]["start"] *= 10
        one.accesses[0]["end"] = one.accesses[0]["start"] + 0.1
        one.accesses[0]["done"][0] = done
        one.accesses[1] = np.concatenate([rows_of([row]) for _, row in others])
        for row, (start, _) in zip(one.accesses[1], others, strict=True):
            row["start"], row["end"] = start, start + 0.01
        plan_ = plan.make(one, tmp_path / "s", gap=5.0)
        assert len(plan_.phases) == 3
        return plan_

    at_end = [(20.05, (0, READ, 0, 8))]
    assert made(at_end).prepared == 8, "read in the phase of the wait"
    assert made(at_end, 10.05).prepared == 0, "waited for in an earlier phase"
    assert made([(0.05, (0, READ, 0, 8))], 0).prepared == 8
    for start in (0.05, 10.05, 20.05):
        assert made([(start, (0, WRITE, 4, 8))]).undefined == 4
    assert made([(20.05, (0, WRITE, 4, 8))], 10.05).undefined == 0
    assert made([(10.05, (0, WRITE, 4, 8))], 0).undefined == 0


@pytest.mark.parametrize(
    ("each", "word"),
    [
        ([[1 << 20] * 40] * 2, "reused"),
        ([[1 << 20] * 40 + [100] * 50] * 2, "reused"),
        ([[1 << 20] * 40, [1 << 20] * 8], "whole"),
        ([[1 << 20] * 40 + [1 << 19] * 40] * 2, "whole"),
        ([[4096] * 1000], "whole"),
        ([[]], "whole"),
    ],
    ids=["alike", "and a header", "one has few", "two sizes", "small", "nothing"],
)
def test_one_buffer_is_guessed_from_sizes(each: list[list[int]], word: str) -> None:
    some = [rows_of([(0, 1, 0, length) for length in lengths]) for lengths in each]
    found, why = plan.guess_buffer(SimpleNamespace(accesses=some))  # type: ignore[arg-type]
    assert found == word and "inferred" in why


@pytest.mark.parametrize("by_runtime", [True, False])
def test_appends_of_several_processes_are_refused(tmp_path: Path, by_runtime: bool) -> None:
    """Darshan's runtime gives their places from 0 on; the embedded recorder knows them."""
    log: Any = SimpleNamespace(files=[], recorder="by hand", by_runtime=by_runtime)
    behind = [(0, WRITE, 0, 8), (0, WRITE, 8, 16)]
    file = trace.TracedFile("/fs/app.log", trace.POSIX, None)
    both = trace.Trace(Path("log"), log, [file], [rows_of(behind), rows_of(behind)], [])
    if by_runtime:
        with pytest.raises(CannotReplayError, match=r"O_APPEND.*/fs/app\.log"):
            plan.make(both, tmp_path / "s", gap=10.0)
    else:
        assert plan.make(both, tmp_path / "s", gap=10.0).conflicts


@pytest.mark.parametrize(
    ("change", "says"),
    [({"gap": "x"}, "damaged"), ({"said": None}, "damaged"), ({"files": [{}]}, "damaged"),
     ({"files": [{"level": "tape"}]}, "a file with unknown level tape")],
)  # fmt: skip
def test_a_schedule_that_no_plan_made(tmp_path: Path, change: dict[str, object], says: str) -> None:
    """It says which file, and what to do."""
    file = tmp_path / "s"
    with schedule.writing(file) as writer:
        writer.finish({"gap": 0.01, "said": [], "files": [], **change})
    with pytest.raises(trace.CannotReplayError, match=f"{file}: .*{says}.*; make it again with"):
        schedule.read_header(file)
