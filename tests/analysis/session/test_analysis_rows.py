# SPDX-License-Identifier: BSD-3-Clause
"""The rows: medians, fractions and their sources, order and verdicts."""

from __future__ import annotations

import csv
import io
import json
import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from iogauge.analysis.pages.words import bandwidth_text, percent_text, range_text, value_text
from iogauge.analysis.session.loader import load_session
from iogauge.analysis.session.model import CEILINGS, DIRECTIONS, Sample
from iogauge.analysis.session.peaks import beside
from iogauge.analysis.session.rows import Row, Table, make_table, to_csv
from iogauge.analysis.statistics.spread import Spread
from iogauge.analysis.store.ingest import ingest
from iogauge.common.text import three
from tests.analysis_recorded import DATA, Recorded, run_analysis, s3d

POSIX, MPIIO = s3d("posix"), s3d("mpiio:collective")
PEAK = "Peak %fs=ram %call=posix %scale=smoke %processes=2 %flush=fsync"
SHARED = "Peak %fs=ram %call=posix-shared %scale=smoke %processes=2 %flush=fsync"


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    return Recorded(tmp_path)


def keep_only(recorded: Recorded, *cases: tuple[str, str]) -> None:
    """Leave only these (name, stack) in the report, in this order."""

    def change(data: dict[str, Any]) -> None:
        all_cases = data["runs"][0]["testcases"]
        data["runs"][0]["testcases"] = [
            entry
            for name, stack in cases
            for entry in all_cases
            if (entry["display_name"], entry["environ"]) == (name, stack)
        ]

    recorded.edit(change)


def set_numbers(
    recorded: Recorded,
    case: tuple[str, str],
    write: Sequence[float],
    read: Sequence[float],
    ceilings: Mapping[str, Sequence[float]] | None = None,
) -> None:
    """Give a case's document these bandwidths; `ceilings` by `fpp write` and the like."""

    def change(document: dict[str, Any]) -> None:
        template = document["samples"][0]
        document["samples"] = []
        for i, (w, r) in enumerate(zip(write, read, strict=True)):
            sample = json.loads(json.dumps(template)) | {"repeat": i, "ceilings": None}
            sample["write"]["bandwidth"], sample["read"]["bandwidth"] = w, r
            if ceilings:
                sample["ceilings"] = {"fpp": {}, "shared": {}}
                for key, values in ceilings.items():
                    ceiling, direction = key.split()
                    sample["ceilings"][ceiling][direction] = values[i]
            document["samples"].append(sample)

    recorded.edit_document(*case, change)
    recorded.edit_case(*case, lambda entry: entry.update(perfvalues={}))


def the_row(table: Table, name: str, stack: str) -> Row:
    return next(r for r in table.all_rows if (r.run.case, r.run.stack) == (name, stack))


def median(values: list[float]) -> float:
    """Written anew here, not with the library that the analysis uses."""
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def test_recorded_medians_and_ceilings_are_those_of_the_documents(recorded: Recorded) -> None:
    """iokernel computes the same medians in C."""
    table = make_table(load_session(recorded.report))
    compared = 0
    for row in table.rows:
        assert row.run.document is not None
        document = json.loads(row.run.document.read_text())
        for direction in DIRECTIONS:
            spread = row.bandwidth(direction)
            values = [sample[direction]["bandwidth"] for sample in document["samples"]]
            assert spread == Spread(median(values), min(values), max(values), 3)
            assert spread.median == pytest.approx(document["summary"][f"{direction}_bw"])
            for ceiling in CEILINGS:
                if own := beside(row.run, ceiling, direction):
                    values = [
                        sample["ceilings"][ceiling][direction] for sample in document["samples"]
                    ]
                    assert own == median(values)
                    compared += 1
    assert compared == len(table.rows) * 4


def test_golden_csv(recorded: Recorded) -> None:
    """Numbers chosen so that one can check data/golden.csv in one's head. In one shared file a peak
    test wrote 500 and a job 400, below 90 % of it, and they read 640 and 800: the lower counts."""
    keep_only(
        recorded, (MPIIO, "openmpi"), (POSIX, "mpich"), (PEAK, "openmpi"), (SHARED, "openmpi"),
        (s3d("pnetcdf:collective"), "mpich"),
    )  # fmt: skip
    ceilings = {
        "fpp write": [400, 400, 1000],
        "fpp read": [1000, 1000, 1000],
        "shared write": [200, 400, 500],
        "shared read": [500, 800, 1000],
    }
    set_numbers(recorded, (MPIIO, "openmpi"), [100, 200, 400], [500, 250, 1000], ceilings)
    set_numbers(recorded, (POSIX, "mpich"), [300, 100], [80, 160])
    set_numbers(recorded, (PEAK, "openmpi"), [800, 800], [1200, 1200])
    set_numbers(recorded, (SHARED, "openmpi"), [500], [640])
    found = to_csv(make_table(load_session(recorded.report)))
    found = found.replace(f"{recorded.output}/20261120T174318/local/host", "HOST")
    assert found == (DATA / "golden.csv").read_text()


def test_csv_is_rectangular_and_complete(recorded: Recorded) -> None:
    table = make_table(load_session(recorded.report))
    lines = list(csv.reader(io.StringIO(to_csv(table))))
    assert len(lines) == 1 + 24
    assert {len(line) for line in lines} == {len(lines[0])}


def test_a_share_is_of_the_sessions_peak(recorded: Recorded) -> None:
    """The highest median of a job, or best repeat of a peak test. A job on a slow machine has no
    share."""
    keep_only(recorded, (MPIIO, "mpich"), (MPIIO, "openmpi"), (POSIX, "openmpi"), (PEAK, "openmpi"))
    set_numbers(recorded, (MPIIO, "mpich"), [100, 300, 200], [50, 60, 70])
    slow, calm = [300, 499, 9999], [600, 600, 600]
    ours = {"fpp write": slow, "fpp read": calm, "shared write": calm, "shared read": calm}
    set_numbers(recorded, (MPIIO, "openmpi"), [100] * 3, [50] * 3, ours)
    set_numbers(recorded, (POSIX, "openmpi"), [300] * 3, [550] * 3)
    set_numbers(recorded, (PEAK, "openmpi"), [1000, 950, 400], [240, 240, 240])
    table = make_table(load_session(recorded.report))
    share = the_row(table, MPIIO, "mpich").share("fpp", "write")
    assert share is not None
    assert (share.value, share.peak, share.source) == (200 / 1000, 1000, "peak test")
    read = the_row(table, POSIX, "openmpi").share("fpp", "read")
    assert read is not None
    assert (read.value, read.source) == (550 / 600, "same job")
    row = the_row(table, MPIIO, "openmpi")
    assert row.share("fpp", "write") is None  # 499 beside it, of 1000
    assert percent_text(row, "fpp", "write") == "disturbed"
    assert percent_text(row, "fpp", "read") == "8"


def test_of_two_jobs_one_at_most_exceeds_the_peak(recorded: Recorded) -> None:
    """On a machine whose speed changes between phases by up to ten times, two POSIX jobs that are
    the peak reach at most 100 %, but for one that beat all else by far, in each of 300 sessions."""
    chance = random.Random(29)
    session = load_session(recorded.report)
    for _ in range(300):
        runs = []
        for one in session.runs:
            if one.result is None or one.case != POSIX:
                continue
            samples = tuple(
                Sample(i, 1000 * 10 ** -chance.random(), 1000 * 10 ** -chance.random(),
                       {("fpp", way): 1000 * 10 ** -chance.random() for way in DIRECTIONS})
                for i in range(3)
            )  # fmt: skip
            runs.append(replace(one, result=replace(one.result, samples=samples)))
        rows = make_table(replace(session, runs=tuple(runs))).rows
        for way in DIRECTIONS:
            shares = [share.value for row in rows if (share := row.share("fpp", way))]
            assert sum(share > 1 for share in shares) <= 1


def test_a_row_does_not_contradict_itself(recorded: Recorded) -> None:
    """Its bandwidth, range, shares and cells are of the same jobs: those with at least half of what
    ceilings reach beside them, or all where there is none. In 200 sessions of one to five jobs."""
    chance = random.Random(30)
    session = load_session(recorded.report)
    known = [run for run in session.runs if run.result and run.case in (POSIX, MPIIO, SHARED)]
    seen = Counter[bool]()
    for _ in range(200):
        runs = [replace(one, repeat=job, result=replace(one.result, samples=tuple(
                    Sample(i, 1000 * 10 ** -chance.random(), 1000 * 10 ** -chance.random(),
                           {(ceiling, way): 1000 * 10 ** -chance.random()
                            for ceiling in CEILINGS for way in DIRECTIONS})
                    for i in range(chance.randint(1, 3)))))
                for one in known if one.result
                for job in range(chance.randint(1, 5))]  # fmt: skip
        for row in make_table(replace(session, runs=tuple(runs))).rows:
            cells: dict[str, Any] = dict(row.cells())
            for way in DIRECTIONS:
                peak = row.highest.of(row.run, "fpp", way)
                assert peak is not None
                beside_it = [median([s.ceilings["fpp", way] for s in run.samples])
                             for run in row.runs]  # fmt: skip
                calm = [run for run, own in zip(row.runs, beside_it, strict=True)
                        if own >= peak.calm / 2]  # fmt: skip
                jobs = [[s.bandwidth(way) or 0 for s in run.samples] for run in calm or row.runs]
                spread = row.bandwidth(way)
                assert spread is not None
                assert spread.median == median([median(values) for values in jobs])
                every = [value for values in jobs for value in values]
                assert (spread.low, spread.high, spread.count) == (
                    min(every), max(every), len(every),
                )  # fmt: skip
                assert cells[f"{way}_mib_s"] == spread.median
                seen[row.disturbed(way)] += 1
                for ceiling in CEILINGS:
                    share = row.share(ceiling, way)
                    assert row.disturbed(way) == (not calm)
                    own = ceiling == "shared" and row.run.method == "posix"
                    assert (share is None) == (row.disturbed(way) or own)
                    if share:
                        assert share.value * share.peak == pytest.approx(spread.median)
                        assert cells[f"{way}_fraction_{ceiling}"] == share.value
    assert min(seen[True], seen[False]) > 100


def test_peak_tests_that_differ_are_a_peak_that_varied(recorded: Recorded) -> None:
    """By their best repeats: 900 and 600."""
    keep_only(recorded, (MPIIO, "mpich"), (PEAK, "openmpi"))
    set_numbers(recorded, (MPIIO, "mpich"), [10], [10])
    set_numbers(recorded, (PEAK, "openmpi"), [900, 100, 200], [500] * 3)
    session = load_session(recorded.report)
    (test,) = (run for run in session.runs if run.is_peak)
    assert test.result is not None
    samples = (Sample(0, 600, 500), Sample(1, 10, 500))
    again = replace(test, repeat=1, result=replace(test.result, samples=samples))
    highest = make_table(replace(session, runs=(*session.runs, again))).highest
    run = next(run for run in session.runs if not run.is_peak)
    write, read = (highest.of(run, "fpp", way) for way in DIRECTIONS)
    assert write and (write.value, write.source, write.varied) == (600, "peak test", 1.5)
    assert read and read.varied == 1


@pytest.mark.parametrize(("times", "peak"), [(1.05, 9000), (1.2, 200)])
def test_a_small_case_sets_no_peak_for_a_large_one(
    recorded: Recorded, times: float, peak: float
) -> None:
    """But one that only lacks a header does, in the store's query too."""
    both = [(POSIX, stack) for stack in ("openmpi", "mpich")]
    keep_only(recorded, (MPIIO, "openmpi"), *both, (PEAK, "openmpi"))
    set_numbers(recorded, (MPIIO, "openmpi"), [100], [100])
    for one in both:
        set_numbers(recorded, one, [9000], [9000])
    set_numbers(recorded, (PEAK, "openmpi"), [200], [200])
    size = json.loads(recorded.document(POSIX, "openmpi").read_text())["payload"]["bytes"]
    larger = {"bytes": int(times * size)}
    recorded.edit_document(MPIIO, "openmpi", lambda d: d["payload"].update(larger))
    share = the_row(make_table(load_session(recorded.report)), MPIIO, "openmpi").share(
        "fpp", "write"
    )
    assert share is not None and share.peak == peak
    store = recorded.folder / "store"
    ingest(recorded.report, store)
    done = run_analysis("compare", "last", "peak", "--json", "--store", store)
    rows = [row for row in json.loads(done.stdout) if row["method"] == "mpiio"]
    assert {row["peak"] for row in rows} == {peak}


def test_a_write_with_fsync_is_not_compared_with_one_without(recorded: Recorded) -> None:
    keep_only(recorded, (MPIIO, "mpich"), (PEAK, "openmpi"))
    set_numbers(recorded, (MPIIO, "mpich"), [100], [50])
    recorded.edit_document(PEAK, "openmpi", lambda d: d["asked"].update(fsync=False))
    row = the_row(make_table(load_session(recorded.report)), MPIIO, "mpich")
    assert row.share("fpp", "write") is None
    assert row.share("fpp", "read") is not None


def test_a_peak_test_says_the_best_process_count(recorded: Recorded) -> None:
    one = PEAK.replace("processes=2", "processes=1")

    def add(data: dict[str, Any]) -> None:
        cases = data["runs"][0]["testcases"]
        entry = next(case for case in cases if case["display_name"] == PEAK)
        folder = str(Path(entry["outputdir"]).with_name("Peak_one"))
        copy = entry | {"display_name": one, "unique_name": "Peak_one", "outputdir": folder}
        cases.append(copy | {"perfvalues": {}})

    recorded.edit(add)
    copied = recorded.document(one, "openmpi")
    copied.parent.mkdir()
    copied.write_bytes(recorded.document(PEAK, "openmpi").read_bytes())
    recorded.edit_document(one, "openmpi", lambda d: d["system"].update(processes=1))
    set_numbers(recorded, (one, "openmpi"), [700], [10])
    set_numbers(recorded, (PEAK, "openmpi"), [500], [20])
    table = make_table(load_session(recorded.report))
    peaks = {
        (of.processes, of.direction): peak.value
        for of, peak in table.highest.all().items()
        if (of.fs, of.ceiling, peak.source) == ("ram", "fpp", "peak test")
    }
    assert peaks == {(1, "write"): 700, (1, "read"): 10}


def test_repeats_of_a_test_are_one_row(recorded: Recorded) -> None:
    set_numbers(recorded, (MPIIO, "openmpi"), [100], [50])
    set_numbers(recorded, (MPIIO, "mpich"), [200], [50])

    def repeat(data: dict[str, Any]) -> None:
        same = [c for c in data["runs"][0]["testcases"] if c["display_name"] == MPIIO]
        for number, case in enumerate(same):
            case |= {"environ": "mpich", "unique_name": f"repeat {number}"}
            case["display_name"] += f" %.repeat_no={number}"

    recorded.edit(repeat)
    row = the_row(make_table(load_session(recorded.report)), MPIIO, "mpich")
    assert row.bandwidth("write") == Spread(150, 100, 200, 2)


def test_rows_are_in_reading_order(recorded: Recorded) -> None:
    table = make_table(load_session(recorded.report))
    assert [row.run.fs for row in table.rows] == ["disk"] * 9 + ["ram"] * 9
    assert [(row.run.method, row.run.stack) for row in table.rows[:5]] == [
        ("null", "mpich"), ("null", "openmpi"), ("posix", "mpich"), ("posix", "openmpi"),
        ("posix-shared", "mpich"),
    ]  # fmt: skip
    assert len(table.peak_rows) == 4
    assert len(table.skipped) == 2


def test_rows_alike_in_all_else_show_what_differs(recorded: Recorded) -> None:
    tuned = {"display_name": f"{POSIX} %hints=tuned", "environ": "openmpi", "unique_name": "tuned"}
    recorded.edit_case(POSIX, "mpich", lambda c: c.update(tuned))
    table = make_table(load_session(recorded.report))
    labels = {row.run.case: row.label for row in table.rows if row.label}
    assert labels == {f"{POSIX} %hints=tuned": "hints=tuned"}


@pytest.mark.parametrize(
    ("verdict", "outcome", "good"),
    [("verified", "verified", True), ("not asked", "not asked", False),
     ("nothing moved", "nothing moved", True), ("mismatch", "failed", False)],
)  # fmt: skip
def test_verdicts(recorded: Recorded, verdict: str, outcome: str, good: bool) -> None:
    recorded.edit_document(MPIIO, "mpich", lambda d: d["verification"].update(verdict=verdict))
    table = make_table(load_session(recorded.report))
    assert the_row(table, MPIIO, "mpich").outcome == outcome
    assert table.all_verified() is good


def test_spread() -> None:
    assert Spread.of([]) is None
    assert Spread.of([3.0, 1.0, 2.0, 10.0]) == Spread(2.5, 1, 10, 4)
    for bad in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="expected finite numbers"):
            Spread.of([1.0, bad])


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.51234, "0.51"), (9.99, "9.99"), (12.345, "12.3"), (99.94, "99.9"), (1413.7, "1414"),
     (16384.2, "16384"), (172_345.6, "172346"), (8_938_402.0, "8.94e6"), (1.5e10, "1.50e10")],
)  # fmt: skip
def test_bandwidths_have_a_sensible_number_of_digits(value: float, text: str) -> None:
    assert bandwidth_text(value) == text


def test_a_single_repeat_has_no_range() -> None:
    assert range_text(Spread(5, 5, 5, 1)) == "-"
    assert range_text(Spread(50, 40, 60, 3)) == "40.0-60.0"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"), (math.inf, "inf"), (math.nan, "nan"), (0.00123, "0.00123"), (-0.5, "-0.500"),
        (1.0, "1.00"), (123456.0, "123456"), (1.5e6, "1.50e+06"), (True, "yes"),
        (None, "-"), ("", "-"), ((), "-"), (("a", "b"), "a\nb"), (3, "3"),
    ],
)  # fmt: skip
def test_a_value_has_three_digits(value: object, text: str) -> None:
    assert value_text(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(512.4, "512"), (21.44, "21.4"), (1.066, "1.07"), (0.615, "0.61"), (0.0042, "0.0042"),
     (0.00006, "6.0e-05"), (0.0, "0.00"), (-3.456, "-3.46")],
)  # fmt: skip
def test_a_factor_that_is_not_zero_is_not_shown_as_zero(value: float, text: str) -> None:
    assert three(value) == text
