# SPDX-License-Identifier: BSD-3-Clause
"""Darshan logs: written and read back, by PyDarshan too; reduced as Darshan does; damaged ones."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from iogauge.analysis.darshan import header
from iogauge.analysis.darshan import reader as log_reader
from iogauge.analysis.darshan.convert import write_log
from iogauge.analysis.darshan.log import Log, UnreadableLogError, read_log
from iogauge.analysis.darshan.raw import (
    COMPLETE,
    FORKED,
    MPI,
    PARTIAL,
    SEGMENT,
    BrokenTraceError,
    RawHeat,
    RawProcess,
    RawRecord,
    read_folder,
)
from iogauge.analysis.darshan.reduce import Record, commonest, reduce
from iogauge.common import processes
from iogauge.common.paths import ROOT

DATA = Path(__file__).parents[2] / "data" / "darshan"
POSIX_COUNTERS, MPIIO_COUNTERS, TIMES = 69, 51, 17
# Places of a few counters in the log format.
READS, WRITES, BYTES_READ, BYTES_WRITTEN = 3, 4, 14, 15


def process(rank: int, of: int, *, segments: int = 0, flags: int = COMPLETE | MPI) -> RawProcess:
    """Writes (rank + 1) * 100 bytes in one call and reads 10."""
    made = RawProcess(
        rank, of, 1000 + rank, 0, 10**18 + rank * 10**6, 2.0, flags, "node", "test 1", "./program"
    )
    counters = [0] * POSIX_COUNTERS
    counters[READS], counters[WRITES] = 1, 1
    counters[BYTES_READ], counters[BYTES_WRITTEN] = 10, 100 * (rank + 1)
    times = [0.5] * 8 + [0.25, 0.5, 0.125] + [0.0] * 6
    sizes = {10: 1, 100 * (rank + 1): 1}
    packed = b"".join(SEGMENT.pack(i, 1, 0.1 * i, 0.1 * i + 0.05) for i in range(segments))
    record = RawRecord(77, "POSIX", "/fs/a", counters, times, sizes, {}, (b"", packed))
    mine = RawRecord(80 + rank, "POSIX", f"/fs/own.{rank}", counters, times, sizes, {})
    made.records = [record, mine]
    for module, heat_id in (("POSIX", 5), ("MPI-IO", 6)):
        bins = ([0] * 200, [100 * (rank + 1), *[0] * 199])
        made.heat[module] = RawHeat(heat_id, 0.01 * 2**rank, bins)
    return made


def test_a_log_says_what_was_written_into_it(tmp_path: Path) -> None:
    write_log([process(rank, 3, segments=2) for rank in range(3)], tmp_path / "log")
    log = read_log(tmp_path / "log", heat=True, segments=True)
    assert (log.processes, log.command, log.recorder) == (3, "./program", "test 1")
    assert (log.partial, log.notes) == ((), ())
    shared = next(file for file in log.files if file.path == "/fs/a")
    assert shared.count("BYTES_WRITTEN") == 100 + 200 + 300
    assert [(w.rank, w.read, w.written) for w in shared.ranks] == [
        (0, 10, 100), (1, 10, 200), (2, 10, 300),
    ]  # fmt: skip
    assert {file.path for file in log.files} == {"/fs/a", *(f"/fs/own.{r}" for r in range(3))}
    # The later start of a process is in its segments; the widest bins are everybody's.
    (late,) = (s.writes[1] for s in log.segments if s.rank == 2)
    assert late == pytest.approx((1, 1, 0.102, 0.152))
    assert log.heat["POSIX"].bin_seconds == 0.04
    assert [bins[1][0] for bins in log.heat["POSIX"].ranks.values()] == [100, 200, 300]


def test_pydarshan_reads_the_log(tmp_path: Path) -> None:
    write_log([process(rank, 2) for rank in range(2)], tmp_path / "log", reduce_shared=True)
    code = (
        "import darshan, json, sys\n"
        "report = darshan.DarshanReport(sys.argv[1], read_all=True)\n"
        "rows = report.records['POSIX'].to_df()['counters']\n"
        "print(json.dumps([report.metadata['exe'], report.metadata['job']['nprocs'],\n"
        "    rows[rows['rank'] == -1]['POSIX_BYTES_WRITTEN'].tolist(), len(rows)]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "log")], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == ["./program", 2, [300], 3]


@pytest.mark.parametrize(
    ("processes", "lost"),
    [
        ([process(1, 4)], "left out: processes without a trace: 0, 2, 3"),
        ([process(0, 1, flags=MPI)], "processes with an incomplete trace: 0"),
        (
            [process(0, 2), process(1, 2, flags=COMPLETE | MPI | PARTIAL)],
            "processes with an incomplete trace: 1",
        ),
        (
            [process(7, 9000, flags=MPI), process(1, 1, flags=COMPLETE | FORKED)],
            "left out: processes without a trace: 0, 1, 2, 3, 4, 5, 6, 8, 9",
        ),
    ],
    ids=["missing process", "not finalized", "lost something", "both, many"],
)
def test_a_log_that_lacks_something_says_so(
    tmp_path: Path, processes: list[RawProcess], lost: str
) -> None:
    write_log(processes, tmp_path / "log")
    log = read_log(tmp_path / "log")
    assert "POSIX" in log.partial
    assert len(log.notes) == 1 and log.notes[0].startswith(f"the log is partial: {lost}")


def test_a_forked_childs_work_is_its_parents(tmp_path: Path) -> None:
    child = process(0, 1, flags=COMPLETE | FORKED)
    write_log([process(0, 1), child], tmp_path / "log")
    log = read_log(tmp_path / "log")
    (shared,) = (file for file in log.files if file.path == "/fs/a")
    assert [(w.rank, w.written) for w in shared.ranks] == [(0, 200)]


def test_a_program_started_by_a_process_does_not_change_the_job(tmp_path: Path) -> None:
    helper = process(0, 1, flags=COMPLETE)
    helper.start -= 10**9
    write_log([helper, process(0, 2), process(1, 2)], tmp_path / "log")
    log = read_log(tmp_path / "log")
    assert (log.processes, log.partial) == (2, ())


# ---------------------------------------------------------------- reduction


def record(rank: int, seconds: float, size: int, count: int) -> Record:
    values: dict[str, float] = {
        "WRITES": count, "BYTES_READ": 0, "BYTES_WRITTEN": size * count, "MODE": 420,
        "MAX_BYTE_WRITTEN": size, "MAX_WRITE_TIME_SIZE": size, "MMAPS": -1 if rank else 0,
        "FASTEST_RANK": 0, "FASTEST_RANK_BYTES": 0, "SLOWEST_RANK": 0, "SLOWEST_RANK_BYTES": 0,
        "F_READ_TIME": 0.0, "F_WRITE_TIME": seconds, "F_META_TIME": 0.0,
        "F_WRITE_START_TIMESTAMP": 0.0 if rank == 0 else float(rank),
        "F_WRITE_END_TIMESTAMP": float(rank), "F_MAX_WRITE_TIME": seconds,
        "F_FASTEST_RANK_TIME": 0.0, "F_SLOWEST_RANK_TIME": 0.0,
        "F_VARIANCE_RANK_TIME": 0.0, "F_VARIANCE_RANK_BYTES": 0.0,
    }  # fmt: skip
    for i in range(1, 5):
        values[f"ACCESS{i}_ACCESS"], values[f"ACCESS{i}_COUNT"] = (
            (size, count) if i == 1 else (0, 0)
        )
    return Record(rank, values)


def test_reducing_sums_and_keeps_the_extremes() -> None:
    found = reduce([record(0, 1.0, 10, 5), record(1, 3.0, 20, 2), record(2, 2.0, 10, 1)]).values
    expected = {
        "WRITES": 8, "BYTES_WRITTEN": 50 + 40 + 10, "MODE": 420, "MAX_BYTE_WRITTEN": 20,
        "MAX_WRITE_TIME_SIZE": 20, "MMAPS": -1, "F_MAX_WRITE_TIME": 3.0, "F_WRITE_TIME": 6.0,
        "F_WRITE_START_TIMESTAMP": 1.0, "F_WRITE_END_TIMESTAMP": 2.0,
        "FASTEST_RANK": 0, "FASTEST_RANK_BYTES": 50, "SLOWEST_RANK": 1, "SLOWEST_RANK_BYTES": 40,
        "F_FASTEST_RANK_TIME": 1.0, "F_SLOWEST_RANK_TIME": 3.0,
        "F_VARIANCE_RANK_TIME": pytest.approx(2 / 3),
        "ACCESS1_ACCESS": 10, "ACCESS1_COUNT": 6, "ACCESS2_ACCESS": 20, "ACCESS2_COUNT": 2,
    }  # fmt: skip
    assert {key: found[key] for key in expected} == expected


def test_the_commonest_are_ordered_by_count_then_size() -> None:
    table = {5: 1, 6: 1, 7: 9, 8: 2, 9: 2, 0: 100}
    assert commonest(table) == [(7, 9), (9, 2), (8, 2), (6, 1)]


# ---------------------------------------------------------------- damage


def whole_log(folder: Path) -> bytes:
    write_log([process(rank, 4, segments=20) for rank in range(4)], folder / "whole")
    return (folder / "whole").read_bytes()


def outcome(path: Path) -> Log | str:
    try:
        return read_log(path, heat=True, segments=True, seconds=20)
    except UnreadableLogError as error:
        return str(error)


def test_damaged_logs_end_in_a_message(tmp_path: Path) -> None:
    """100 cut and 120 with flipped bits. A flip in a part that nobody checks (Darshan's header has
    no checksum) may pass: then it must still be a log."""
    whole = whole_log(tmp_path)
    rng = random.Random(20111)
    cases: list[bytes] = [whole[: rng.randrange(len(whole))] for _ in range(100)]
    for _ in range(120):
        data = bytearray(whole)
        for _ in range(rng.randrange(1, 5)):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        cases.append(bytes(data))
    paths = [tmp_path / f"{i}.darshan" for i in range(len(cases))]
    for path, content in zip(paths, cases, strict=True):
        path.write_bytes(content)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(outcome, paths))
    assert len(found) == 220
    for i, one in enumerate(found):
        if isinstance(one, str):
            assert str(paths[i]) in one and "Traceback" not in one, one
    silent = [i for i, one in enumerate(found[:100]) if isinstance(one, Log) and not one.partial]
    good = read_log(tmp_path / "whole")
    assert all(found[i].files == good.files for i in silent)  # type: ignore[union-attr]
    assert sum(isinstance(one, str) for one in found) > 150


def test_a_reader_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole_log(tmp_path)
    slow = tmp_path / "python"
    slow.write_text("#!/bin/sh\nexec sleep 60\n")
    slow.chmod(0o755)
    monkeypatch.setattr(log_reader.sys, "executable", str(slow))
    with pytest.raises(UnreadableLogError, match=r"not read within 0.2 s"):
        read_log(tmp_path / "whole", seconds=0.2)


def test_an_installed_package_starts_its_own_reader(tmp_path: Path) -> None:
    """There `iogauge/analysis` is a folder, not a link."""
    whole_log(tmp_path)
    site, ignore = tmp_path / "site", shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "iogauge", site / "iogauge", ignore=ignore)
    code = "import sys; from pathlib import Path; from iogauge.analysis.darshan.log import read_log"
    code += "; print(read_log(Path(sys.argv[1])).processes)"
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "whole")], cwd=tmp_path, text=True,
        env={"PYTHONPATH": str(site)}, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == read_log(tmp_path / "whole").processes


def test_a_reader_that_crashes_is_said_to_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole_log(tmp_path)
    crash = tmp_path / "python"
    crash.write_text("#!/bin/sh\nkill -SEGV $$\n")
    crash.chmod(0o755)
    monkeypatch.setattr(log_reader.sys, "executable", str(crash))
    with pytest.raises(UnreadableLogError, match=r"crashed \(signal 11\)"):
        read_log(tmp_path / "whole")


def test_one_process_reads_all_logs(tmp_path: Path) -> None:
    """Also after words that it does not know, and after a log that is none."""
    whole_log(tmp_path)
    one = log_reader.Reader(sys.executable, os.getpid())
    good, none = ({"log": str(tmp_path / name)} for name in ("whole", "none"))
    found = [one.read(asked, 60) for asked in (good, {**good, "nosuch": True}, none, good)]
    assert [done.returncode for done in found] == [0, log_reader.FAILED, 3, 0]
    assert found[0].stdout == found[3].stdout != ""
    assert "nosuch" in found[1].stderr
    process = one.process
    assert process is not None and process.poll() is None
    one.end()
    assert process.returncode == -signal.SIGKILL


def test_what_hangs_is_ended_with_its_process_and_the_next_log_is_read(tmp_path: Path) -> None:
    """Nobody writes into this pipe, so that opening it waits."""
    whole_log(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    one = log_reader.Reader(sys.executable, os.getpid())
    assert one.read({"log": str(tmp_path / "whole")}, 60).returncode == 0
    process = one.process
    with pytest.raises(subprocess.TimeoutExpired):
        one.read({"log": str(tmp_path / "pipe")}, 0.5)
    assert process is not None
    _wait(lambda: not _group_is_there(process.pid))
    assert one.read({"log": str(tmp_path / "whole")}, 60).returncode == 0
    one.end()


def test_it_ends_with_the_process_that_asked(tmp_path: Path) -> None:
    """However that ended."""
    whole_log(tmp_path)
    code = "import os, sys; from iogauge.analysis.darshan.reader import reader; one = reader()"
    code += "; one.read({'log': sys.argv[1]}, 60); print(one.process.pid, flush=True); os.abort()"
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "whole")], cwd=ROOT, text=True,
        capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == -signal.SIGABRT
    _wait(lambda: processes.began(int(done.stdout)) is None)  # nobody may wait for an orphan


def _wait(until: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not until() and time.monotonic() < end:
        time.sleep(0.05)
    assert until()


def _group_is_there(number: int) -> bool:
    """Or what nobody has waited for yet."""
    try:
        os.killpg(number, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_fork_has_a_reader_of_its_own() -> None:
    one = log_reader.reader()
    assert one is log_reader.reader()
    other = log_reader.Reader(sys.executable, os.getpid() + 1)
    other.process = subprocess.Popen(["sleep", "60"], start_new_session=True)
    other.end()
    assert other.process.poll() is None, "it is another process's"
    other.process.kill()
    other.process.wait()


def test_what_is_no_log_is_said_to_be_none(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no log")
    for name in ("text", "missing"):
        with pytest.raises(UnreadableLogError, match=name):
            read_log(tmp_path / name)


def test_a_cut_trace_of_a_process_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BrokenTraceError, match="no process"):
        read_folder(tmp_path)
    (tmp_path / "process-000000-1.trace").write_bytes(b"IOGTRACE" + bytes(40))
    with pytest.raises(BrokenTraceError, match="cut off"):
        read_folder(tmp_path)


# ---------------------------------------------------------------- older formats


def as_of_321(log: Path, older: Path) -> None:
    """The log in format 3.21, as darshan-logutils.h of 3.2.1 describes it: room for 16 modules, a
    shorter head, and a job without nanoseconds."""
    data = log.read_bytes()
    version, magic, compression, partial, *rest = header.HEAD.unpack_from(data)
    assert version.startswith(b"3.41")
    places = rest[: 2 * header.MODULES + 2]
    first = min(at for at, length in zip(places[::2], places[1::2], strict=True) if length)
    job = zlib.decompress(data[header.HEAD.size : first])
    fields = struct.unpack_from("<7q", job)
    old_job = struct.pack("<5q", *fields[:2], fields[3], *fields[5:]) + job[7 * 8 :]
    packed = zlib.compress(old_job)
    layout = struct.Struct("<8sqB3xI2Q32Q16I")
    moved = layout.size + len(packed) - first
    # The names' place, then the modules', of which 3.2.1 had no PNETCDF_VAR.
    pairs = list(zip(places[::2], places[1::2], strict=True))
    versions = rest[2 * header.MODULES + 2 :]
    gone = header.NAMES.index("PNETCDF_VAR")
    del pairs[1 + gone], versions[gone]
    assert not partial
    old = [n for at, length in pairs[: 1 + 16] for n in (at + moved if length else at, length)]
    versions = versions[:16]
    head = layout.pack(b"3.21", magic, compression, partial, *old, *versions)
    older.write_bytes(head + packed + data[first:])


@pytest.mark.parametrize("run", ["mpich-collective-dxt", "openmpi-hdf5"])
def test_a_log_of_an_older_format_says_the_same(run: str, tmp_path: Path) -> None:
    newer = DATA / run / "trace.darshan"
    older = tmp_path / "older.darshan"
    as_of_321(newer, older)
    wanted, found = (read_log(log, heat=True, segments=True) for log in (newer, older))
    assert found.files == wanted.files
    assert found.segments == wanted.segments
    assert found.heat == wanted.heat
    assert (found.processes, found.partial, found.command) == (
        wanted.processes, wanted.partial, wanted.command
    )  # fmt: skip


def test_an_older_log_that_is_cut_ends_in_a_message(tmp_path: Path) -> None:
    newer = DATA / "mpich-collective-dxt" / "trace.darshan"
    older = tmp_path / "older.darshan"
    as_of_321(newer, older)
    data = older.read_bytes()
    for length in (4, 100, 400, len(data) // 2):
        older.write_bytes(data[:length])
        with pytest.raises(UnreadableLogError, match=r"older\.darshan"):
            read_log(older, segments=True)
