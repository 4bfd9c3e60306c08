# SPDX-License-Identifier: BSD-3-Clause
"""The session's peaks: one lucky moment sets none; what lasts in a peak test does; small files have
a separate one. The store's query and the rows say the same."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from iogauge.analysis.pages.footer import peak_lines, rate_lines
from iogauge.analysis.session.loader import load_session
from iogauge.analysis.session.model import CEILINGS, DIRECTIONS, Run, Sample, Session
from iogauge.analysis.session.peaks import Highest, Place, Reached, SessionPeak, Source
from iogauge.analysis.session.rows import make_table
from iogauge.analysis.store.ingest import ingest
from tests import analysis_made as made
from tests.analysis_recorded import Json, Recorded, run_analysis, s3d
from tests.simulate import promises

MPIIO = s3d("mpiio:collective")
PEAK = "Peak %fs=ram %call=posix %scale=smoke %processes=2 %flush=fsync"
PLAIN = {"files_create": 4000.0, "files_stat": 90000.0, "small_read": 100000.0}


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    return Recorded(tmp_path)


def jobs(session: Session, ceilings: Sequence[float]) -> list[Run]:
    """As many of a case that writes and reads 300, each with its ceiling."""
    one = next(run for run in session.runs if (run.case, run.stack) == (MPIIO, "mpich"))
    assert one.result
    both = [(kind, way) for kind in CEILINGS for way in DIRECTIONS]
    return [
        replace(
            one, repeat=i,
            result=replace(one.result, samples=(Sample(0, 300, 300, dict.fromkeys(both, value)),)),
        )
        for i, value in enumerate(ceilings)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("ceilings", "peak"),
    [
        ([1000.0] * 18 + [9000.0] * 2, 1000),  # a tenth are above it
        ([1000.0] * 17 + [9000.0] * 3, 9000),
        ([1000.0, 9000.0], 1000),  # of one alone
        ([9000.0], 9000),  # nothing else is known
    ],
)
def test_some_lucky_ceilings_set_no_peak(
    recorded: Recorded, ceilings: list[float], peak: float
) -> None:
    session = load_session(recorded.report)
    runs = jobs(session, ceilings)
    highest = make_table(replace(session, runs=tuple(runs))).highest
    for way in DIRECTIONS:
        found = highest.of(runs[0], "fpp", way)
        assert found and (found.value, found.source) == (peak, "same job")


@pytest.mark.parametrize(("lucky", "peak"), [(2, 800.0), (3, 9000.0)])
def test_some_lucky_cases_set_no_peak(tmp_path: Path, lucky: int, peak: float) -> None:
    """Of 20 jobs, a tenth are above it. However high it is, no job is disturbed whose own ceiling
    is as high as the others'. The store says the same."""
    values = {(s3d("posix"), "openmpi"): [100.0] * (20 - lucky) + [9000.0] * lucky,
              (MPIIO, "openmpi"): [50.0] * 3}  # fmt: skip
    report = made.split(made.session(tmp_path / "s", values)).report
    table = make_table(load_session(report))
    for row in table.rows:
        share = row.share("fpp", "write")
        assert share and share.peak == peak and not row.disturbed("write")
    ingest(report, tmp_path / "store")
    done = run_analysis("compare", "last", "peak", "--json", "--store", tmp_path / "store")
    rows = json.loads(done.stdout)
    assert {(row["peak"], row["left_out"]) for row in rows} == {(peak, 0)}


def measured(count: int, source: Source, lucky: int) -> SessionPeak:
    """By three peak tests and so many jobs, about 1000; as many of them three times as fast."""
    found = [Reached(-n, math.inf, 1000 + n, "peak test") for n in range(1, 4)]
    for job in range(count):
        found += [Reached(job, math.inf, 950 + job, "same job"), Reached(job, 8, 900 + job, "case")]
    fast = [one for one in found if one.source == source][:lucky]
    peak = Place(one._replace(value=3000) if one in fast else one for one in found).peak(8)
    assert peak
    return peak


SOURCES: list[Source] = ["peak test", "same job", "case"]


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("count", [1, 2, 5, 9, 10, 30])
def test_one_lucky_job_sets_no_peak(count: int, source: Source) -> None:
    """However few they are. No other job is disturbed."""
    peak = measured(count, source, 1)
    assert peak.value == 1003 and not peak.disturbed(950)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(("count", "lucky"), [(2, 2), (5, 2), (9, 2), (10, 2), (30, 4)])
def test_two_jobs_set_a_peak_and_of_many_a_tenth(count: int, lucky: int, source: Source) -> None:
    peak = measured(count, source, lucky)
    assert (peak.value, peak.source) == (3000, source)
    assert peak.disturbed(950) == (source != "case")


@pytest.mark.parametrize("jobs", [1, 3, 9, 30])
@pytest.mark.parametrize(("noise", "moved"), [("3 %", 0.05), ("10 %", 0.2), ("outliers", 0.2)])
def test_luck_seldom_moves_the_peak(noise: str, moved: float, jobs: int) -> None:
    """By more than a tenth, and less often above all that others reached; other jobs are not called
    disturbed for it."""
    found = promises.luck(noise, jobs, 200)
    assert max(found.test, found.job) <= moved
    assert found.beyond <= 0.1 and found.disturbed <= 0.01


def test_ceilings_of_clients_alone_tell_nothing(recorded: Recorded) -> None:
    """With I/O processes fewer measure them than the peak's processes."""
    session = load_session(recorded.report)
    runs = jobs(session, [1000.0] * 5 + [300.0])
    for method, disturbed in (("mpiio", True), ("ioserver", False)):
        last = replace(runs[-1], case="other", method=method)
        table = make_table(replace(session, runs=(*runs[:-1], last)))
        (row,) = (row for row in table.rows if row.run.case == "other")
        assert row.disturbed("write") == disturbed


def with_ceilings(recorded: Recorded, large: Sequence[float]) -> None:
    """A peak test that measured these beside its own repeats, and small ones too."""
    small: dict[str, dict[str, float]] = {"files": {}, "small": {}}
    for name, value in PLAIN.items():
        kind, what = name.split("_")
        small[kind][what] = value

    def change(document: Json) -> None:
        for one, value in zip(document["samples"], large, strict=True):
            of = {"write": value, "read": value, "passes": 12}
            one["ceilings"] = {"fpp": of, "shared": of} | small

    recorded.edit_document(PEAK, "openmpi", change)


def test_a_peak_tests_own_short_repeats_set_no_peak(recorded: Recorded) -> None:
    """They are faster here, but only its ceilings last."""
    with_ceilings(recorded, [76.0, 80.0, 60.0])
    session = load_session(recorded.report)
    (run,) = (run for run in session.runs if run.case == PEAK)
    assert min(one.write or 0 for one in run.samples) > 80
    table = make_table(replace(session, runs=(run,)))
    reached = table.peak_rows[0].bandwidth("write")
    assert reached and (reached.median, reached.high) == (76, 80)
    found = table.highest.of(run, "fpp", "write")
    assert found and (found.value, found.source) == (80, "peak test")


def test_small_files_have_a_peak_of_their_own(recorded: Recorded) -> None:
    with_ceilings(recorded, [70.0] * 3)
    rates = {"create": 1000.0, "stat": 45000.0, "open": 500.0}

    def change(document: Json) -> None:
        document["summary"].update({f"{name}_rate": rate for name, rate in rates.items()})
        for one in document["samples"]:
            one["series"] = {"files_per_process": 500, "remove": None} | {
                name: {
                    "seconds": dict.fromkeys(("min", "mean", "max"), 1000 / rate), "rate": rate,
                    "rate_per_process": dict.fromkeys(("min", "mean", "max"), rate / 2),
                }
                for name, rate in rates.items()
            }  # fmt: skip

    recorded.edit_document(MPIIO, "openmpi", change)
    table = make_table(load_session(recorded.report))
    (said,) = rate_lines(table)
    assert "create 1000 (25 % of plain files), stat 45000 (50 % of plain files), open 500" in said
    (folder,) = (run.folder for run in table.session.runs
                 if (run.case, run.stack) == (MPIIO, "mpich"))  # fmt: skip
    assert folder
    beside = table.highest.beside(folder.resolve())
    assert [(key, beside[key].value) for key in beside if key[0] == "small"] == [
        (("small", "read"), 100_000)
    ]  # fmt: skip
    small = [line for line in peak_lines(table) if "a second" in line]
    assert [line.split(": ")[1] for line in small] == ["create 4000, stat 90000", "read 100000"]
    store = recorded.folder / "store"
    assert run_analysis("store", "add", recorded.report, "--store", store).returncode == 0
    where = ["--where", "method=mpiio", "--where", "stack=openmpi", "--where", "fs=ram"]
    done = run_analysis("compare", "last", "peak", "--json", "--store", store, *where)
    rows = [row for row in json.loads(done.stdout) if row["mode"] == "collective"]
    found = {row["quantity"]: row for row in rows}
    parts = {name: row["efficiency"] for name, row in found.items()}
    assert parts == {"series_create_rate": 0.25, "series_stat_rate": 0.5}
    assert {row["unit"] for row in found.values()} == {"files/s"}


def date(recorded: Recorded, day: int) -> None:
    when = {"uuid": f"session-{day}", "time_start_unix": made.START + day * made.DAY}
    recorded.edit(lambda report: report["session_info"].update(when))


def test_a_peak_is_of_its_own_session(tmp_path: Path) -> None:
    """Two sessions whose runs have the same numbers: in one the peak test measured ceilings, so its
    repeats are no peak; in the other they are."""
    store = tmp_path / "store"
    for day in range(2):
        recorded = Recorded(tmp_path / str(day))
        if day == 0:
            with_ceilings(recorded, [80_000.0] * 3)
        else:
            recorded.edit_document(PEAK, "openmpi", lambda document: [
                one[way].update(bandwidth=90_000.0)
                for one in document["samples"] for way in DIRECTIONS
            ])  # fmt: skip
        recorded.edit_case(PEAK, "openmpi", lambda case: case.update(perfvalues={}))
        date(recorded, day)
        ingest(recorded.report, store)
    where = ["--where", "method=mpiio", "--where", "mode=collective", "--where", "fs=ram"]
    done = run_analysis(
        "compare", "openmpi", "peak", "--by", "stack", "--json", "--store", store, *where
    )
    rows = [row for row in json.loads(done.stdout) if row["pattern"] == "s3d"]
    assert {row["peak"] for row in rows} == {85_000}  # the middle of both


def test_a_run_that_missed_its_reference_has_the_sessions_peak(recorded: Recorded) -> None:
    """Its bytes were right, so its numbers count, in `why` too."""
    session = load_session(recorded.report)
    (one,) = (run for run in session.runs if (run.case, run.stack) == (MPIIO, "mpich"))
    assert one.folder
    for reason, known in (("performance error: below its reference", True), ("crashed", False)):
        slow = replace(one, status="failed", reason=reason)
        runs = [slow if run is one else run for run in session.runs]
        assert bool(Highest(runs).beside(one.folder.resolve())) == known
