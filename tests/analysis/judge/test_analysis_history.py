# SPDX-License-Identifier: BSD-3-Clause
"""Histories: a drop is found, dated, kept until acknowledged; unchanged ones show none."""

from __future__ import annotations

import json
import math
import random
import re
import statistics
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from iogauge.analysis.judge import history
from iogauge.analysis.judge.history import History
from iogauge.analysis.pages import history_chart, history_table, report_tables
from iogauge.analysis.pages.chart import themed_svg
from iogauge.analysis.pages.words import over_time
from iogauge.analysis.session.model import unit_of
from iogauge.analysis.statistics import change_points
from iogauge.analysis.store import baselines, database
from iogauge.analysis.store.ingest import ingest
from iogauge.cli.main import main
from tests import analysis_made as made
from tests.analysis_recorded import Recorded, run_analysis, s3d
from tests.simulate import history as simulated

NIGHTS, DROP = 32, 20
SLOWER, STEADY = (s3d("posix"), "openmpi"), (s3d("mpiio:collective"), "mpich")
FIRST = datetime(2026, 11, 20, 17, 43, 19)  # analysis_made.START


# ---------------------------------------------------------------- the search, by simulation

# Of unchanged histories, what docs/analysis.md states at most; the first three without serial
# correlation.
STATED = {
    "lognormal": 0.001, "heavy tail (t, 2 degrees)": 0.001, "bimodal": 0.001,
    "serial correlation 0.3": 0.01, "serial correlation 0.5": 0.05, "serial correlation 0.7": 0.15,
}  # fmt: skip
HISTORIES = 400


@pytest.mark.parametrize("noise", simulated.NOISES)
@pytest.mark.parametrize("count", [30, 100])
def test_unchanged_histories_show_no_change(noise: str, count: int) -> None:
    """Not more than stated, with room for the luck of one simulation in 10,000."""
    expected = STATED[noise] * HISTORIES
    most = expected + 4 * max(expected, 0.5) ** 0.5
    assert simulated.false_changes(noise, count, HISTORIES) <= most


@pytest.mark.parametrize(
    ("size", "after", "least"),
    [(0.75, 6, 0.8), (0.75, 10, 0.9), (0.8, 10, 0.85), (0.9, 20, 0.85)],
)
def test_drops_are_found_and_dated(size: float, after: int, least: float) -> None:
    seen, dated = simulated.found(size, before=60, after=after, histories=200)
    assert seen >= least * 200
    assert dated >= 0.85 * seen


def test_the_table_of_gains_is_what_chance_reaches() -> None:
    """Of 20,000 random orders 2 are expected above it; 12 or more are luck once in 10^5."""
    draw = np.random.default_rng(7)
    scores = change_points.normal(30)
    above = sum(
        bool(change_points.best_cuts(draw.permutation(scores), change_points.needed(30)))
        for _ in range(20_000)
    )
    assert above < 12


def test_what_was_cut_is_looked_at_again() -> None:
    """A second change within what is one end of the ranks; and a dip that ended."""
    draw = np.random.default_rng(1)
    values = 100 * np.exp(0.03 * draw.normal(size=300))
    values[100:] *= 10
    values[200:] *= 0.8
    assert change_points.find(values) == [100, 200]
    values = 100 * np.exp(0.03 * draw.normal(size=100))
    values[40:60] *= 0.7
    assert change_points.find(values) == [40, 60]


@pytest.mark.parametrize("values", [[], [1.0], [5.0] * 11, [5.0] * 40, [1.0, 2.0] * 20])
def test_short_constant_and_two_valued_histories(values: list[float]) -> None:
    assert change_points.find(values) == []


# ---------------------------------------------------------------- what becomes of a change


def judged(values: Sequence[float], quantity: str = "write_bw", since: str = "") -> History:
    """A history of one run a day."""
    at = [FIRST + timedelta(days=day) for day in range(len(values))]
    given = baselines.Baseline(("stack=x",), since, "me", since, "why") if since else None
    one = History(
        {"quantity": quantity, "unit": unit_of(quantity)}, at, list(values), baseline=given
    )
    history.judge(one, change_points.SMALLEST)
    return one


def noisy(*levels: tuple[int, float]) -> list[float]:
    draw = random.Random(3)
    return [level * draw.lognormvariate(0, 0.03) for count, level in levels for _ in range(count)]


def test_a_drop_that_came_back_is_recovered() -> None:
    one = judged(noisy((20, 100), (20, 70), (20, 100)))
    assert [change.state for change in one.changes] == ["recovered", "faster"]
    assert not one.bad


def test_a_second_drop_is_held_against_the_level_before_it() -> None:
    one = judged(noisy((20, 100), (20, 130), (20, 100)))
    assert [change.state for change in one.changes] == ["faster", "regressed"]
    assert one.since == FIRST + timedelta(days=40)
    assert one.of_best == pytest.approx(100 / 130, rel=0.05)


def test_a_time_that_grew_is_a_drop_of_speed() -> None:
    one = judged(noisy((20, 0.5), (20, 1.0)), quantity="write_seconds")
    assert [change.state for change in one.changes] == ["regressed"]
    assert one.changes[0].ratio == pytest.approx(0.5, rel=0.05)
    assert one.of_best == pytest.approx(0.5, rel=0.05)


def test_a_baseline_acknowledges_what_was_before_it() -> None:
    values = noisy((20, 100), (20, 75), (20, 50))
    one = judged(values, since="2026-12-25T00:00:00")
    assert [change.state for change in one.changes] == ["acknowledged", "regressed"]
    assert one.since == FIRST + timedelta(days=40)
    assert judged(values, since="2027-12-25T00:00:00").status == "acknowledged"


def test_a_single_low_run_at_the_end_is_said() -> None:
    values = noisy((20, 100))
    assert judged([*values, 10.0]).status == "last run low"
    assert judged([*values, 90.0]).status == "steady"
    assert judged([*values, 10.0, 100.0]).status == "steady"


@pytest.mark.parametrize("factor", [0.5, 0.7])
@pytest.mark.parametrize("nights", range(1, 13))
def test_a_machine_that_lost_speed_is_never_steady(factor: float, nights: int) -> None:
    """From the first slow night on: low until there are enough for a change of level."""
    for seed in range(20):
        draw = random.Random(seed)
        values = [100 * factor ** (run >= 20) * math.exp(draw.gauss(0, 0.03))
                  for run in range(20 + nights)]  # fmt: skip
        assert judged(values).bad, f"seed {seed}: {values[20:]}"


def test_a_noisy_machine_that_lost_speed_is_seldom_steady() -> None:
    """With noise of 10 %, from the third slow night on, at 70 % of the speed: the lowest of 20 runs
    is near 80 %, so one of three nights is often above 95 % of it."""
    steady = 0
    for seed in range(30):
        for nights in (3, 5, 7):
            draw = random.Random(f"{seed} {nights}")
            steady += not judged([100 * 0.7 ** (run >= 20) * math.exp(draw.gauss(0, 0.1))
                                  for run in range(20 + nights)]).bad  # fmt: skip
    assert steady <= 9  # of 90; 6 to 7 in 100 of 3,000


def test_an_unchanged_machine_is_seldom_low() -> None:
    """Noise of 10 %: less than 1 in 100 histories of 16 runs."""
    low = 0
    for seed in range(1000):
        draw = random.Random(seed)
        low += judged([math.exp(draw.gauss(0, 0.1)) for _ in range(16)]).last_is_low
    assert low < 10


def test_the_line_of_blocks() -> None:
    assert over_time([0.0, 4.0, 8.0]) == "▁▅█"
    assert over_time([1.0]) == ""
    assert len(over_time(list(range(1, 1000)))) == 20


# ---------------------------------------------------------------- thirty recorded nights


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of 30 nights: one case loses a quarter of its speed on night 20, with a new MPI; the
    other stays as it is."""
    folder = tmp_path_factory.mktemp("nights")
    draw = random.Random(11)

    def upgrade(document: dict[str, Any]) -> None:
        document["libraries"]["mpi"] = "Open MPI v5.0.1"

    for day in range(NIGHTS):
        after = day >= DROP
        speed = {SLOWER: 300.0 if after else 400.0, STEADY: 400.0}
        values = {
            case: [level * night * draw.lognormvariate(0, 0.02) for _ in range(3)]
            for case, level in speed.items()
            for night in [draw.lognormvariate(0, 0.04)]
        }
        session = made.session(folder / f"s{day}", values, day=day)
        if after:
            session.edit_document(*SLOWER, upgrade)
        ingest(session.report, folder / "store")
    return folder


def test_a_permanent_drop_is_found_dated_and_still_there_on_the_last_night(nights: Path) -> None:
    done = run_analysis("history", "--store", nights / "store", "--json", "--fail-regressed")
    assert done.returncode == 1
    rows = json.loads(done.stdout)
    assert {(row["case"], row["status"]) for row in rows} == {
        (SLOWER[0], "regressed"), (STEADY[0], "steady"),
    }  # fmt: skip
    slower = [row for row in rows if row["status"] == "regressed"]
    assert {row["quantity"] for row in slower} == {"write_bw", "read_bw"}
    for row in slower:
        assert row["date"] == f"{FIRST + timedelta(days=DROP):%Y-%m-%d}"
        assert row["low"] < row["ratio"] < row["high"] < 0.9
        assert row["ratio"] == pytest.approx(0.75, abs=0.04)
        assert row["what_changed"] == "libraries: mpi Open MPI v4.1.4 -> mpi Open MPI v5.0.1"
    assert "4 histories: 2 steady, 2 regressed" in done.stderr


@pytest.mark.slow
def test_the_report_of_the_last_night_says_so_first(nights: Path, tmp_path: Path) -> None:
    report = nights / f"s{NIGHTS - 1}" / "results" / "reports" / "run-report-0.json"
    page = tmp_path / "page.html"
    done = run_analysis("report", report, "--html", page, "--store", nights / "store")
    assert done.returncode == 0, done.stderr
    banner = page.read_text().split('<div class="card verdict')[1].split("</div>")[0]
    assert banner.startswith(" bad")
    assert "2 histories regressed." in banner
    assert "slower since 2026-12-10" in banner


def test_an_upgrade_is_compared_by_its_versions(nights: Path) -> None:
    where = ("--by", "mpi", "--store", nights / "store", "--json")
    rows = json.loads(run_analysis("compare", "4.1", "Open MPI v5.0.1", *where).stdout)
    assert {row["verdict"] for row in rows} == {"slower"}
    assert {row["stack"] for row in rows} == {"openmpi"}


def test_acknowledging_and_taking_it_back(nights: Path, tmp_path: Path) -> None:
    place = ("--store", nights / "store")
    assert run_analysis("expect", "accept", "--where", "stack=openmpi", *place).returncode == 2
    wrong = run_analysis("expect", "accept", "--where", "stack=gone", "--why", "x", *place)
    assert wrong.returncode == 3
    done = run_analysis(
        "expect", "accept", "--where", "stack=openmpi", "--since", "2026-12-19", "--who", "ada",
        "--why", "Open MPI 5, accepted", *place,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (known,) = json.loads(run_analysis("expect", "list", *place, "--json").stdout)
    assert (known["who"], known["why"], known["where"]) == (
        "ada", "Open MPI 5, accepted", "stack=openmpi",
    )  # fmt: skip
    assert known["since"] == "2026-12-19T23:59:59"
    assert datetime.fromisoformat(known["when"]).year >= 2026
    after = run_analysis("history", *place, "--json", "--fail-regressed")
    assert after.returncode == 0
    rows = [row for row in json.loads(after.stdout) if row["status"] == "acknowledged"]
    assert len(rows) == 2
    assert rows[0]["baseline"].endswith("ada: Open MPI 5, accepted")
    assert run_analysis("expect", "remove", known["name"], *place).returncode == 0
    assert run_analysis("history", *place, "--fail-regressed").returncode == 1


@pytest.mark.parametrize("text", ["", "{}", '{"schema": "iogauge.baseline/1", "where": 3}'])
def test_a_baseline_that_cannot_be_used_is_named(text: str, tmp_path: Path) -> None:
    path = tmp_path / "baselines" / "20261122-1.json"
    path.parent.mkdir()
    path.write_text(text)
    with pytest.raises(baselines.StoreError, match=str(path)):
        baselines.load(tmp_path)


@pytest.mark.parametrize("at_once", [1, 7, NIGHTS])
def test_sessions_are_read_some_at_a_time(
    nights: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    connection = database.connect(nights / "store")
    whole = history.find(connection, database.Where())
    assert [len(one.values) for one in whole] == [NIGHTS] * 4
    monkeypatch.setattr(history, "AT_ONCE", at_once)
    assert history.find(connection, database.Where()) == whole


def test_many_small_files_are_judged_by_files_a_second(tmp_path: Path) -> None:
    """As `compare` does it; other patterns, and where one asks for it, by bandwidth."""
    ingest(next(Recorded(tmp_path, "session-all").output.glob("reports/*")), tmp_path / "store")
    connection = database.connect(tmp_path / "store")
    units: dict[str, set[str]] = {}
    for one in history.find(connection, database.Where()):
        units.setdefault(one.case["pattern"], set()).add(one.case["unit"])
    assert units.pop("metadata") == {"files/s"}
    assert set.union(*units.values()) == {"MiB/s"}
    of_files = database.Where().key("pattern", ["metadata"])
    asked = history.find(connection, of_files, quantities=["write_bw"])
    assert {one.case["unit"] for one in asked} == {"MiB/s"}


def test_the_axis_of_a_plot_ends_above_the_highest_point() -> None:
    names = ("pattern", "scale", "method", "mode", "variant", "stack", "fs", "quantity")
    one = judged(noisy((30, 97)))
    one.case = {**one.case, **dict.fromkeys(names, "x")}
    svg = themed_svg(history_chart.panels([one]).picture())
    axis = re.findall(r'aria-label="Y-axis [^"]* values from 0 to (\d+)"', svg)
    assert [float(end) >= max(one.values) for end in axis] == [True]


def test_a_long_history_has_points_of_several_runs() -> None:
    values = noisy((2000, 100), (1000, 70))
    one = judged(values)
    names = ("pattern", "scale", "method", "mode", "variant", "stack", "fs", "quantity")
    one.case = {**one.case, **dict.fromkeys(names, "x")}
    line, dots, *_ = history_chart.panels([one]).panels[0].layer
    assert line.mark.type == "rule"  # below the points, which it would cover
    points = dots.data.values
    assert len(points) == history_chart.POINTS
    last = len(history.LOW)  # judged by themselves, so a drop since last night is seen
    assert [point["value"] for point in points[-last:]] == values[-last:]
    first = round((len(values) - last) / (len(points) - last))
    assert points[0]["value"] == statistics.median(values[:first])
    assert points[0]["says"].startswith(f"median of {first} runs, ")


@pytest.mark.parametrize("end", ["png", "svg"])
def test_the_plot(nights: Path, tmp_path: Path, end: str) -> None:
    plot = tmp_path / f"plot.{end}"
    done = run_analysis("history", "--store", nights / "store", "--plot", plot)
    assert done.returncode == 0, done.stderr
    start = {"png": b"\x89PNG", "svg": b"<svg"}[end]
    assert plot.read_bytes().startswith(start)
    if end == "svg":
        assert "10 Dec 2026" in plot.read_text()


def test_a_plot_of_some_cases_says_so(
    nights: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["history", "--store", str(nights / "store"), "--plot", str(tmp_path / "p.svg")]
    for most, said in ((4, ""), (1, "it shows 1 of 4 cases, the largest drops first\n")):
        monkeypatch.setattr(history_chart, "MOST", most)
        assert main(words) == 0
        assert capsys.readouterr().err.partition("p.svg\n")[2].startswith(said or "4 histories")


def test_the_jobs_of_one_session_are_one_night(tmp_path: Path) -> None:
    """Seven jobs of a night that are alike are no separate level."""
    draw = random.Random(5)
    nights = [100 * draw.lognormvariate(0, 0.1) for _ in range(10)]
    values = [{SLOWER: [night + n for n in (3, 0, 5, 1, 6, 2, 4)]} for night in nights]
    connection = database.connect(made.store(tmp_path, values, jobs=True))
    (one,) = history.find(connection, database.Where(), quantities=["write_bw"])
    assert one.values == pytest.approx([night + 3 for night in nights])
    assert one.changes == []


def _asked(document: dict[str, Any], fsync: bool) -> None:
    document["asked"]["fsync"] = fsync


def test_runs_with_and_without_fsync_are_different_cases(tmp_path: Path) -> None:
    """Neither is the other's history, nor its smaller process count."""
    for day, (fsync, processes) in enumerate([(True, 2), (False, 4)] * 4):
        values = {SLOWER: [50.0 if fsync else 90.0]}
        one = made.session(tmp_path / f"s{day}", values, day=day, processes=processes)
        one.edit_document(*SLOWER, partial(_asked, fsync=fsync))
        ingest(one.report, tmp_path / "store")
    db = database.connect(tmp_path / "store")
    session = db.execute("SELECT max_by(session, started) FROM records").fetchall()[0][0]
    assert report_tables.scaling(db, session).rows == []
    db.execute("CREATE TABLE alike AS SELECT * REPLACE (2 AS processes) FROM records")
    db.execute("CREATE OR REPLACE VIEW records AS FROM alike")
    found = history.find(db, database.Where(), quantities=["write_bw"])
    assert sorted(one.values for one in found) == [[50.0] * 4, [90.0] * 4]
    (row, _) = history_table.rows(found, everything=True)
    assert row["fsync"] in (True, False) and "fsync" in history_table.COLUMNS
