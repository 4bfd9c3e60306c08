# SPDX-License-Identifier: BSD-3-Clause
"""tools/bench: what it reads from the programs, and what it runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from iogauge.measure.iokernel import Stack
from tools.bench import upstream as bench

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
    assert bench.parsed("iokernel", json.dumps({"samples": samples})) == {"write": 2, "read": 8}
    only = json.dumps({"samples": [sample(3.0, None)]})
    assert bench.parsed("iokernel", only) == {"write": 3.0}
    assert bench.parsed("ior", IOR_SUMMARY) == {"write": 2729.03, "read": 10063.0}


def test_s3d_io_is_all_bytes_over_all_time_not_the_write_phase() -> None:
    assert bench.parsed("s3d_io.x", S3D_SUMMARY) == {"total": 551.87}


def test_phases_are_rates_of_the_slowest_process() -> None:
    """Upstream's columns: 1 to 4 write and 5 to 8 read; 9 and 10 opening, 11 and 12 closing."""
    theirs = bench.parsed("benchmark_hdf5", TABLE)
    assert theirs["write coordinates"] == pytest.approx(1 / 1.3)
    assert theirs["read arrays"] == pytest.approx(1 / 8.3)
    assert theirs["read close"] == pytest.approx(1 / 12.3)
    ours = bench.parsed("cgns-unstructured", json.dumps(stretches()))
    assert set(ours) == set(theirs) == set(bench.PHASES)
    assert (ours["read fields"], ours["write open"]) == (1 / 3, 1 / 8)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"tests": []}', '{"samples": [{}]}', "2 0.1 0.1"])
@pytest.mark.parametrize("by", bench.PARSERS)
def test_output_that_is_cut_off_is_said(by: str, text: str) -> None:
    with pytest.raises(bench.NotParsed):
        bench.parsed(by, text)


@pytest.mark.parametrize(
    ("processes", "grid"),
    [(1, (1, 1, 1)), (2, (2, 1, 1)), (4, (2, 2, 1)), (6, (3, 2, 1)), (8, (2, 2, 2))],
)
def test_process_grids(processes: int, grid: tuple[int, int, int]) -> None:
    assert bench.process_grid(processes) == grid


def test_both_get_the_same_words_but_for_the_report() -> None:
    cases = {(case.program, case.label): case for case in bench.cases(2, 8 << 20, fsync=True)}
    case = cases["ior", "HDF5 -c, 1m"]
    words = "-a HDF5 -c -b 4194304 -t 1048576 -i 3 -w -r -o {}/file -e"
    assert case.ours.words == f"ior {words} --buffer reused --json {{}}/summary"
    assert case.upstream.words.startswith(f"{words} --hdf5.noFill -O")
    s3d = cases["s3d_io.x", "nonblocking"]
    assert s3d.ours == s3d.upstream and s3d.ours.words == "40 40 40 2 1 1 1 F {}"
    assert len(cases) == 2 * len(bench.IOR_CALLS) + 2 + 2


def test_a_pair_is_a_ratio_and_the_first_alternates(tmp_path: Path) -> None:
    """Programs that print S3D-IO's line; upstream's is half as fast."""
    programs = {}
    for name, rate in (("upstream", 50), ("s3d_io.x", 100)):
        programs[name] = tmp_path / name
        lines = f"#!/bin/sh\necho {name} >> {tmp_path}/ran\necho 'I/O bandwidth : {rate}.0 MiB/s'\n"
        programs[name].write_text(lines)
        programs[name].chmod(0o755)
    launch = tmp_path / "launch"
    launch.write_text('#!/bin/sh\nshift 2; exec "$@"\n')
    launch.chmod(0o755)
    stack = Stack("made", tmp_path / "iokernel", (str(launch),))
    case = next(c for c in bench.cases(2, 8 << 20, fsync=False) if c.program == "s3d_io.x")
    found = bench.pairs(case, stack, programs["upstream"], 2, tmp_path, 6)
    order = (tmp_path / "ran").read_text().split()
    assert order[:4] == ["s3d_io.x", "upstream", "upstream", "s3d_io.x"]
    (row,) = bench.rows(["s3d_io.x"], found)
    assert row == "| s3d_io.x | total | 100 | 50 | 2.00 | 2.00 to 2.00 | faster |"


def test_each_place_of_the_folder_is_filled_in(tmp_path: Path) -> None:
    """IOR's words name it twice: of the data, and of the summary."""
    program = tmp_path / "ior"
    line = 'for word; do last=${word#*=}; done; cp "$SUMMARY" "$last"'
    program.write_text(f"#!/bin/sh\n{line}\n")
    program.chmod(0o755)
    launch = tmp_path / "launch"
    launch.write_text('#!/bin/sh\nshift 2; exec "$@"\n')
    launch.chmod(0o755)
    (tmp_path / "made.json").write_text(IOR_SUMMARY)
    summary = {"SUMMARY": str(tmp_path / "made.json")}
    stack = Stack("made", program, (str(launch),), summary)
    case = next(c for c in bench.cases(2, 8 << 20, fsync=False) if c.program == "ior")
    found = case.upstream.measure(stack, 2, tmp_path)
    assert found == {"write": 2729.03, "read": 10063.0}
