# SPDX-License-Identifier: BSD-3-Clause
"""The later rounds of `make run`: which cases have them, and that they become one session."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from iogauge.analysis.session import recover
from iogauge.analysis.session.loader import load_session
from iogauge.analysis.session.rows import make_table
from iogauge.analysis.statistics import interval
from iogauge.common.files import pairs
from iogauge.measure import rounds, session
from iogauge.measure.rounds import Candidate, Job
from reframe_tests.jobs import order
from reframe_tests.machine.stacks import ONLY, chosen, only
from tests.analysis.statistics.test_simulate import slack
from tests.analysis_recorded import Recorded, s3d
from tests.simulate import rates
from tests.simulate.noise import KINDS


def candidate(call: str, write: dict[str, float], read: dict[str, float] | None = None,
              fs: str = "ram") -> Candidate:  # fmt: skip
    return Candidate(("s3d", fs), call, f"{call} {fs}", {"write": write, "read": read or write})


CALLS = [
    candidate("posix", {"openmpi": 900, "mpich": 500}),
    candidate("posix-shared", {"openmpi": 300, "mpich": 700}),
    candidate("mpiio:collective", {"openmpi": 100, "mpich": 100}),
    candidate("hdf5:collective", {"openmpi": 80, "mpich": 80}, {"openmpi": 999, "mpich": 9}),
    candidate("master", {"openmpi": 200, "mpich": 200}),
]


def test_what_a_decision_needs_comes_first() -> None:
    """The fastest writer and the default on its stack, whose gain is the answer; then the fastest
    into one shared file and into a self-describing format; then that writer on the other stack;
    then the fastest where there is no default, and the fastest to read."""
    disk = candidate("posix", {"openmpi": 10}, fs="disk")
    gain, kinds, stacks, *rest = rounds.in_order([*CALLS, disk])
    assert gain == [Job("posix ram", "openmpi"), Job("mpiio:collective ram", "openmpi")]
    assert kinds == [
        Job("posix ram", "openmpi"),
        Job("posix-shared ram", "mpich"),
        Job("hdf5:collective ram", "openmpi"),
    ]
    assert stacks == [Job("posix ram", "mpich"), Job("posix ram", "openmpi")]
    assert {Job("posix disk", "openmpi"), Job("hdf5:collective ram", "mpich")} <= {
        job for tier in rest for job in tier
    }


@pytest.mark.parametrize("room", range(0, 90, 5))
def test_pairs_of_all_cases_come_after_the_gains(room: int) -> None:
    """Two rounds of them once the gains' jobs are in, more only after all else; never more jobs
    than there is time for."""
    tiers, pairs = rounds.in_order(CALLS), rounds.on_stacks(CALLS)
    assert set(pairs) == {Job(one.case, stack) for one in CALLS for stack in ("openmpi", "mpich")}
    chosen, numbers = rounds.shared(tiers, pairs, room)
    gains, needed = set(tiers[0]), {job for tier in tiers for job in tier}
    assert len({*numbers}) == len(numbers) < rounds.ROUNDS - 1
    assert all(0 <= number < rounds.ROUNDS - 1 for number in numbers)
    jobs = {(job, n) for job in chosen for n in range(rounds.ROUNDS - 1)}
    jobs |= {(job, n) for job in pairs for n in numbers}
    assert len(jobs) <= max(room, 2 * (rounds.ROUNDS - 1))
    assert not numbers or gains <= {*chosen}
    assert len(numbers) < 3 or needed <= {*chosen}
    assert numbers or room < len(pairs) + (rounds.ROUNDS - 2) * len(gains)


def test_a_case_on_one_stack_has_no_pair() -> None:
    alone = [candidate("posix", {"a": 1}), candidate("mpiio:collective", {"a": 2})]
    assert rounds.on_stacks(alone) == []
    assert rounds.shared(rounds.in_order(alone), [], 100)[1] == ()


def test_a_default_that_is_fastest_is_held_against_the_other_stack() -> None:
    alone = candidate("mpiio:collective", {"openmpi": 9, "mpich": 8})
    jobs = {job for tier in rounds.in_order([alone]) for job in tier}
    assert jobs == {Job(alone.case, "openmpi"), Job(alone.case, "mpich")}


def test_names_are_given_anew() -> None:
    words = ["-t", "quick", "-n", "S3d", "-nIor", "--name=X", "--name", "Y", "-S", "repeats=1",
             "--report-file", "r.json", "--report-file=q.json", "-x", "Peak"]  # fmt: skip
    assert rounds.without(words) == ["-t", "quick", "-S", "repeats=1", "-x", "Peak"]


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    made = Recorded(tmp_path)

    def plain(report: dict[str, Any]) -> None:
        report["session_info"].update(time_elapsed=10.0)
        for number, case in enumerate(report["runs"][0]["testcases"]):
            case.update(time_total=1.0, hashcode=f"{number:08x}")

    made.edit(plain)
    return made


def test_rounds_are_jobs_of_the_same_cases(recorded: Recorded) -> None:
    first = recorded.read()
    more = json.loads(json.dumps(first))
    posix = [c for c in more["runs"][0]["testcases"] if c["display_name"] == s3d("posix")]
    more["runs"][0]["testcases"] = [c for c in more["runs"][0]["testcases"] if c["fixture"]] + posix
    more["runs"] *= 2  # as --reruns leaves them
    data = rounds.merge(first, more, "20261122T020001-1-1")
    recorded.report.write_text(json.dumps(data))
    before = {row.run.case: len(row.runs) for row in make_table(_of(recorded, first)).rows}
    after = {row.run.case: len(row.runs) for row in make_table(load_session(recorded.report)).rows}
    assert before.keys() == after.keys() and set(before.values()) == {1}
    assert {case for case, jobs in after.items() if jobs == 3} == {s3d("posix")}
    assert data["session_info"]["time_elapsed"] == 20


def _of(recorded: Recorded, data: dict[str, Any]) -> Any:
    return load_session(recorded.report, data=data)


def test_the_folders_of_rounds_are_no_lost_sessions(recorded: Recorded) -> None:
    """`recover` makes sessions of folders that no report names."""
    name = "20261122T020001-1-1"
    case = recorded.output / name / "local" / "host" / "mpich" / "S3d_1" / "case.json"
    case.parent.mkdir(parents=True)
    case.write_text('{"schema": "iogauge.case/1", "session": {"process": "gone"}, "case": {}}')
    assert recover.without_report([name], recover.known(recorded.output)) == [name]
    recorded.edit(lambda data: data["session_info"].update(rounds=[name]))
    assert recover.without_report([name], recover.known(recorded.output)) == []


class Stub:
    """In place of ReFrame: each round measures what the first did."""

    def __init__(self, recorded: Recorded, status: int = 0) -> None:
        self.recorded, self.status = recorded, status
        self.words: list[list[str]] = []
        self.report = recorded.folder / "part.json"
        self.first = recorded.read()

    def __call__(
        self, _: Any, words: list[str], __: Path, *, part: bool, variables: dict[str, str],
        rounds: int,
    ) -> session.Measured:  # fmt: skip
        assert part and f"--reruns={rounds - 1}" in words
        self.words.append(words)
        # The longest string that a program's environment may hold is 128 KiB.
        subprocess.run(["true"], env={**os.environ, **variables}, check=True)
        self.only, self.some = pairs(variables[ONLY]), pairs(variables[order.SOME])
        (reruns,) = (int(w.split("=")[1]) for w in words if w.startswith("--reruns="))
        runs = self.first["runs"] * (1 + reruns)
        self.report.write_text(json.dumps({**self.first, "runs": runs}))
        return session.Measured("20261121T020000", self.status, self.report, "u", 1)


def run(stub: Stub, words: list[str], monkeypatch: pytest.MonkeyPatch, seconds: float = 1e6) -> int:
    monkeypatch.setattr(rounds, "measure", stub)
    done = session.Measured("run", 0, stub.recorded.report, "u", 1)
    return rounds.run(None, words, stub.recorded.output, done, seconds)  # type: ignore[arg-type]


def test_as_many_jobs_as_there_is_time_for(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a round of 10 s, with jobs of 1 s and ReFrame's start: a quarter of 35 s is room for
    two peak tests and two disturbed jobs, twice each; the rest for four jobs in six rounds, one of
    which was disturbed, and for no round of all pairs."""
    stub = Stub(recorded)
    run(stub, [], monkeypatch, seconds=10 + rounds.START + 35)
    assert [*stub.some.values()] == ["0,5"] * (2 + 1)
    assert sum(len(of.split(",")) for of in stub.only.values()) == 4 + 3
    assert {*stub.only} == {word[1:] for word in stub.words[0] if word.startswith("/")}


def test_with_more_time_all_cases_run_again_on_both_stacks(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub = Stub(recorded)
    run(stub, [], monkeypatch, seconds=200)
    found = rounds.candidates(load_session(recorded.report).runs)
    hashes = {c["display_name"]: c["hashcode"] for c in recorded.cases()}
    alone = {stub.words[0][i + 1][1:] for i, w in enumerate(stub.words[0]) if w == "-n"}
    for job in rounds.on_stacks(found):
        assert hashes[job.case] in alone
        assert len(stub.some.get(f"{hashes[job.case]}:{job.stack}", "0,1").split(",")) > 1


def test_peak_tests_and_what_was_disturbed_run_again(recorded: Recorded) -> None:
    """Only peak tests that a verified case is compared with, of a file per process."""
    peaks, _ = rounds.twice(make_table(load_session(recorded.report)))
    assert {job.case for job in peaks} == {
        c["display_name"] for c in recorded.cases() if {"peak", "posix"} <= {*c["tags"]}
    }
    case = next(c for c in recorded.cases() if c["display_name"] == s3d("posix"))
    job = Job(case["display_name"], case["environ"])

    def crawl(document: dict[str, Any]) -> None:
        for sample in document["samples"]:
            sample["ceilings"]["fpp"].update(write=1.0, read=1.0)

    def unsafe(document: dict[str, Any]) -> None:
        document["asked"].update(fsync=False)

    recorded.edit_document(*job, crawl)
    recorded.edit_document(*peaks[0], unsafe)
    fewer, slower = rounds.twice(make_table(load_session(recorded.report)))
    assert set(peaks) - set(fewer) == {peaks[0]}
    assert job in slower


def test_a_test_runs_on_the_stacks_that_were_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ONLY, only({"1f2e3d4c": ["openmpi", "mpich"], "5b6a7988": ["mpich"]}))
    assert chosen("1f2e3d4c") == ["openmpi", "mpich"]
    assert chosen("5b6a7988") == ["mpich"]
    assert chosen("00000000") == []


def test_a_session_may_have_many_jobs(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    """More than an environment variable can name."""
    case = s3d("posix")
    found = {c["display_name"]: c["hashcode"] for c in recorded.cases()}[case]
    jobs, others = ([Job(case, f"{word}{i}") for i in range(20_000)] for word in ("stack", "other"))
    monkeypatch.setattr(rounds, "_plan", lambda *_: (jobs, dict.fromkeys(others, (0, 5))))
    stub = Stub(recorded)
    assert run(stub, [], monkeypatch) == 0
    assert stub.only == {found: ",".join(job.stack for job in (*jobs, *others))}
    assert stub.some == {f"{found}:{job.stack}": "0,5" for job in others}


def test_seven_rounds_become_one_session(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub = Stub(recorded)
    assert run(stub, ["-n", "S3d", "-t", "quick"], monkeypatch) == 0
    (words,) = stub.words
    assert words[:3] == ["-t", "quick", "-n"]
    assert all(word.startswith("/") for word in words[3:-1:2])
    rows = make_table(load_session(recorded.report)).rows
    assert {len(row.runs) for row in rows if row.outcome == "verified"} == {rounds.ROUNDS}
    assert not stub.report.exists()
    own = recorded.output / "reports" / "run-report-run.json"
    assert json.loads(own.read_text()) == recorded.read()


def test_rounds_that_go_wrong_are_kept(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    stub = Stub(recorded, status=1)
    assert run(stub, [], monkeypatch) == 1
    assert recorded.read()["session_info"]["rounds"] == ["20261121T020000"]


def test_nothing_to_decide_between(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    """One case on one stack has no rounds."""

    def one(report: dict[str, Any]) -> None:
        cases = report["runs"][0]["testcases"]
        report["runs"][0]["testcases"] = [
            c for c in cases if (c["display_name"], c["environ"]) == (s3d("posix"), "mpich")
        ]

    recorded.edit(one)
    stub = Stub(recorded)
    assert run(stub, [], monkeypatch) == 0
    assert stub.words == []


@pytest.mark.parametrize("noise", KINDS)
def test_the_choice_of_the_first_round_finds_no_gain_where_there_is_none(noise: str) -> None:
    """Nor that the fastest is faster than itself on the other stack."""
    assert max(rates.false_gains(noise, 400)) <= 0.05 + slack(0.05, 400)


def test_the_number_of_rounds_is_fixed_since_looking_raises_false_alarms() -> None:
    assert rates.looked("10 %", 400, interval.PAIRS + 6) > 0.05 + slack(0.05, 400)
