# SPDX-License-Identifier: BSD-3-Clause
"""`make bench`: what it reads from the programs, what it makes of the ratios, what it runs."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import cast

import pytest

from tools.bench import cases as bench_cases
from tools.bench import parse as bench_parse
from tools.bench import quiet as bench_quiet
from tools.bench import stats as bench_stats
from tools.bench import twophase
from tools.bench.cases import Case, Choice

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


def test_ior_gives_the_median_of_its_repeats() -> None:
    assert bench_parse.ior(IOR_SUMMARY) == {"write": 2729.03, "read": 10063.0}


def test_iokernel_gives_the_median_of_its_repeats() -> None:
    document = json.dumps({"samples": [sample(3.0, 9.0), sample(1.0, 7.0), sample(2.0, 8.0)]})
    assert bench_parse.iokernel(document) == {"write": 2.0, "read": 8.0}


def test_a_direction_that_did_not_run_is_left_out() -> None:
    assert bench_parse.iokernel(json.dumps({"samples": [sample(3.0, None)]})) == {"write": 3.0}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"tests": []}', '{"samples": [{}]}', "{}"])
def test_a_summary_that_is_cut_off_is_said(text: str) -> None:
    with pytest.raises(bench_parse.NotParsed):
        bench_parse.ior(text)
    with pytest.raises(bench_parse.NotParsed):
        bench_parse.iokernel(text)


def test_s3d_io_is_all_bytes_over_all_time_not_the_write_phase() -> None:
    assert bench_parse.s3d_io(S3D_SUMMARY) == {"total": 551.87}


@pytest.mark.parametrize("text", ["", " I/O   bandwidth     :  ********** MiB/s\n"])
def test_s3d_io_without_a_number_is_said(text: str) -> None:
    with pytest.raises(bench_parse.NotParsed):
        bench_parse.s3d_io(text)


def test_values_are_those_of_the_slowest_process() -> None:
    lines = [
        {"fill": {"ior": 12.0, "s3d": 11.0}, "verify": {"ior": 9.0, "s3d": 8.0}},
        {"fill": {"ior": 10.0, "s3d": 13.0}, "verify": {"ior": 9.5, "s3d": 7.0}},
    ]
    stdout = "a launcher's word\n" + "\n".join(map(json.dumps, lines))
    assert bench_parse.values(stdout) == {
        "fill": {"ior": 10.0, "s3d": 11.0},
        "verify": {"ior": 9.0, "s3d": 7.0},
    }
    with pytest.raises(bench_parse.NotParsed):
        bench_parse.values("nothing\n")


def test_the_ratio_is_the_median_of_the_pairs_not_the_ratio_of_medians() -> None:
    result = bench_stats.ratio([100.0, 10.0, 50.0] * 2, [50.0, 10.0, 100.0] * 2)
    assert (result.value, result.low, result.high) == (1.0, 0.5, 2.0)
    assert bench_stats.ends(result) == "0.50 .. 2.00"


@pytest.mark.parametrize(
    ("ratios", "verdict"),
    [
        ([0.9] * 6, "slower"),
        ([0.9, 0.9, 0.9, 0.9, 0.9, 1.1], "no difference seen"),
        ([1.1, 1.2, 1.3, 1.2, 1.1, 1.2], "faster"),
        ([0.5] * 5, "too few samples"),
        ([0.9] * 8 + [1.5], "slower"),  # one outlier of nine does not hide it
    ],
)
def test_verdicts(ratios: list[float], verdict: str) -> None:
    found = bench_stats.ratio(ratios, [1.0] * len(ratios))
    assert found.verdict == verdict
    assert (bench_stats.ends(found) == "too few pairs") == (verdict == "too few samples")


@pytest.mark.parametrize(
    ("ours", "upstream"), [([], []), ([1.0], [1.0, 2.0]), ([0.0], [1.0]), ([1.0], [float("nan")])]
)
def test_what_is_no_pair_is_refused(ours: list[float], upstream: list[float]) -> None:
    with pytest.raises(ValueError, match=r"pair up|above zero"):
        bench_stats.ratio(ours, upstream)


def test_who_goes_first_alternates() -> None:
    order = [bench_stats.first_of_pair(pair) for pair in range(4)]
    assert order == ["ours", "upstream", "ours", "upstream"]


def test_busy_time_leaves_out_idle_and_waiting() -> None:
    one = "cpu  100 10 50 9000 700 5 5 30 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n"
    ticks = 100 + 10 + 50 + 5 + 5 + 30
    assert bench_quiet.busy_seconds(one) * os.sysconf("SC_CLK_TCK") == ticks
    assert bench_quiet.busy_seconds("") == 0


def test_others_are_what_the_children_did_not_use() -> None:
    before = bench_quiet.Clock(at=10.0, machine=100.0, children=5.0)
    after = bench_quiet.Clock(at=14.0, machine=106.0, children=7.0)
    assert bench_quiet.others_share(before, after, cores=2) == pytest.approx(0.5)
    assert bench_quiet.others_share(before, before, cores=2) == 0


def case(**changes: object) -> Case:
    fields: dict[str, object] = {
        "program": "ior", "call": "HDF5 -c", "stack": "openmpi", "processes": 2,
        "filesystem": "disk", "size": 8 << 20, "transfer": 1 << 20, "fsync": True, "repeats": 3,
    }  # fmt: skip
    return Case(**{**fields, **changes})  # type: ignore[arg-type]


def test_both_get_the_same_words_but_for_the_report() -> None:
    folder = Path("/x")
    ours = bench_cases.ior_command(case(), Path("/iokernel"), folder, upstream=False)
    theirs = bench_cases.ior_command(case(), Path("/ior"), folder, upstream=True)
    words = "-a HDF5 -c -b 4194304 -t 1048576 -s 1 -i 3 -w -r -e -o /x/file"
    same = words.split()
    mine = ["--buffer", "reused", "--json", "/x/summary.json"]  # IOR has one buffer too
    assert ours == ["/iokernel", "ior", *same, *mine]
    assert theirs[: len(same) + 1] == ["/ior", *same]
    assert "--hdf5.noFill" in theirs


@pytest.mark.parametrize(
    ("processes", "grid"),
    [(1, (1, 1, 1)), (2, (2, 1, 1)), (4, (2, 2, 1)), (6, (3, 2, 1)), (8, (2, 2, 2))],
)
def test_process_grids(processes: int, grid: tuple[int, int, int]) -> None:
    assert bench_cases.process_grid(processes) == grid


def test_s3d_grids_divide_by_their_processes() -> None:
    assert bench_cases.s3d_grid(128 * 100**3, (2, 2, 1)) == (100, 100, 100)
    assert bench_cases.s3d_grid(128, (3, 2, 1)) == (3, 2, 1)
    command = bench_cases.s3d_command(
        case(program="s3d_io.x", call="nonblocking", size=128 * 10**6), Path("s"), Path("/d")
    )
    assert command == ["s", "100", "100", "100", "2", "1", "1", "1", "F", "/d"]


def test_the_cases_of_a_session() -> None:
    choice = Choice(
        processes={"openmpi": (2, 4), "mpich": (2,)},
        filesystems=("ram", "disk"),
        transfers={"ram": (0, 2**20), "disk": (0,)},
        size=128 << 20,
        repeats=3,
    )
    cases = list(choice.cases())
    calls = len(bench_cases.IOR_CALLS)
    assert len(cases) == 3 * 2 * calls + 3 * calls + 6 * len(bench_cases.S3D_METHODS)
    assert {c.fsync for c in cases if c.filesystem == "ram"} == {False}
    assert all(c.transfer == c.size // c.processes for c in cases if c.transfer_label == "block")
    assert all(c.size // c.processes % (c.transfer or 1) == 0 for c in cases)


def test_shares_and_ratios_of_ways_to_one_shared_file() -> None:
    """Upstream prints no ceilings: its share is of what the round's other jobs measured."""

    class Runs:
        def measure(self, case: twophase.Case) -> list[twophase.Sample]:
            if case.upstream:
                return [{"write": {"bandwidth": 10.0}}]
            ceilings = {"shared": {"write": 100.0, "read": 400.0}}
            return [
                {"write": {"bandwidth": w}, "read": {"bandwidth": 2 * w}, "ceilings": ceilings}
                for w in (40.0, 50.0, 60.0)
            ]

    wanted = [twophase.Case("S3D-IO", (), upstream=True), twophase.Case("twophase raw", ())]
    found = twophase.rounds(cast(twophase.Bench, Runs()), wanted, 6)
    head, _, *rows = twophase.table(found)
    assert "over S3D-IO and twophase raw" in head
    assert [row.split(" | ")[:6] for row in rows] == [
        ["| S3D-IO", "write", "10", "0.10", "0.10 .. 0.10", "1.00"],
        ["| twophase raw", "write", "50", "0.50", "0.50 .. 0.50", "5.00"],
        ["| twophase raw", "read", "100", "0.25", "0.25 .. 0.25", "1.00"],
    ]
    assert not twophase.reached(found)  # 50 % of the ceiling, 80 wanted
    lines = list(twophase.curve({("2x2x2", 1): found, ("2x2x2", 8): found}, [1, 8]))
    assert lines[-1] == "| 2x2x2 | twophase raw | read | 100 (0.25) | 100 (0.25) |"
