# SPDX-License-Identifier: BSD-3-Clause
"""Times of single calls of a trace: exact percentiles by phase, call and process; the pictures."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from iogauge.analysis.darshan.log import Heat, Log, Segments, read_log
from iogauge.analysis.judge import bottleneck
from iogauge.analysis.ledger import calls
from iogauge.analysis.ledger.phases import OUTSIDE, Singly, singly
from iogauge.analysis.pages import calls_chart, trace_text
from iogauge.cli.main import main

DATA = Path(__file__).parents[2] / "data" / "darshan"
START = 1.7e9
Access = tuple[int, int, float, float]


def log_of(segments: list[Segments], **more: Any) -> Log:
    return Log(Path("log"), "test", 3, START, 99.0, "", (), (), {}, (),
               segments=tuple(segments), **more)  # fmt: skip


def of_all(log: Log) -> Singly:
    return singly(log, {}, lambda _: True)


def each_ms(n: int, at: float = 0.0) -> list[Access]:
    """One after the other, the first lasts 1 ms, the last `n`; the longest come first."""
    return [(0, 10, at + i, at + i + (n - i) / 1000) for i in range(n)]


def test_percentiles_are_of_the_sorted_calls() -> None:
    """So many of 100 took that long at most: of 1 to 1000 ms, 50 % took 500 ms or less."""
    (one,) = calls.times(of_all(log_of([Segments("POSIX", "/f", 2, each_ms(1000), [])])), "call")
    assert (one["call"], one["calls"], one["process"]) == ("POSIX write", 1000, None)
    assert one["seconds"] == pytest.approx(500.5)
    wanted = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999, "max": 1.0}
    assert {name: one[name] for name in wanted} == pytest.approx(wanted)


def test_processes_files_and_directions_are_apart_and_together() -> None:
    short, long = [(0, 1, 0.0, 0.001)] * 9, [(0, 1, 0.0, 0.1)]
    found = of_all(log_of([
        Segments("POSIX", "/a", 0, short, long), Segments("POSIX", "/b", 0, short, []),
        Segments("POSIX", "/a", 1, long, []), Segments("MPI-IO", "/a", 1, long, []),
    ]))  # fmt: skip
    rows = {(r["call"], r["process"]): (r["calls"], r["max"])
            for r in calls.times(found, "call", "process")}  # fmt: skip
    assert rows == {
        ("POSIX write", 0): (18, 0.001), ("POSIX read", 0): (1, 0.1), ("POSIX write", 1): (1, 0.1),
        ("MPI-IO write", 1): (1, 0.1),
    }  # fmt: skip
    (write, *_) = calls.by_phase(found)
    assert (write[0]["calls"], write[0]["p50"], write[0]["p99"]) == (19, 0.001, 0.1)
    assert write[1]["process"] == 1, "it took longest"
    assert calls.lowest_layer(found) == "POSIX"
    assert calls.times(of_all(log_of([])), "call", "process") == []


def test_a_call_is_of_the_phase_in_which_it_began() -> None:
    spans = [{"phase": "create", "begin": START, "end": START + 1},
             {"phase": "write", "begin": START + 1, "end": START + 9}]  # fmt: skip
    document = {"samples": [{"write": {"spans": spans}}]}
    at = [(0, 1, when, when + 3) for when in (0.5, 2.0, 3.0, 20.0)]
    found = singly(log_of([Segments("POSIX", "/f", 0, at, [])]), document, lambda _: True)
    assert {r["phase"]: r["calls"] for r in calls.times(found, "phase", "call")} == {
        "write: create": 1, "write: write": 2, OUTSIDE: 1,
    }  # fmt: skip
    assert not len(singly(log_of([Segments("POSIX", "/f", 0, at, [])]), document,
                          lambda path: path != "/f").rows), "files of others"  # fmt: skip


def test_throughput_spreads_a_call_over_its_time() -> None:
    """10 s: 100 intervals of 0.1 s. A call of 500 bytes lasts 5 s, another of 7 no time."""
    writes = [(0, 500, 0.0, 5.0), (0, 7, 10.0, 10.0)]
    log = log_of([Segments("POSIX", "/f", 0, writes, [])])
    (flow,) = calls.flows(of_all(log), log)
    assert flow.direction == "write" and flow.seconds == pytest.approx(0.1)
    assert flow.moved[:50] == pytest.approx([10.0] * 50) and flow.moved[50:99] == [0.0] * 49
    assert sum(flow.moved) == pytest.approx(507, abs=8)
    assert flow.rates[:50] == pytest.approx([100.0] * 50)


def test_without_single_calls_the_heat_map_says_what_moved_when() -> None:
    heat = {"POSIX": Heat(0.5, {0: ([], [1, 0, 3]), 1: ([4], [1])})}
    log = log_of([], heat=heat)
    assert calls.flows(of_all(log), log) == [("write", 0.5, [2, 0, 3]), ("read", 0.5, [4])]
    picture, _ = calls_chart.heat(log) or pytest.fail("expected a picture")
    assert len(re.findall("M", "".join(path.d for path in picture.sides[0]))) == 3


def slow(ranks: int, which: int) -> Singly:
    """Each process has ten calls of 1 ms, and one has calls of 20 ms."""
    return of_all(log_of([
        Segments("POSIX", "/f", r, [(0, 1, float(i), i + (0.02 if r == which else 0.001))
                                    for i in range(10)], [])
        for r in range(ranks)
    ]))  # fmt: skip


@pytest.mark.parametrize("ranks", [3, 1000])
def test_the_strip_shows_the_slow_process_however_many_there_are(ranks: int) -> None:
    picture, legend = calls_chart.strip(slow(ranks, ranks - 2)) or pytest.fail("no picture")
    shades = [path.colour for path in picture.sides[0]]
    assert shades == [legend[0][1], legend[-1][1]]
    assert picture.sides[0][-1].title == f"more: process {ranks - 2}"
    assert [name for _, name in picture.x] == ["write p50", "write max"]
    assert ("64 of 1000 processes" in picture.text) == (ranks == 1000)


def test_the_strip_names_how_many_times_slower_a_process_is() -> None:
    slower = (*(0.99 * edge for edge in calls_chart.TIMES), 11)
    seconds = [0.001] * 10 + [0.001 * one for one in slower]
    log = log_of([
        Segments("POSIX", "/f", rank, [(0, 1, 0.0, one)], []) for rank, one in enumerate(seconds)
    ])  # fmt: skip
    picture, legend = calls_chart.strip(of_all(log)) or pytest.fail("no picture")
    named = {path.title.split(": ")[0]: path.title for path in picture.sides[0]}
    assert [*named] == [name for name, _ in legend]
    for edge, rank in zip(calls_chart.TIMES[1:], range(11, 14), strict=True):
        assert named[f"{edge:g} times"].endswith(f"process {rank}")
    assert named["up to 1.25 times"].endswith(", ...") and named["more"].endswith("process 14")


def test_nothing_to_draw_is_no_picture() -> None:
    found = of_all(log_of([]))
    assert calls_chart.strip(found) is None and calls_chart.percentiles(found) is None
    assert calls_chart.throughput([]) is None and calls_chart.heat(log_of([])) is None
    assert list(trace_text.of_calls(found, log_of([]))) == []


def test_the_curve_ends_at_the_slowest_call() -> None:
    log = log_of([Segments("POSIX", "/f", 0, each_ms(1000), [(0, 1, 0.0, 0.0)])])
    panels = calls_chart.percentiles(of_all(log)) or pytest.fail("no curve")
    (panel,) = panels.panels
    rows = panel.data.values
    times = [1e3 * row["seconds"] for row in rows if row["call"] == "write"]
    assert times == sorted(times) and (times[0], times[-1]) == pytest.approx((1, 1000))
    (read,) = {1e3 * row["seconds"] for row in rows if row["call"] == "read"}
    assert read == pytest.approx(1e-6), "no zero on a logarithmic axis"


def test_trace_says_it_to_programs_and_people(capsys: pytest.CaptureFixture[str]) -> None:
    run = DATA / "mpich-collective-dxt"
    assert main(["trace", str(run), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    total = {row["call"]: row["calls"] for row in found["calls"] if row["process"] is None}
    assert total == {"POSIX write": 2, "POSIX read": 2, "MPI-IO write": 4, "MPI-IO read": 4}
    by_process = [row for row in found["calls"] if row["process"] is not None]
    assert sum(row["calls"] for row in by_process) == sum(total.values())
    assert [flow["direction"] for flow in found["throughput"]] == ["write", "read"]


def test_why_has_the_times_of_a_trace_where_the_document_has_none() -> None:
    """The document is of before calls were timed."""
    (write, _), (read, _) = bottleneck.load(DATA / "mpich-collective-dxt").causes({})
    assert [one["calls"] for one in (*write.latencies, *read.latencies)] == [2, 2]
    assert write.latencies[0]["slowest"]["process"] == 0


@pytest.mark.parametrize("alone", [False, True], ids=["run", "log"])
def test_single_calls_as_csv_are_those_that_the_log_counts(
    alone: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = DATA / "mpich-collective-dxt"
    one = Path(shutil.copy(run / "trace.darshan", tmp_path)) if alone else run
    assert main(["trace", str(one), "--csv", "--calls"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    log = read_log(run / "trace.darshan")
    for module, kind, counter in (
        ("POSIX", "write", "WRITES"), ("POSIX", "read", "READS"),
        ("MPI-IO", "write", "COLL_WRITES"), ("MPI-IO", "read", "COLL_READS"),
    ):  # fmt: skip
        files = [file.values for file in log.files if file.module == module]
        mine = [row for row in rows if row["call"] == f"{module} {kind}"]
        for some in (
            [row for row in mine if not row["process"]],
            [row for row in mine if row["process"]],
        ):
            assert sum(int(row["calls"]) for row in some) == sum(each[counter] for each in files)
            assert sum(float(row["seconds"]) for row in some) == pytest.approx(
                sum(each[f"F_{kind.upper()}_TIME"] for each in files)
            )
            assert max(float(row["max"]) for row in some) == pytest.approx(
                max(each[f"F_MAX_{kind.upper()}_TIME"] for each in files)
            )


def test_a_log_without_single_calls_is_a_header_as_csv(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", str(DATA / "mpich-sieving"), "--csv", "--calls"]) == 0
    (header,) = capsys.readouterr().out.splitlines()
    assert header == "phase,call,process,calls,seconds,p50,p90,p99,p999,max"
