# SPDX-License-Identifier: BSD-3-Clause
"""tests/bench.py: what it reads from the programs, and what it runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from iogauge.measure.iokernel import Stack
from tests import bench

# IOR 4.1, `-O summaryFormat=JSON`, cut to what is read.
IOR_SUMMARY = """{
  "Version": "4.1.0+dev",
  "tests": [{"TestID": 0, "Results": [
    {"access": "write", "bwMiB": 2432.49, "openTime": 0.0033, "totalTime": 0.0526},
    {"access": "read", "bwMiB": 9875.1, "openTime": 0.0010, "totalTime": 0.0130},
    {"access": "remove", "totalTime": 0.0100},
    {"access": "write", "bwMiB": 2735.38, "openTime": 0.0008, "totalTime": 0.0468},
    {"access": "read", "bwMiB": 10063.0, "openTime": 0.0007, "totalTime": 0.0127},
    {"access": "write", "bwMiB": 2729.03, "openTime": 0.0008, "totalTime": 0.0469},
    {"access": "read", "bwMiB": 10410.5, "openTime": 0.0007, "totalTime": 0.0123}
  ]}]
}"""

S3D_SUMMARY = """ ++++ I/O is done through PnetCDF ++++
 I/O method          : blocking APIs
 Run with restart    : False
 No. MPI processes   :       2
 Time for write      :        1.10 sec
 write bandwidth     :      556.40 MiB/s
 -----------------------------------------------
 total I/O   amount  :        0.60 GiB
 total I/O   time    :        1.11 sec
 I/O   bandwidth     :      551.87 MiB/s
"""


def sample(write: float | None, read: float | None) -> dict[str, object]:
    both = {"write": write, "read": read}
    return {d: None if bw is None else {"bandwidth": bw} for d, bw in both.items()}


# As benchmark_hdf5.c prints it: average, minimum and maximum of each of 15 times.
TIMES = [(index + 0.2, index + 0.1, index + 0.3) for index in range(15)]
TABLE = (
    "#nelem = 1024 \n#nprocs, total time, write: coord., ...\n2"
    + "".join(f" {a:.3f} {low:.3f} {high:.3f} " for a, low, high in TIMES)
    + " 0 0 0 0 \n"
)
STRETCHES = ("coordinates", "elements", "fields", "arrays")


def stretches() -> dict[str, Any]:
    found = [{"name": name, "min": 0.1, "max": 1.0 + i} for i, name in enumerate(STRETCHES)]
    phases = {name: {"min": 0, "max": 8.0} for name in ("create", "open", "close")}
    one = {"phases": phases, "stretches": found}
    return {"samples": [{"write": one, "read": one}]}


def test_figures_are_medians_of_the_repeats() -> None:
    samples = [sample(3.0, 9.0), sample(1.0, 7.0), sample(2.0, 8.0)]
    assert bench.of_iokernel(json.dumps({"samples": samples})) == {"write": 2, "read": 8}
    only = json.dumps({"samples": [sample(3.0, None)]})
    assert bench.of_iokernel(only) == {"write": 3.0}
    assert bench.of_ior(IOR_SUMMARY) == {"write": 2729.03, "read": 10063.0}


def test_s3d_io_is_all_bytes_over_all_time_not_the_write_phase() -> None:
    assert bench.of_s3d(S3D_SUMMARY) == {"total": 551.87}


def test_phases_are_rates_of_the_slowest_process() -> None:
    """Upstream's columns: 1 to 4 write and 5 to 8 read; 9 and 10 opening, 11 and 12 closing."""
    theirs = bench.of_benchmark_hdf5(TABLE)
    assert theirs["write coordinates"] == pytest.approx(1 / 1.3)
    assert theirs["read arrays"] == pytest.approx(1 / 8.3)
    assert theirs["read close"] == pytest.approx(1 / 12.3)
    ours = bench.of_mesh(json.dumps(stretches()))
    assert set(ours) == set(theirs) == set(bench.PHASES)
    assert (ours["read fields"], ours["write open"]) == (1 / 3, 1 / 8)


PARSERS = (
    bench.of_fastest,
    bench.of_iokernel, bench.of_ior, bench.of_s3d, bench.of_mesh, bench.of_benchmark_hdf5,
)  # fmt: skip


@pytest.fixture
def stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stack:
    """Its launcher starts one process, and each variable names upstream's program, a script."""
    for name in ("iokernel", "s3d_io.x", "upstream"):
        script(tmp_path / name)
    script(tmp_path / "launch", 'shift 2; exec "$@"')
    monkeypatch.setattr(bench, "linked_to", lambda program, library: True)
    for variable in ("IOR", "S3D_IO", "CGNS_BENCH"):
        monkeypatch.setenv(variable, str(tmp_path / "upstream"))
    return Stack("mpich", tmp_path / "iokernel", (str(tmp_path / "launch"),))


def script(path: Path, *lines: str) -> None:
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    path.chmod(0o755)


def named(stack: Stack, program: str, label: str, on_disk: bool = False) -> bench.Comparison:
    found = bench.cases(stack, 2, 8 << 20, on_disk)
    return next(one for one in found if (one.program, one.label) == (program, label))


@pytest.mark.parametrize("text", ["", "{", "[]", '{"tests": []}', '{"samples": [{}]}', "2 0.1 0.1"])
@pytest.mark.parametrize("figures", PARSERS, ids=lambda one: one.__name__)
def test_output_that_is_cut_off_is_refused(
    figures: Callable[[str], bench.Figures], text: str
) -> None:
    with pytest.raises(bench.UNREADABLE):
        figures(text)


def test_a_program_without_its_line_is_named(stack: Stack, tmp_path: Path) -> None:
    case = named(stack, "s3d_io.x", "blocking")
    with pytest.raises(bench.NoFigures, match=r"no line .* printed by .*/upstream 40 40 40"):
        case.other.measure(stack, 2, tmp_path)


def test_both_get_the_same_words_but_for_the_report(stack: Stack) -> None:
    case = named(stack, "ior", "HDF5 -c, 1m", on_disk=True)
    words = "-a HDF5 -c -b 4194304 -t 1048576 -i 3 -w -r -o {}/file -e"
    assert case.ours.words == f"ior {words} --buffer reused --json {{}}/summary"
    assert case.other.words.startswith(f"{words} --hdf5.noFill -O")
    s3d = named(stack, "s3d_io.x", "nonblocking")
    assert s3d.ours.words == s3d.other.words == "40 40 40 2 1 1 1 F {}"
    found = list(bench.cases(stack, 2, 8 << 20, on_disk=True))
    assert len(found) == 2 * len(bench.IOR_CALLS) + 2 + 2


def test_only_the_recorder_is_compared_without_programs(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "linked_to", lambda program, library: False)
    assert list(bench.cases(stack, 2, 8 << 20, on_disk=True)) == []
    found = list(bench.cases(stack, 2, 8 << 20, on_disk=False))
    assert [(one.program, one.label) for one in found] == [
        ("recorder", "1048576 bytes"), ("recorder", "4096 bytes")
    ]  # fmt: skip


def test_a_recorder_that_recorded_nothing_is_no_result(stack: Stack, tmp_path: Path) -> None:
    """Its runs would be as fast as those without it."""
    script(
        tmp_path / "iokernel",
        "for word; do last=$word; done",
        'echo \'{"samples": [{"write": {"phases": {"write": {"max": 0.5}}}}]}\' > "$last"',
    )
    case = named(stack, "recorder", "4096 bytes")
    assert case.other.measure(stack, 2, tmp_path) == {"write": 2}
    with pytest.raises(bench.NoFigures, match=r"no \*\.trace was written by"):
        case.ours.measure(stack, 2, tmp_path)


def test_a_pair_is_a_ratio_and_the_first_alternates(stack: Stack, tmp_path: Path) -> None:
    """Programs that print S3D-IO's line; upstream's is half as fast."""
    for name, rate in (("upstream", 50), ("s3d_io.x", 100)):
        log = f"echo {name} >> {tmp_path}/ran"
        script(tmp_path / name, log, f"echo 'I/O bandwidth : {rate}.0 MiB/s'")
    found = named(stack, "s3d_io.x", "blocking").pairs(stack, 2, tmp_path, 6)
    order = (tmp_path / "ran").read_text().split()
    assert order[:4] == ["s3d_io.x", "upstream", "upstream", "s3d_io.x"]
    (row,) = bench.rows(["s3d_io.x"], found)
    assert row == "| s3d_io.x | total | 100 | 50 | 2 | 2 to 2 | faster |"


def test_each_place_of_the_folder_is_filled_in(stack: Stack, tmp_path: Path) -> None:
    """IOR's words name it twice: of the data, and of the summary."""
    line = f'for word; do last=${{word#*=}}; done; cp {tmp_path}/made.json "$last"'
    script(tmp_path / "upstream", line)
    (tmp_path / "made.json").write_text(IOR_SUMMARY)
    case = named(stack, "ior", "POSIX, 1m")
    assert case.other.measure(stack, 2, tmp_path) == {"write": 2729.03, "read": 10063.0}
