# SPDX-License-Identifier: BSD-3-Clause
"""Traces of Recorder, as recorder2text writes them: from IOR's `-a POSIX -b 4k -t 1k -s 2` by 2
processes (tests/data/recorder), and lines that are made up."""

from __future__ import annotations

from pathlib import Path

import pytest

from iogauge.analysis.replay import check, plan, recorder_text, trace
from iogauge.analysis.replay.trace import READ, WRITE
from iogauge.cli.main import main

DATA = Path(__file__).parents[2] / "data" / "recorder"


def made(folder: Path, *calls: str) -> Path:
    """A trace of one process; each call takes 0.1 s."""
    text = folder / "_text"
    text.mkdir()
    lines = [f"{i}.0000000 {i}.1000000 {call} )\n" for i, call in enumerate(calls)]
    (text / "0.txt").write_text("".join(lines))
    return folder


def rows(found: trace.Trace, rank: int = 0) -> list[tuple[str, int, int, int]]:
    return [
        (found.files[row["file"]].path, int(row["write"]), int(row["offset"]), int(row["length"]))
        for row in found.accesses[rank]
    ]


def test_a_real_one(tmp_path: Path) -> None:
    """Each process writes 4 KiB in calls of 1 KiB, and again behind both; then it reads them."""
    found = trace.load(DATA)
    for rank in (0, 1):
        places = [8192 * s + 4096 * rank + 1024 * k for s in (0, 1) for k in range(4)]
        assert rows(found, rank) == [
            ("/scratch/me/dump", way, place, 1024) for way in (WRITE, READ) for place in places
        ]
    assert [check.sums(found, way).bytes for way in (WRITE, READ)] == [16384, 16384]
    made_of_it = plan.make(found, tmp_path / "s")
    assert len(made_of_it.phases) == 2 and not made_of_it.undefined
    assert found.files[0].count("OPENS") == 4


def test_positions(tmp_path: Path) -> None:
    """Of the file's own pointer, of several files, and of a name with a blank."""
    found = trace.load(made(
        tmp_path, "open 0 0 ( /d/a b 66 436", "write 0 0 ( /d/a b %p 10",
        "open64 0 0 ( /d/c 0", "pread64 1 0 ( /d/c %p 7 100", "lseek 0 0 ( /d/a b 5 1",
        "writev 0 0 ( /d/a b 20 2", "MPI_Barrier 0 1 ( MPI_COMM_WORLD", "read 0 0 ( /d/c %p 8",
        "fsync 0 0 ( /d/a b", "close 0 0 ( /d/a b", "fwrite 0 0 ( %p 1 8 /d/e",
    ))  # fmt: skip
    assert rows(found) == [
        ("/d/a b", WRITE, 0, 10), ("/d/c", READ, 100, 7), ("/d/a b", WRITE, 15, 20),
        ("/d/c", READ, 0, 8),
    ]  # fmt: skip
    assert found.files[0].count("FSYNCS") == 1
    assert "not replayed: fwrite" in found.notes


def test_a_file_of_ompio_is_no_data(tmp_path: Path) -> None:
    """The file of its shared file pointer, which lies beside the program's own."""
    found = trace.load(made(
        tmp_path, "write 0 0 ( /d/a %p 10", "write 0 0 ( /d/a_cid-1-12151.sm %p 40",
        "write 0 0 ( /d/a_cid-x.sm %p 4",
    ))  # fmt: skip
    assert [one.path for one in found.files] == ["/d/a", "/d/a_cid-x.sm"]


@pytest.mark.parametrize("call", ["MPI_File_open", "MPI_Barrier"])
def test_only_a_program_of_mpi_io_is_said_to_be_replayed_without_it(
    call: str, tmp_path: Path
) -> None:
    found = trace.load(made(tmp_path, f"{call} 0 0 ( x", "write 0 0 ( /d/a %p 10"))
    said = any("POSIX calls of its MPI library" in line for line in found.notes)
    assert said == call.startswith("MPI_File_")


def test_calls_that_the_clock_does_not_tell_apart(tmp_path: Path) -> None:
    folder = made(tmp_path)
    lines = [f"0.0000010 0.0000010 pwrite 0 0 ( /d/{k % 3} %p 1 {9 - k} )\n" for k in range(9)]
    (folder / "_text" / "0.txt").write_text("".join(lines))
    assert [row[2] for row in rows(trace.load(folder))] == list(range(9, 0, -1))


@pytest.mark.parametrize(
    ("call", "says"),
    [
        ("write 0 0 ( /d/a %p x", "write at 1.0000000 s: invalid literal"),
        ("pwrite 0 0 ( /d/a %p 8 -9", "a negative offset or size"),
        ("lseek 0 0 ( /d/a 0 2", "whose size is not in the trace"),
        ("open 0 0 ( /d/a 1025", "whose size is not in the trace"),
        ("nonsense", "0.txt: line 2 is not a call: 1.0000000 1.1000000 nonsense )"),
    ],
)
def test_what_cannot_be_known(
    tmp_path: Path, call: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = made(tmp_path, "open 0 0 ( /d/a 66 436", call, "write 0 0 ( /d/a %p 8")
    assert main(["replay", "plan", str(folder), "-o", str(tmp_path / "s")]) == 3
    assert says in capsys.readouterr().err


def test_a_process_is_missing_or_cut(tmp_path: Path) -> None:
    folder = made(tmp_path, "write 0 0 ( /d/a %p 8")
    text = folder / "_text" / "0.txt"
    (folder / "_text" / "2.txt").write_text(text.read_text())
    with pytest.raises(recorder_text.BrokenTextError, match=r"from 0\.txt on"):
        trace.load(folder)
    (folder / "_text" / "2.txt").unlink()
    text.write_text(text.read_text()[:-4])
    with pytest.raises(recorder_text.BrokenTextError, match="line 1 is not a call"):
        trace.load(folder)
