# SPDX-License-Identifier: BSD-3-Clause
"""More rounds of the cases that a decision needs, in the same session, after `iogauge run`'s first.

One job per case ranks the cases but decides nothing. So what is near a decision runs again, each
round in another order. The first and last of these rounds include the peak tests and disturbed
jobs; some include all cases of several stacks.
"""

import itertools
import statistics
import tempfile
from collections.abc import Container, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from iogauge.analysis.judge.advice import DEFAULT
from iogauge.analysis.session.case_file import ABORTED
from iogauge.analysis.session.loader import ROUNDS_KEY, load_session
from iogauge.analysis.session.model import DIRECTIONS, Direction, Run
from iogauge.analysis.session.rows import Row, Table, make_table
from iogauge.analysis.statistics.interval import PAIRS
from iogauge.common import json_file, tables
from iogauge.common.text import counted
from iogauge.measure.session import REPORT_OPTION, Child, Measured, cases_of, measure, notice
from reframe_tests.jobs import order
from reframe_tests.machine.stacks import ONLY, only

ROUNDS = PAIRS + 1
SECONDS = 320.0  # for a whole session, at most if it can
LEAST = 0.5  # of the first round's time: the later rounds may always take that
PART = 1 / 4  # of the later rounds' time, for peak tests and disturbed jobs
TWICE = (0, ROUNDS - 2)  # the rounds with peak tests
START = 4.0  # start-up of ReFrame, in seconds
# Options of the first round that later rounds set again or drop: a retry is no round.
VALUED = ("-n", "--name", "--max-retries", REPORT_OPTION)

Json = dict[str, Any]


@dataclass(frozen=True)
class Candidate:
    """A call of a pattern on a file system: one test of ReFrame, with its runs on all stacks."""

    group: tuple[Any, ...]
    call: str
    case: str
    speeds: dict[Direction, dict[str, float]]  # by stack

    def best(self, direction: Direction, stack: str = "") -> float:
        of = self.speeds[direction]
        return of.get(stack, 0.0) if stack else max(of.values(), default=0.0)

    @property
    def on(self) -> dict[str, float]:
        """The speed to write by stack."""
        return self.speeds["write"]

    @property
    def fastest(self) -> str:
        return max(self.on, key=self.on.__getitem__, default="")


class Job(NamedTuple):
    """A case on one stack."""

    case: str
    stack: str


def candidates(runs: Sequence[Run]) -> list[Candidate]:
    """Cases that succeeded and moved bytes."""
    found: dict[tuple[Any, ...], Candidate] = {}
    for run in runs:
        if run.is_peak or run.verdict != "verified" or run.status != "ok":
            continue
        group = (run.system, run.partition, run.pattern, run.scale, run.fs)
        one = found.setdefault(
            (*group, run.case), Candidate(group, run.call, run.case, {"write": {}, "read": {}})
        )
        for direction, speeds in one.speeds.items():
            values = [b for s in run.samples if (b := s.bandwidth(direction))]
            if values:
                speeds[run.stack] = statistics.median(values)
    return list(found.values())


def in_order(found: Sequence[Candidate]) -> list[list[Job]]:
    """The jobs of each question, in order of need (docs/analysis.md)."""
    groups: dict[tuple[Any, ...], list[Candidate]] = {}
    for one in found:
        groups.setdefault(one.group, []).append(one)
    return [
        list(itertools.chain(*tier)) for tier in zip(*map(_of_group, groups.values()), strict=True)
    ]


def on_stacks(found: Sequence[Candidate]) -> list[Job]:
    """The cases that ran on several: their pairs judge stacks."""
    return [Job(one.case, of) for one in found if len(one.on) > 1 for of in one.on]


def shared(
    tiers: Sequence[Sequence[Job]], pairs: Sequence[Job], room: float
) -> tuple[list[Job], tuple[int, ...]]:
    """How the time for `room` jobs is shared: the jobs of all later rounds, and the rounds in which
    `pairs` run too: two at most after the first question, more after all questions."""
    needed = list(dict.fromkeys(itertools.chain(*tiers)))
    first, later, times = len({*itertools.chain(*tiers[:1])}), ROUNDS - 1, 0
    for n in range(1, later if pairs else 1):
        if n * len(pairs) + (later - n) * (first if n <= 2 else len(needed)) <= room:
            times = n
    most = int((room - times * len(pairs)) / (later - times))
    of_pairs = tuple(n * (later - 1) // max(times - 1, 1) for n in range(times))
    return needed[: max(most, 2)], of_pairs


def _of_group(of: Sequence[Candidate]) -> list[list[Job]]:
    """The jobs that each question about a group needs, in order."""
    best = max(of, key=lambda one: one.best("write"))
    stacks = sorted({stack for one in of for stack in one.on})
    gain = [Job(best.case, best.fastest)]
    gain += [Job(one.case, best.fastest) for one in of if one.call == DEFAULT and one is not best]
    on_each = [max(of, key=lambda one: one.best("write", stack)) for stack in stacks]
    reader = max(of, key=lambda one: one.best("read"))
    kinds = [
        max(mine, key=lambda one: one.best("write"))
        for methods in map(tables.methods_of_kind, tables.KINDS)
        if (mine := [one for one in of if one.fastest and one.call.partition(":")[0] in methods])
    ]
    return [
        gain if len(gain) > 1 else [],
        [Job(one.case, one.fastest) for one in kinds] if len(kinds) > 1 else [],
        _on(best, stacks) if len(gain) > 1 else [],
        _on(best, stacks),
        [job for one in on_each for job in _on(one, stacks)],
        _on(reader, stacks),
    ]


def _on(one: Candidate, stacks: Sequence[str]) -> list[Job]:
    return [Job(one.case, stack) for stack in stacks if stack in one.on]


def twice(table: Table) -> list[list[Job]]:
    """The peak tests that verified cases are compared with, and the jobs of disturbed rows."""

    def about(row: Row) -> tuple[object, ...]:
        return row.outcome, row.run.fs, row.run.processes, row.run.result and row.run.result.fsync

    good = [row for row in table.rows if row.outcome == "verified"]
    asked = {(*about(row), "posix") for row in good}
    tests = [row for row in table.peak_rows if (*about(row), row.run.method) in asked]
    slow = [row for row in good if any(map(row.disturbed, DIRECTIONS))]
    return [[Job(row.run.case, row.run.stack) for row in of] for of in (tests, slow)]


def without(words: Sequence[str]) -> list[str]:
    """ReFrame's options without those that later rounds set again."""
    kept: list[str] = []
    rest = iter(words)
    for word in rest:
        if word in VALUED:
            next(rest, "")
        elif not word.startswith(("-n", *(f"{name}=" for name in VALUED[1:]))):
            kept.append(word)
    return kept


def merge(first: Json, more: Json, name: str) -> Json:
    info, runs = first["session_info"], [*first["runs"]]
    for again in more["runs"]:
        number = len(runs)
        jobs = [
            {
                **case,
                "display_name": f"{case.get('display_name') or case['name']} %.repeat_no={number}",
                "unique_name": f"{case['unique_name']}_{number}",
            }
            for case in again["testcases"]
            if not case.get("fixture") and case["result"] not in ("skip", ABORTED)
        ]
        runs.append({"testcases": jobs})
    elapsed = info["time_elapsed"] + more["session_info"]["time_elapsed"]
    info = {**info, "time_elapsed": elapsed, ROUNDS_KEY: [*info.get(ROUNDS_KEY, []), name]}
    return {**first, "session_info": info, "runs": runs}


def run(child: Child, words: Sequence[str], output: Path, done: Measured, seconds: float) -> int:
    """Run the rounds after the first and add them to its report. Returns their status."""
    if done.report is None or not done.ran:
        return 0
    data = json_file.read(done.report)
    first = float(data["session_info"]["time_elapsed"])
    cases = cases_of(data)
    took = [c["time_total"] for c in cases if c["result"] != "skip" and c.get("time_total")]
    left = max(seconds - first, LEAST * sum(took)) - START
    hashes = {c.get("display_name") or c["name"]: c.get("hashcode") for c in cases}
    table = make_table(load_session(done.report))
    jobs = max(left, 0.0) / max(statistics.mean(took or [1.0]), 0.01)
    chosen, some = _plan(table, {case for case, known in hashes.items() if known}, jobs)
    if len(chosen) < 2:
        return 0  # nothing to decide
    stacks: dict[str, list[str]] = {}
    for job in (*chosen, *some):
        stacks.setdefault(hashes[job.case], []).append(job.stack)
    again = [*without(words), *(word for number in stacks for word in ("-n", f"/{number}"))]
    again.append(f"--reruns={ROUNDS - 2}")  # one session, started once
    limits = {f"{hashes[job.case]}:{job.stack}": [*map(str, some[job])] for job in some}
    with tempfile.TemporaryDirectory(prefix="iogauge-rounds-") as folder:
        variables = {name: f"{folder}/{name}" for name in (ONLY, order.SOME)}
        Path(variables[ONLY]).write_text(only(stacks))
        Path(variables[order.SOME]).write_text(only(limits))
        more = measure(child, again, output, part=True, variables=variables, rounds=ROUNDS - 1)
    if more.report is not None:
        data = merge(data, json_file.read(more.report), more.name)
        for report in {done.report, output / "reports" / f"run-report-{done.name}.json"}:
            json_file.write(report, data)
        more.report.unlink()
    return more.status


def _plan(
    table: Table, known: Container[str], jobs: float
) -> tuple[list[Job], dict[Job, tuple[int, ...]]]:
    """Jobs of all later rounds, and others with their rounds; there is time for so many `jobs`."""
    found = candidates(table.session.runs)
    *tiers, pairs, peaks, slow = (
        [job for job in of if job.case in known]
        for of in (*in_order(found), on_stacks(found), *twice(table))
    )
    also = [*peaks, *slow][: int(PART * jobs / len(TWICE))]
    chosen, of_pairs = shared(tiers, pairs, jobs - len(TWICE) * len({*also} - {*pairs}))
    if not of_pairs:
        chosen, _ = shared(tiers, [], jobs - len(TWICE) * len(also))
    some = dict.fromkeys(also, TWICE) | dict.fromkeys(pairs if of_pairs else [], of_pairs)
    some = {job: numbers for job, numbers in some.items() if job not in chosen}
    tests, again = (len({*some, *chosen} & {*of}) for of in (peaks, slow))
    what = [f"{ROUNDS - 1} more rounds of the {len(chosen)} jobs that can decide an answer"]
    what += [f"all {len(pairs)} jobs of several stacks in {len(of_pairs)} of them"] * bool(of_pairs)
    what += [f"{counted(tests, 'peak test')} in two of them"] * bool(tests)
    what += [f"{again} of {counted(len(slow), 'disturbed job')} again"] * bool(slow)
    if len(chosen) > 1:
        notice("; ".join(what))
    return chosen, some
