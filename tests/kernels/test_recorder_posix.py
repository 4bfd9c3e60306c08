# SPDX-License-Identifier: BSD-3-Clause
"""The embedded recorder's POSIX counters against what a small program did."""

from __future__ import annotations

import ast
import socket
import sys
from pathlib import Path

import pytest
from iokernel_stacks import Stack
from recorder_runs import counters, only, preload, python, traced, traces_in

from iogauge.analysis.darshan.raw import (
    CUT,
    EVENT,
    FORKED,
    LOCK_READ,
    LOCK_WRITE,
    SEGMENT,
    UNLOCK,
    WRITE,
)

OPEN = "f = os.open(here + '/a', os.O_RDWR | os.O_CREAT, 0o644)\n"
LOCKS = (LOCK_READ, LOCK_WRITE, UNLOCK)
FLOCK = -1  # the length of its locks


def test_reads_and_writes_with_and_without_offsets(openmpi: Stack, tmp_path: Path) -> None:
    code = OPEN + (
        "os.write(f, b'x' * 100); os.write(f, b'x' * 100)\n"
        "os.pwrite(f, b'y' * 2000, 1000)\n"
        "os.lseek(f, 10, 0); os.read(f, 50); os.pread(f, 5000, 0); os.fsync(f); os.close(f)\n"
    )
    found = only(python(openmpi, tmp_path, code), "a")
    expected = {
        "OPENS": 1, "WRITES": 3, "READS": 2, "SEEKS": 1, "FSYNCS": 1, "MODE": 0o644,
        "BYTES_WRITTEN": 2200, "BYTES_READ": 50 + 3000,
        "MAX_BYTE_WRITTEN": 2999, "MAX_BYTE_READ": 2999,
        # The second write follows the first; the third leaves a gap of 800.
        "CONSEC_WRITES": 1, "SEQ_WRITES": 2, "RW_SWITCHES": 1,
        "SIZE_WRITE_0_100": 2, "SIZE_WRITE_1K_10K": 1,
        "SIZE_READ_0_100": 1, "SIZE_READ_1K_10K": 1,
        "STRIDE1_STRIDE": 800, "STRIDE1_COUNT": 1,
        "ACCESS1_ACCESS": 100, "ACCESS1_COUNT": 2,
    }  # fmt: skip
    assert {key: found.get(key) for key in expected} == expected


def test_vectored_calls_count_once_with_all_their_bytes(openmpi: Stack, tmp_path: Path) -> None:
    code = OPEN + (
        "os.writev(f, [b'a' * 10, b'b' * 20]); os.pwritev(f, [b'c' * 5] * 4, 100)\n"
        "os.preadv(f, [bytearray(15), bytearray(15)], 0); os.lseek(f, 0, 0)\n"
        "os.readv(f, [bytearray(7)] * 3)\n"
    )
    found = only(python(openmpi, tmp_path, code), "a")
    assert (found["WRITES"], found["BYTES_WRITTEN"], found["MAX_BYTE_WRITTEN"]) == (2, 50, 119)
    assert (found["READS"], found["BYTES_READ"], found["MAX_BYTE_READ"]) == (2, 51, 29)


def test_duplicated_descriptors_share_their_offset(openmpi: Stack, tmp_path: Path) -> None:
    code = OPEN + (
        "import fcntl\n"
        "g = os.dup(f); h = fcntl.fcntl(f, fcntl.F_DUPFD, 50); os.dup2(f, 60)\n"
        "for fd in (f, g, h, 60): os.write(fd, b'x' * 10)\n"
        "os.close(f); os.write(g, b'x' * 10)\n"
    )
    found = only(python(openmpi, tmp_path, code), "a")
    assert (found["OPENS"], found["DUPS"]) == (4, 3)
    assert (found["BYTES_WRITTEN"], found["MAX_BYTE_WRITTEN"]) == (50, 49)


def test_appending_is_counted_where_the_file_ends(openmpi: Stack, tmp_path: Path) -> None:
    code = OPEN + (
        "g = os.open(here + '/a', os.O_WRONLY | os.O_APPEND)\n"
        "os.pwrite(f, b'x' * 1000, 0); os.write(g, b'y' * 10)\n"
        "os.pwrite(f, b'x' * 1000, 1010); os.write(g, b'y' * 10)\n"
    )
    found = only(python(openmpi, tmp_path, code, dxt=True), "a")
    assert (found["OPENS"], found["MAX_BYTE_WRITTEN"], found["BYTES_WRITTEN"]) == (2, 2019, 2020)


def test_each_write_is_recorded_where_its_bytes_are(openmpi: Stack, tmp_path: Path) -> None:
    """Appended ones, too: by the descriptor's flag, which may change, or the call's. Each writes a
    byte that no other does."""
    code = OPEN + (
        "import fcntl, random\n"
        "name, number, places = here + '/a', 0, []\n"
        "g, end = os.open(name, os.O_RDWR | os.O_APPEND), os.RWF_APPEND\n"
        "d, how = os.dup(g), random.Random(7)\n"
        "calls = [lambda fd, b, at: os.write(fd, b), lambda fd, b, at: os.writev(fd, [b]),\n"
        "    lambda fd, b, at: os.pwrite(fd, b, at), lambda fd, b, at: os.pwritev(fd, [b], at),\n"
        "    lambda fd, b, at: os.pwritev(fd, [b], at, end),\n"
        "    lambda fd, b, at: os.pwritev(fd, [b], -1, end),\n"
        "    lambda fd, b, at: os.pwritev(fd, [b], -1, os.RWF_DSYNC)]\n"
        "while number < 200:\n"
        "    fd, other = how.choice((f, g, d)), how.randrange(9)\n"
        "    if other == 0: os.lseek(fd, how.randrange(500), 0)\n"
        "    if other == 1: fcntl.fcntl(fd, fcntl.F_SETFL, how.choice((0, os.O_APPEND)))\n"
        "    if other == 2: os.pread(fd, 20, how.randrange(500))\n"
        "    if other == 3: os.read(fd, 20)\n"
        "    if other < 4: continue\n"
        "    number += 1\n"
        "    how.choice(calls)(fd, bytes([number]), how.randrange(1000))\n"
        "    places.append(open(name, 'rb').read().index(number))\n"
        "print(places, file=open(os.path.dirname(here) + '/places', 'w'))\n"
    )
    (process,) = python(openmpi, tmp_path, code, dxt=True)
    (record,) = process.records
    found = [offset for offset, *_ in SEGMENT.iter_unpack(record.segments[WRITE])]
    assert found == ast.literal_eval((tmp_path / "places").read_text())
    assert process.whole


def test_truncations_are_recorded(openmpi: Stack, tmp_path: Path) -> None:
    code = OPEN + (
        "import ctypes\n"
        "name, anew = here + '/a', os.O_RDWR | os.O_TRUNC\n"
        "os.write(f, b'x' * 200); os.ftruncate(f, 300); os.truncate(name, 20)\n"
        "os.open(name, anew); os.ftruncate(os.dup(f), 7)\n"
        "assert ctypes.CDLL(None).creat(name.encode(), 0o600) > 0\n"
        "try: os.truncate(here + '/none', 0)\n"
        "except OSError: pass\n"
        "os.ftruncate(os.open(here + '/../b', os.O_RDWR | os.O_CREAT), 5)\n"
        "os.truncate(here + '/../b', 0)\n"
    )
    (process,) = python(openmpi, tmp_path, code, dxt=True)
    (record,) = process.records
    events = EVENT.iter_unpack(process.events)
    cuts = [(file, size) for file, size, *_, kind, _ in events if kind == CUT]
    assert cuts == [(record.id, size) for size in (300, 20, 0, 7, 0)]
    assert counters(record)["WRITES"] == 1


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ("os.lockf(f, os.F_LOCK, 20)", [(LOCK_WRITE, 50, 20)]),
        ("os.lockf(f, os.F_TLOCK, -20)", [(LOCK_WRITE, 30, 20)]),
        ("os.lockf(f, os.F_TEST, 20); os.lockf(f, os.F_ULOCK, 0)", [(UNLOCK, 50, 0)]),
        ("fcntl.lockf(f, fcntl.LOCK_EX, 10, 5, os.SEEK_CUR)", [(LOCK_WRITE, 55, 10)]),
        ("fcntl.lockf(f, fcntl.LOCK_SH, 10, -30, os.SEEK_END)", [(LOCK_READ, 170, 10)]),
        ("fcntl.lockf(f, fcntl.LOCK_UN, -1, 0, os.SEEK_END)", [(UNLOCK, 199, 1)]),
        ("fcntl.lockf(f, fcntl.LOCK_EX, -9, 60)", [(LOCK_WRITE, 51, 9)]),
        ("fcntl.lockf(f, fcntl.LOCK_EX); os.close(g)", [(LOCK_WRITE, 0, 0), (UNLOCK, 0, 0)]),
        ("os.lockf(f, os.F_LOCK, 0); os.dup2(0, g)", [(LOCK_WRITE, 50, 0), (UNLOCK, 0, 0)]),
        ("fcntl.flock(f, fcntl.LOCK_EX); os.close(g)", [(LOCK_WRITE, 0, FLOCK)]),
        (
            "fcntl.flock(f, fcntl.LOCK_SH); os.close(os.dup(f)); os.close(f)",
            [(LOCK_READ, 0, FLOCK), (UNLOCK, 0, FLOCK)],
        ),
        ("own(f, 2, 40, 7); os.close(g)", [(LOCK_WRITE, 240, 7)]),
        ("own(f, 1, 4, 2); os.close(f)", [(LOCK_WRITE, 54, 2), (UNLOCK, 0, 0)]),
    ],
)
def test_locks_are_recorded_as_the_kernel_holds_them(
    openmpi: Stack, tmp_path: Path, calls: str, expected: list[tuple[int, ...]]
) -> None:
    """At offset 50 of a file of 200 bytes. A close ends the process's locks, and its
    descriptor's if it is the last."""
    code = OPEN + (
        "import fcntl, struct\n"
        "def own(fd, *range): fcntl.fcntl(fd, 37, struct.pack('hhqqi', 1, *range, 0))\n"
        "os.write(f, b'x' * 200); os.lseek(f, 50, 0)\n"
        f"g = os.open(here + '/a', os.O_RDWR)\n{calls}\n"
    )
    (process,) = python(openmpi, tmp_path, code, dxt=True)
    events = [(kind, a, b) for _, a, b, *_, kind, _ in EVENT.iter_unpack(process.events)]
    assert [event for event in events if event[0] in LOCKS] == expected


def test_a_forked_child_counts_for_itself_from_the_shared_offset(
    openmpi: Stack, tmp_path: Path
) -> None:
    code = OPEN + (
        "os.write(f, b'x' * 100)\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    os.write(f, b'c' * 30); os._exit(0)\n"
        "os.waitpid(pid, 0); os.write(f, b'p' * 7)\n"
    )
    parent, child = sorted(python(openmpi, tmp_path, code), key=lambda p: p.flags & FORKED)
    assert child.flags & FORKED and not parent.flags & FORKED
    assert child.whole and parent.whole
    ours, theirs = counters(parent.records[0]), counters(child.records[0])
    assert (ours["BYTES_WRITTEN"], ours["MAX_BYTE_WRITTEN"]) == (107, 136)
    assert (theirs["BYTES_WRITTEN"], theirs["MAX_BYTE_WRITTEN"]) == (30, 129)


def test_a_partial_write_counts_what_was_written(openmpi: Stack, tmp_path: Path) -> None:
    code = OPEN + (
        "import resource, signal\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, -1))\n"
        "assert os.write(f, b'x' * 3000) == 1000\n"
        "try: os.write(f, b'x')\n"
        "except OSError: resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1))\n"
        "else: sys.exit('wrote beyond the limit')\n"
    )
    found = only(python(openmpi, tmp_path, code), "a")
    assert (found["WRITES"], found["BYTES_WRITTEN"], found["MAX_BYTE_WRITTEN"]) == (1, 1000, 999)


def test_a_file_opened_twice_and_unlinked_is_one_record(openmpi: Stack, tmp_path: Path) -> None:
    code = OPEN + (
        "g = os.open(here + '/./sub/../a', os.O_RDWR)\n"
        "os.write(f, b'x' * 10); os.write(g, b'y' * 4); os.unlink(here + '/a')\n"
        "os.write(f, b'x' * 10); os.close(f); os.close(g)\n"
        "f = os.open(here + '/a', os.O_RDWR | os.O_CREAT); os.write(f, b'z' * 3)\n"
    )
    found = only(python(openmpi, tmp_path, "os.mkdir(here + '/sub')\n" + code), "a")
    assert (found["OPENS"], found["WRITES"], found["BYTES_WRITTEN"]) == (3, 4, 27)
    assert found["MAX_BYTE_WRITTEN"] == 19


def test_calls_that_fail_count_nothing(openmpi: Stack, tmp_path: Path) -> None:
    code = (
        "f = os.open(here + '/a', os.O_RDONLY | os.O_CREAT)\n"
        "for call in (lambda: os.write(f, b'x'), lambda: os.lseek(f, -1, 0),\n"
        "             lambda: os.open(here + '/none', os.O_RDONLY)):\n"
        "    try: call()\n"
        "    except OSError: continue\n"
        "    sys.exit('did not fail')\n"
    )
    processes = python(openmpi, tmp_path, code)
    found = only(processes, "a")
    assert not {"WRITES", "SEEKS", "BYTES_WRITTEN"} & set(found)
    assert {Path(r.path).name for p in processes for r in p.records} == {"a"}


def test_opening_counts_nothing_for_a_file_closed_unseen(openmpi: Stack, tmp_path: Path) -> None:
    code = OPEN + (
        "import ctypes\n"
        "assert ctypes.CDLL(None).close_range(f, f, 0) == 0\n"
        "assert os.open(here + '/b', os.O_RDWR | os.O_CREAT) == f\n"
        "os.write(f, b'x')\n"
    )
    processes = python(openmpi, tmp_path, code)
    old, new = only(processes, "a"), only(processes, "b")
    assert not {"STATS", "WRITES"} & set(old) and new["WRITES"] == 1 and "STATS" not in new


def test_threads_lose_nothing(openmpi: Stack, tmp_path: Path) -> None:
    code = OPEN + (
        "import threading\n"
        "def work(n):\n"
        "    for i in range(500): os.pwrite(f, b'x' * 64, (n * 500 + i) * 64)\n"
        "crew = [threading.Thread(target=work, args=(n,)) for n in range(4)]\n"
        "[t.start() for t in crew]; [t.join() for t in crew]\n"
    )
    (process,) = python(openmpi, tmp_path, code, dxt=True)
    (record,) = process.records
    found = counters(record)
    assert (found["WRITES"], found["BYTES_WRITTEN"]) == (2000, 128000)
    offsets = {offset for offset, *_ in SEGMENT.iter_unpack(record.segments[WRITE])}
    assert offsets == set(range(0, 128000, 64))
    assert sum(sum(bins) for bins in process.heat["POSIX"].bins) == 128000


def test_each_access_lies_between_the_clocks_before_and_after_it(
    openmpi: Stack, tmp_path: Path
) -> None:
    """Of more than are counted together; the one after a pause closes its stretch."""
    code = OPEN + (
        "import time\nseen = []\n"
        "for i in range(300):\n"
        "    if i % 90 == 80: time.sleep(0.3)\n"
        "    before = time.monotonic(); os.pwrite(f, b'x' * 64, i * 64)\n"
        "    seen.append((before, time.monotonic()))\n"
        "print(seen, file=open(os.path.dirname(here) + '/seen', 'w'))\n"
    )
    (process,) = python(openmpi, tmp_path, code, dxt=True)
    (record,) = process.records
    found = [times for _, _, *times in SEGMENT.iter_unpack(record.segments[WRITE])]
    seen = ast.literal_eval((tmp_path / "seen").read_text())
    assert len(found) == len(seen) == 300
    off = 1e-3  # an interrupted reading of the clock
    began = process.monotonic * 1e-9
    for (start, end), (before, after), following in zip(
        found, seen, [*found[1:], (1e9, 1e9)], strict=True
    ):
        assert before - off < began + start <= began + end < after + off
        assert end <= following[0]


def test_renaming_and_mapping(openmpi: Stack, tmp_path: Path) -> None:
    code = OPEN + (
        "import mmap\n"
        "os.write(f, b'x' * 10); mmap.mmap(f, 10); os.rename(here + '/a', here + '/b')\n"
    )
    processes = python(openmpi, tmp_path, code)
    old, new = only(processes, "a"), only(processes, "b")
    assert (old["RENAME_SOURCES"], old["MMAPS"], new["RENAME_TARGETS"]) == (1, 1, 1)
    (identity,) = {r.id for r in processes[0].records if r.path.endswith("/a")}
    assert new["RENAMED_FROM"] % 2**64 == identity


def test_files_elsewhere_and_probes_of_libraries_are_left_out(
    openmpi: Stack, tmp_path: Path
) -> None:
    code = OPEN + (
        "for name in (here + '/../outside', here + '-beside', here + '/a.locktest.3'):\n"
        "    open(name, 'w').close(); os.write(os.open(name, os.O_WRONLY), b'x')\n"
    )
    (process,) = python(openmpi, tmp_path, code)
    assert {Path(record.path).name for record in process.records} == {"a"}


@pytest.mark.parametrize(
    ("include", "shown"),
    [
        ("real/data", "real/data"), ("link/data", "link/data"), ("link//data/", "link/data"),
        (".", "real/data"), ("real/data/in", "real/data/in"), ("link/data/in", "link/data/in"),
        ("elsewhere:link", "link/data"), (None, "real/data"),
    ],
)  # fmt: skip
def test_a_file_has_one_name_whatever_links_lead_to_it(
    openmpi: Stack, tmp_path: Path, include: str | None, shown: str
) -> None:
    (tmp_path / "real" / "data").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "real" / "data" / "inner").symlink_to(tmp_path / "link" / "data" / "in")
    folders = [f"{tmp_path}/{name}/data" for name in ("real", "link")] + ["."]
    names = [f"{folder}/{inner}/a" for folder in folders for inner in ("in", "inner")]
    code = f"import os\nos.mkdir('in')\nfor name in {names}: os.open(name, os.O_RDWR | os.O_CREAT)"
    given = ":".join(f"{tmp_path}/{one}" for one in include.split(":")) if include else ""
    variables = preload(openmpi, tmp_path / "traces", tmp_path) | {"IOGAUGE_TRACE_INCLUDE": given}
    words = ["env", "-C", f"{tmp_path}/link/data", sys.executable, "-c", code]
    assert traced(words, variables).returncode == 0
    (process,) = traces_in(tmp_path / "traces")
    (found,) = [one for one in process.records if one.path.endswith("/a")]
    assert (found.path, counters(found)["OPENS"]) == (
        f"{tmp_path}/{shown.removesuffix('/in')}/in/a",
        len(names),
    )


def test_a_link_to_a_folder_elsewhere_is_recorded(openmpi: Stack, tmp_path: Path) -> None:
    code = "os.mkdir(here + '/../other'); os.symlink('../other', here + '/link')\n"
    (process,) = python(openmpi, tmp_path, code + OPEN.replace("/a", "/link/a"))
    assert [one.path for one in process.records] == [f"{tmp_path}/data/link/a"]


@pytest.mark.parametrize("end", ["os._exit(0)", "sys.exit(0)", "os.abort()"])
def test_a_program_without_mpi_leaves_a_trace_unless_it_is_killed(
    openmpi: Stack, tmp_path: Path, end: str
) -> None:
    code = OPEN + f"if os.fork() == 0:\n    os.write(f, b'x'); {end}\nos.wait()\n"
    traces = python(openmpi, tmp_path, code)
    assert [bool(t.flags & FORKED) for t in traces].count(True) == (0 if "abort" in end else 1)


def test_a_trace_that_cannot_be_written_is_named(openmpi: Stack, tmp_path: Path) -> None:
    traces = tmp_path / "traces"
    code = (
        f"import shutil; open({str(tmp_path / 'a')!r}, 'w').close(); shutil.rmtree({str(traces)!r})"
    )
    done = traced([sys.executable, "-c", code], preload(openmpi, traces, tmp_path))
    assert done.returncode == 0
    said = f"process 0 on {socket.gethostname()}: no trace in {traces}/process-000000-"
    assert f"iogauge recorder: {said}" in done.stderr and "No such file or directory" in done.stderr
