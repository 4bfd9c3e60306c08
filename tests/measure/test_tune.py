# SPDX-License-Identifier: BSD-3-Clause
"""`tune`: what it never advises, how it goes on, ends and keeps its budget; with stand-in jobs."""

from __future__ import annotations

import math
import random
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from iogauge.analysis.errors import UsageError
from iogauge.analysis.statistics import tuning_search
from iogauge.analysis.statistics.surrogate import Config, guesses
from iogauge.analysis.store import database
from iogauge.cli import tune as command
from iogauge.measure.tune.advice import SHOWN, Advice
from iogauge.measure.tune.drive import Drive, Progress
from iogauge.measure.tune.space import CALL, Scope, Setting, Space, space_of
from iogauge.measure.tune.trials import Job, Outcome, Runner, Session
from tests.analysis.statistics.test_simulate import slack
from tests.analysis_recorded import ROOT
from tests.simulate import searches

NAME = "20261122T120000-1-1"
ASKED = {
    "pattern": "s3d --grid 8x8x8", "fs": "ram", "stack": "openmpi", "processes": 4, "budget": 1e6,
    "wish": "write", "fsync": False, "seed": 3,
}  # fmt: skip
LISTING = {
    "patterns": [{"name": "s3d"}],
    "modes": [{"name": n, "one_process": False} for n in ("collective", "independent")],
    "methods": [
        {"name": name, "available": True, "moves_nothing": name == "null", "options": options,
         "modes": modes}
        for name, modes, options in (
            ("null", [], []), ("posix", [], []), ("ioserver", [], ["io-processes"]),
            ("mpiio", ["collective", "independent"], []), ("pnetcdf", ["collective"], []),
        )
    ],
    "cross": [{"pattern": "s3d", "method": m, "ok": m != "cgns"}
              for m in ("null", "posix", "ioserver", "mpiio", "pnetcdf", "cgns")],
}  # fmt: skip


class Silent(Progress):
    """Says nothing."""

    def __init__(self) -> None: ...

    def round(self, now: tuning_search.Round, used: float) -> None: ...

    def trial(
        self, now: tuning_search.Round, arm: Config, outcome: Outcome, used: float
    ) -> None: ...


def small() -> Space:
    """24 settings of three kinds."""
    return Space(
        settings=(
            Setting("speed", ("110", "150", "300"), ("speed={v}",)),
            Setting("count", ("1", "2"), ("count={v}",)),
            Setting("wrong", ("yes",), ("wrong={v}",)),
        ),
        calls={"mpiio:collective": frozenset()},
        features=frozenset(),
        default=((CALL, "mpiio:collective"),),
    )


class Model:
    """Jobs whose speed is known, with noise that only round and setting decide. `calls`: what was
    really run."""

    def __init__(self, slow_wrong: bool = False, stop_after: int = 10**9) -> None:
        self.calls: list[Config] = []
        self.slow_wrong, self.stop_after = slow_wrong, stop_after

    def __call__(self, arm: Config, keep: Path, limit: float) -> Outcome:
        if len(self.calls) >= self.stop_after:
            raise KeyboardInterrupt
        self.calls.append(arm)
        of = dict(arm)
        if "wrong" in of:
            return Outcome("wrong bytes", "u[3]", seconds=1)
        if of.get("count") == "2":
            return Outcome("crashed", "signal 8", seconds=1)
        noise = random.Random(f"{keep.name} {arm}").lognormvariate(0, 0.05)
        return Outcome("ok", write=float(of.get("speed", 100)) * noise, read=50, seconds=1, peak=9)


def drive(folder: Path, run: Any, budget: float = 1e6, session: Session | None = None) -> Drive:
    session = session or Session(folder, NAME, {**ASKED, "budget": budget})
    return Drive(session, small(), run, budget, "write", Silent())


def test_the_fastest_that_is_right_is_advised_and_what_is_wrong_is_named(tmp_path: Path) -> None:
    course = drive(tmp_path, Model())
    found = course.all()
    assert dict(found.winner)["speed"] == "300"
    assert not {"wrong"} & dict(found.winner).keys()
    advice = Advice(course.session, course.space, found)
    assert advice.is_decided
    gain = found.confirmed
    assert gain and gain.low and gain.high and gain.low <= 3 <= gain.high
    text = "\n".join(advice.lines())
    assert "excluded wrong bytes: mpiio:collective" in text and "wrong=yes: u[3]" in text
    assert "excluded crashed" in text and "count=2" in text
    assert all(int(more) > 0 for more in re.findall(r"(-?\d+) more settings", text))
    assert "wrong bytes: 1 more settings" not in text  # each is named


@pytest.mark.parametrize(("crashed", "more"), [(SHOWN, None), (SHOWN + 1, 1)])
def test_a_kind_of_failure_with_many_settings_is_cut(
    tmp_path: Path, crashed: int, more: int | None
) -> None:
    course = drive(tmp_path, Model())
    found = course.all()
    course.session.trials.clear()
    for i in range(crashed):
        arm = ((CALL, "mpiio:collective"), ("speed", str(i)))
        course.session.add(i, "explore", arm, Outcome("crashed", f"signal {i}", seconds=1))
    lines = Advice(course.session, course.space, found).lines()
    of = [line for line in lines if line.startswith("excluded crashed: ")]
    assert [line.endswith(f": signal {i}") for i, line in enumerate(of[:SHOWN])] == [True] * SHOWN
    assert of[SHOWN:] == ([f"excluded crashed: {more} more settings"] if more else [])


def test_the_fastest_of_each_kind_of_file_stands_beside_the_winner(tmp_path: Path) -> None:
    speeds = {"posix": 400, "mpiio:collective": 100, "hdf5:collective": 25, "hdf5:independent": 20}
    space = Space(
        (), dict.fromkeys(speeds, frozenset()), frozenset(), ((CALL, "mpiio:collective"),)
    )

    def run(arm: Config, keep: Path, limit: float) -> Outcome:
        noise = random.Random(f"{keep.name} {arm}").lognormvariate(0, 0.01)
        return Outcome("ok", write=speeds[dict(arm)[CALL]] * noise, read=50, seconds=1, peak=9)

    session = Session(tmp_path, NAME, {**ASKED, "budget": 1e6})
    found = Drive(session, space, run, 1e6, "write", Silent()).all()
    lines = Advice(session, space, found).lines()
    own, shared, format_ = [line for line in lines if line.startswith("kind ")]
    assert own == "kind     a file per process: posix"
    assert re.match(r"kind     one shared file: 0\.2[45] times the fastest .*: mpiio:coll", shared)
    assert re.match(r"kind     a self-describing format: 0\.06 times .*: hdf5:collective", format_)


def test_nothing_that_holds_the_settings_of_a_wrong_one_is_tried_again(tmp_path: Path) -> None:
    model = Model()
    drive(tmp_path, model).all()
    wrong = [n for n, arm in enumerate(model.calls) if "wrong" in dict(arm)]
    space = small()
    first = model.calls[wrong[0]]
    later = [arm for arm in model.calls[wrong[-1] + 1 :] if space.contains(arm, first)]
    assert wrong and not later


def test_bytes_that_go_wrong_only_in_the_confirmation_are_not_advised(tmp_path: Path) -> None:
    """A race inside a library shows in one run of many."""
    course = drive(tmp_path, None)
    model = Model()

    def run(arm: Config, keep: Path, limit: float) -> Outcome:
        confirming = len(course.session.trials) and stages[-1] == "confirm"
        if confirming and dict(arm).get("speed") == "300":
            return Outcome("wrong bytes", "zeros", seconds=1)
        return model(arm, keep, limit)

    stages: list[str] = []
    watch = Silent()
    watch.round = lambda now, used: stages.append(now.stage)  # type: ignore[method-assign]
    course.run, course.watch = run, watch
    found = course.all()
    assert dict(found.winner).get("speed") == "150"
    assert found.confirmed and found.confirmed.samples == (tuning_search.RULES.confirm,)
    assert "excluded wrong bytes" in "\n".join(Advice(course.session, course.space, found).lines())


def test_a_search_that_was_stopped_goes_on_without_repeating(tmp_path: Path) -> None:
    whole = drive(tmp_path / "whole", Model())
    expected = whole.all()
    stopped = Model(stop_after=30)
    with pytest.raises(KeyboardInterrupt):
        drive(tmp_path / "cut", stopped).all()
    with (tmp_path / "cut" / NAME / "trials.jsonl").open("a") as lines:
        lines.write('{"number": 30, "rou')  # as a kill leaves it
    session = Session.resume(tmp_path / "cut", "")
    assert len(session.trials) == 30
    rest = Model()
    found = drive(tmp_path / "cut", rest, session=session).all()
    assert found == expected
    pairs = [(trial.round, trial.arm) for trial in session.trials]
    assert len(pairs) == len(set(pairs)) == 30 + len(rest.calls)


def test_there_is_nothing_to_go_on_with(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="found none"):
        Session.resume(tmp_path, "")


@pytest.mark.parametrize("budget", [5.0, 30.0, 80.0])
def test_the_budget_is_kept_and_an_undecided_end_says_what_would_decide(
    tmp_path: Path, budget: float
) -> None:
    course = drive(tmp_path, Model(), budget)
    found = course.all()
    assert course.used <= budget + 2  # the job in which it ends, and the default beside it
    advice = Advice(course.session, course.space, found)
    text = "\n".join(advice.lines())
    assert advice.is_decided or f"--resume {NAME} --budget" in text
    assert advice.is_decided == (found.confirmed is not None and "undecided" not in text)


def test_a_default_that_does_not_run_ends_the_search(tmp_path: Path) -> None:
    def run(arm: Config, keep: Path, limit: float) -> Outcome:
        return Outcome("failed", "no space left", seconds=1)

    with pytest.raises(tuning_search.DefaultFailedError, match="no space left"):
        drive(tmp_path, run).all()


# ------------------------------------------------------------------------------- real processes


@pytest.fixture
def runner(tmp_path: Path) -> Callable[[Space], Runner]:
    """Of stand-in jobs, with a folder for their files."""
    (tmp_path / "fs").mkdir()
    document = next(
        path for path in sorted((ROOT / "tests/data/session").rglob("result.json"))
        if "S3d" in str(path) and '"verified"' in path.read_text()
    )  # fmt: skip
    words = (sys.executable, str(ROOT / "tests" / "tune_standin.py"), str(document))
    return lambda space: Runner(Job(words, Path("iokernel"), ("s3d",), tmp_path / "fs"), space)


def test_crash_hang_and_wrong_bytes_are_outcomes(
    tmp_path: Path, runner: Callable[[Space], Runner]
) -> None:
    kinds = ("speed", "crash", "hang", "wrong")
    space = Space(
        tuple(Setting(kind, ("200",), (f"{kind}={{v}}",)) for kind in kinds),
        {"mpiio:collective": frozenset()}, frozenset(), ((CALL, "mpiio:collective"),),
    )  # fmt: skip
    run = runner(space)
    arms = {kind: (*space.default, (kind, "200")) for kind in kinds}
    found = {
        kind: run(arm, tmp_path / kind, 60 if kind != "hang" else 3) for kind, arm in arms.items()
    }
    assert [found[kind].kind for kind in kinds] == ["ok", "crashed", "too slow", "wrong bytes"]
    assert found["speed"].write == 200 and found["speed"].peak > 0
    assert "signal 8" in found["crash"].why
    assert "u[3]: expected 1, found 0" in found["wrong"].why
    assert list((tmp_path / "fs").iterdir()) == []
    assert "speed=200" in (tmp_path / "speed" / "rfm_job.sh").read_text()


def test_ctrl_c_leaves_a_sound_store_with_every_trial(
    tmp_path: Path, runner: Callable[[Space], Runner], monkeypatch: pytest.MonkeyPatch
) -> None:
    space = small()
    real, count = runner(space), iter(range(100))

    def run(arm: Config, keep: Path, limit: float) -> Outcome:
        if next(count) == 6:
            raise KeyboardInterrupt
        return real(arm, keep, limit)

    monkeypatch.setattr(command, "Runner", lambda job, of: run)
    monkeypatch.setenv("IOGAUGE_STORE", str(tmp_path / "store"))
    session = Session(tmp_path / "output", NAME, ASKED)
    with pytest.raises(KeyboardInterrupt):
        command.search(session, real.job, space)
    connection = database.connect(tmp_path / "store")
    stored = database.rows(
        connection,
        "SELECT run, any_value(status) AS status, any_value(variant) AS variant, "
        "any_value(harness) AS harness FROM records GROUP BY run ORDER BY run",
    )
    assert len(stored) == 6 == len(session.trials)
    for row, trial in zip(stored, session.trials, strict=True):
        assert (row["status"] == "ok") == (trial.outcome.kind == "ok")
        assert row["harness"].startswith("iogauge tune")
        settings = dict(trial.arm)
        assert all(f"{k}={v}" in row["variant"] for k, v in settings.items() if k != CALL)


# ------------------------------------------------------------------------------- the space


@pytest.mark.parametrize(
    ("scope", "calls"),
    [
        ("everything", {"posix", "mpiio:collective", "mpiio:independent", "pnetcdf:collective"}),
        ("library-only", {"mpiio:collective", "mpiio:independent", "pnetcdf:collective"}),
        ("same-file", {"mpiio:collective", "mpiio:independent"}),
        ("same-calls", {"mpiio:collective"}),
    ],
)
def test_a_wish_leaves_the_calls_that_it_says(scope: Scope, calls: set[str]) -> None:
    space = space_of(LISTING, "s3d", "mpiio", 4, scope, frozenset({"ompio"}))
    assert set(space.calls) == calls
    assert space.default == ((CALL, "mpiio:collective"),)


def test_a_setting_is_only_tried_where_it_says_something() -> None:
    space = space_of(LISTING, "s3d", "pnetcdf", 4, "everything", frozenset({"ompio"}))
    named = [dict(arm) for arm in space.all]
    assert len(space.all) == len(set(space.all)) == space.size
    assert all("fcoll" not in of or "io" not in of for of in named)  # OMPIO's, not ROMIO's
    assert all("aggregators" not in of or of.get("io") == "romio" for of in named)
    assert all(of[CALL].startswith("pnetcdf") for of in named if "swap-in-place" in of)
    assert {of[CALL] for of in named if len(of) == 1} == set(space.calls)
    assert {tuple(of) for of in named if of[CALL] == "posix"} == {(CALL,)}


def test_a_search_begins_with_a_start_then_the_default_then_the_other_starts() -> None:
    """A small budget ends within the first ones: the default has to be among them."""
    settings = (Setting("x", ("1", "2", "3"), ("x={v}",)),)
    calls = {name: frozenset[str]() for name in ("a", "b")}
    starts = tuple((("x", value),) for value in ("2", "1", "3"))
    space = Space(settings, calls, frozenset(), ((CALL, "a"),), starts)
    found = [(of[CALL], of.get("x")) for of in map(dict, space.first())]
    assert found == [(call, value) for value in ("2", None, "1", "3") for call in ("a", "b")]


def test_the_settings_reach_their_libraries() -> None:
    space = space_of(LISTING, "s3d", "pnetcdf", 4, "library-only", frozenset({"ompio"}))
    job = Job(("mpiexec", "-n", "4"), Path("k"), ("s3d",), Path("/scratch"), fsync=True)
    arm = space.fit({CALL: "pnetcdf:collective", "io": "romio", "aggregators": "4"})
    words, variables = job.command(space, arm)
    assert variables == {"OMPI_MCA_io": "^ompio"}
    assert words[3:] == [
        "k", "s3d", "--method", "pnetcdf", "--mode", "collective", "--hint", "cb_nodes=4",
        "--hint", "cb_config_list=*:4", "--fsync",
    ]  # fmt: skip
    other = space.fit({CALL: "mpiio:collective", "fcoll": "vulcan"})
    assert job.command(space, other)[1] == {"OMPI_MCA_fcoll": "vulcan"}


@pytest.mark.parametrize(
    ("pattern", "default", "right"),
    [("s4d", "mpiio", "did you mean 's3d'"), ("s3d", "pnetcd:collective", "pnetcdf:collective")],
)
def test_a_wrong_word_is_named_with_the_right_one(pattern: str, default: str, right: str) -> None:
    with pytest.raises(UsageError, match=right):
        space_of(LISTING, pattern, default, 4)


# ------------------------------------------------------------------------------- the search


def test_what_a_few_settings_say_of_others() -> None:
    """Two effects that were seen apart are expected together."""
    a, b = ("x", "1"), ("y", "1")
    speeds = {(): {0: 100.0}, (a,): {0: 200.0}, (b,): {0: 300.0}}
    found = guesses(speeds, (), [(a, b), (a,), ()])
    assert found[a, b] > found[(a,)] > found[()]
    assert math.exp(found[a, b]) > 2


@pytest.mark.parametrize("noise", ["10 %", "heavy tail"])
def test_a_simulated_search_ends_near_the_best_with_few_runs(noise: str) -> None:
    """The short form of `make simulate`."""
    uses = 12
    found = searches.searched(noise, uses)
    assert found.near >= 0.95 - slack(0.95, uses)
    assert found.runs <= 0.5
    assert found.wrong == 0
    assert found.printed >= 0.95 - slack(0.95, uses)
    assert found.held >= 0.95 - slack(0.95, round(found.printed * uses))
