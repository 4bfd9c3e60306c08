# SPDX-License-Identifier: BSD-3-Clause
"""The page that shows a log beside its replay: both on the same axes, and what differs."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from iogauge.analysis.darshan.log import read_log
from iogauge.analysis.pages import access_chart, beside_page
from iogauge.analysis.replay import check, phases, trace
from iogauge.analysis.replay.trace import ACCESS, READ, WRITE, Trace
from iogauge.common.text import duration

LOG = Path(__file__).parents[2] / "data" / "darshan" / "darshan-mpich-hdf5-dxt" / "trace.darshan"


def traced(seconds: float, *, begins: float = 0.0, processes: int = 2, size: int = 100) -> Trace:
    """Each process writes 100 separate bytes at `begins`, which takes `seconds`; then it reads
    them, as fast."""
    found = []
    for rank in range(processes):
        rows = np.zeros(2, ACCESS)
        for i, way in enumerate((WRITE, READ)):
            start = begins + i * seconds
            rows[i] = (0, way, 100 * rank, size, start, start + seconds, *[0] * 6)
        found.append(rows)
    return Trace(Path("x"), read_log(LOG), [trace.TracedFile("/d/x", trace.POSIX, None)], found, [])


def boxes(paths: list[access_chart.Path]) -> list[set[tuple[int, ...]]]:
    """Left, top, width and height of each direction's marks."""
    found = [re.findall(r"M(\d+) (\d+)h(\d+)v(\d+)h-\d+z", path.d) for path in paths]
    return [{tuple(map(int, mark)) for mark in marks} for marks in found]


def test_both_sides_have_the_same_axes() -> None:
    """The log takes 2 s from 5 s on, its replay 4 s from 0 s on: half the axis, and all of it."""
    both = (traced(1.0, begins=5.0), traced(2.0))
    picture = access_chart.timeline(both)
    (log_write, log_read), (write, read) = map(boxes, picture.sides)
    assert {(x, wide) for x, _, wide, _ in log_write} == {(0, 250)}
    assert {(x, wide) for x, _, wide, _ in log_read} == {(250, 250)}
    assert {(x, wide) for x, _, wide, _ in write} == {(0, 500)}
    assert {(x, wide) for x, _, wide, _ in read} == {(500, 500)}
    assert len({y for _, y, _, _ in log_write | log_read}) == 4  # a line of each, and a half of it
    assert picture.x == [(0, "0"), (25, "1 s"), (50, "2 s"), (75, "3 s"), (100, "4 s")]
    assert picture.y == [(25, "0"), (75, "1")]


def test_places_in_the_file() -> None:
    picture = access_chart.places((traced(1.0), traced(2.0)))
    assert picture is not None
    assert [boxes(side)[0] for side in picture.sides] == [
        {(0, 500, 250, 500), (0, 0, 250, 500)}, {(0, 500, 500, 500), (0, 0, 500, 500)}
    ]  # fmt: skip
    assert picture.y[0] == (100, "0") and picture.y[-1] == (0, "200 bytes")


def test_an_access_without_bytes_is_no_mark() -> None:
    both = traced(1.0), traced(1.0, size=0)
    for picture in (access_chart.timeline(both), access_chart.places(both)):
        assert picture is not None
        full, empty = map(boxes, picture.sides)
        assert all(full) and not any(empty)


def test_places_that_nobody_knows() -> None:
    """The recorder has no offsets of MPI-IO calls with Open MPI."""
    unknown = traced(1.0)
    for rows in unknown.accesses:
        rows["offset"] = -1
    assert access_chart.places((traced(1.0), unknown)) is None


def test_many_accesses_are_few_marks() -> None:
    """100 processes of 1,000 accesses, with gaps: what cannot be told apart is one mark."""
    rng = np.random.default_rng(1)
    many = traced(1.0, processes=100)
    for rank in range(100):
        rows = np.zeros(1000, ACCESS)
        rows["write"], rows["length"] = rng.integers(0, 2, 1000), 1
        rows["offset"], rows["start"] = rng.integers(0, 10**6, 1000), np.sort(rng.random(1000))
        rows["end"] = rows["start"] + 1e-5
        many.accesses[rank] = rows
    for picture in (access_chart.timeline((many, many)), access_chart.places((many, many))):
        assert picture is not None
        for side in picture.sides:
            assert all(0 < path.d.count("M") <= access_chart.MOST_MARKS for path in side)
    assert "64 of 100 processes are drawn" in access_chart.timeline((many, many)).text


@pytest.mark.parametrize(("size", "verdict"), [(100, "the same: "), (99, "not the same: 0 of 2")])
def test_the_page_says_if_it_is_the_same(tmp_path: Path, size: int, verdict: str) -> None:
    log, replay = traced(1.0), traced(2.0, size=size)
    found = check.compare(log, replay, phases.GAP)
    page = tmp_path / "page.html"
    beside_page.write(page, found, log, replay, "replay-check a b c")
    text = page.read_text()
    assert f"<strong>{verdict}" in text
    assert ("process 0: access 0 is a write of 99 bytes at 0" in text) == (size == 99)
    assert ("<h2>Time of each phase</h2>" in text) == (size == 100)
    assert text.count("<figure") == 4
    assert (">2.00</td>" in text) == (size == 100)  # the replay took twice as long


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.0, "0 s"),
        (3e-8, "0.030 \N{MICRO SIGN}s"),
        (1.2e-5, "12.0 \N{MICRO SIGN}s"),
        (0.00123, "1.23 ms"),
        (0.25, "250 ms"),
        (0.000_999_6, "1.00 ms"),
        (0.9999, "1.00 s"),
        (1.0, "1.00 s"),
        (54321.0, "54321 s"),
    ],
)
def test_a_duration_has_three_digits_and_a_unit(seconds: float, said: str) -> None:
    assert duration(seconds) == said


@pytest.mark.parametrize("seconds", [2e-6, 1.2e-5, 6e-4, 3e-3, 0.25, 7.0, 250.0, 40_000.0])
def test_all_times_of_the_page_are_written_in_one_way(tmp_path: Path, seconds: float) -> None:
    """In the table three digits with their unit; on the axes round numbers. Never 1.2e-05."""
    log, replay = traced(seconds, begins=1.0), traced(seconds / 1000)
    beside_page.write(
        page := tmp_path / "page.html",
        check.compare(log, replay, phases.GAP), log, replay, "replay-check a b c",
    )  # fmt: skip
    text = re.sub(r' d="[^"]*"|<style.*?</style>|<footer.*', "", page.read_text(), flags=re.S)
    assert re.findall(r"(?<![\w.#-])[\d.]+e[-+]?\d+", text) == []
    cells = re.findall(r'<td class="fill"[^>]*>([^<]*)</td>', text)
    assert len(cells) >= 4
    for cell in cells:
        number, unit = cell.split()
        value = {"s": 1.0, "ms": 1e-3, "\N{MICRO SIGN}s": 1e-6}[unit] * float(number)
        assert len(number.replace(".", "").lstrip("0")) >= 2
        assert any(value == pytest.approx(n * one, rel=0.02)
                   for one in (seconds, seconds / 1000) for n in (1, 2))  # fmt: skip
    ticks = re.findall(r'<span class="x[^>]*>([\d.]+) ([^<]+)</span>', text)
    assert ticks and {unit for _, unit in ticks} <= {"s", "ms", "\N{MICRO SIGN}s"}
    assert all(0.1 <= float(number) < 1000 or seconds > 100 for number, _ in ticks)
