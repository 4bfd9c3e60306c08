# SPDX-License-Identifier: BSD-3-Clause
"""Many small runs of stacks, recorded line by line in a locked folder; none is repeated."""

import itertools
import json
import os
import platform
import shlex
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from iogauge.analysis.errors import UsageError
from iogauge.analysis.judge import certificate
from iogauge.analysis.judge.certificate import BAD, KEY, LATE, RIGHT, WRONG
from iogauge.analysis.store.months import locked
from iogauge.common import json_file
from iogauge.common.files import append, write_whole
from iogauge.common.guard import Guard
from iogauge.common.hints import sort_hints
from iogauge.common.mounts import mount_of
from iogauge.common.paths import ROOT
from iogauge.common.progress import Bar, clock
from iogauge.common.run_folder import DOCUMENT
from iogauge.common.text import notices
from reframe_tests.machine import leftovers
from reframe_tests.machine.leftovers import own_folder
from site_configs.support import common

from .. import iokernel, kernels, sites
from ..iokernel import Ended
from . import plan
from .plan import REPEATS, PlannedRun, rank
from .stacks import Candidate, hints_of, name_of, prepare, variables_of

notice = notices("certify")
LIMITS = ("--patience", "30", "--start-limit", "30")  # iokernel's own limit, in seconds
SECONDS = 90  # then a run is killed; generous for loaded machines
OUTCOMES = {"right": RIGHT, "wrong bytes": WRONG, "hung": "hang", "late": LATE, "crashed": "crash"}

Record = dict[str, Any]


def environment(stack: Candidate, case: PlannedRun) -> dict[str, str]:
    hints = sort_hints(hints_of(case.setting, stack.is_ompio))
    return {**variables_of(case.setting), **hints.environment}


def words_of(stack: Candidate, case: PlannedRun, folder: Path) -> list[str]:
    call = case.call
    words = [call.pattern, *case.options, "--method", call.method, *call.words]
    if call.served:
        words += ["--io-processes", str(max(1, case.processes // 3))]
    elif call.mode:
        words += ["--mode", call.mode]
    words += sort_hints(hints_of(case.setting, stack.is_ompio)).words
    return [*words, "--repeat", str(REPEATS), "--seed", str(case.seed), "--dir", str(folder)]


def rerun_command(stack: Candidate, case: PlannedRun, base: Path) -> str:
    ours = kernels.variables()
    values = {k: v for k, v in stack.variables.items() if k not in ours} | environment(stack, case)
    words = [f"{key}={value}" for key, value in values.items()]
    words += stack.command(case.processes, words_of(stack, case, base))
    return " ".join(words).replace(f"{ROOT}/", "")


def judge(done: Ended) -> tuple[str, str]:
    """A run's outcome, one of certificate.OUTCOMES, and its message."""
    outcome = OUTCOMES.get(done.kind, "error")
    if outcome == WRONG:
        verdict = (done.document or {})["verification"]
        first = verdict.get("first") or {}
        where = f"{first.get('dataset')}{first.get('index')}"
        return outcome, f"{verdict.get('mismatches')} elements, the first {where}"
    return outcome, done.why


def execute(stack: Candidate, case: PlannedRun, base: Path, guard: Guard | None = None) -> Record:
    """Run it below `base`. Returns the record for the certificate."""
    with own_folder(base) as folder:
        (folder / "data").mkdir()
        done = iokernel.run(
            stack,
            case.processes,
            [*words_of(stack, case, folder / "data"), *LIMITS],
            env=environment(stack, case),
            seconds=SECONDS,
            document=folder / DOCUMENT,
            guard=guard,
        )
    outcome, reason = judge(done)
    record = {
        **dict(zip(KEY, case.key, strict=True)),
        "size": rank(case.call, case.options),
        "why": case.why,
        "outcome": outcome,
        "seconds": round(done.seconds, 2),
    }
    if outcome != RIGHT:
        reason = reason.replace(f"{folder}/", "").replace(f"{ROOT}/", "")
        record |= {"says": reason, "command": rerun_command(stack, case, base)}
    return record


RUN_SECONDS = 1.5  # approximate seconds of a run on two cores
# Share of a stack's runs that may follow up failures.
SHARE = 0.4
LOOKED = 2


@dataclass(frozen=True)
class Wanted:
    """`runs`: of each stack, unless `minutes` end first. `kernels`: a folder, with {stack}."""

    stacks: list[str]
    patterns: list[str]
    fs: list[str]
    minutes: float
    runs: int | None
    jobs: int
    seed: int
    kernels: str
    restart: bool  # discard recorded runs


@dataclass
class Runs:
    """The recorded runs, one line of a file each."""

    file: Path
    records: list[Record] = field(default_factory=list)
    known: dict[tuple[Any, ...], Record] = field(default_factory=dict)

    @classmethod
    def of(cls, file: Path) -> "Runs":
        """Results of an earlier call."""
        found = cls(file)
        for record in json_file.lines(file) if file.is_file() else []:
            found._keep(record)
        return found

    def _keep(self, record: Record) -> None:
        self.records.append(record)
        self.known[tuple(record[name] for name in KEY)] = record

    def add(self, record: Record) -> None:
        append(self.file, json.dumps(record))
        self._keep(record)


class Queue:
    """The planned cases of one stack, interleaved with follow-ups of failures."""

    def __init__(self, stack: Candidate, fs: Sequence[str], seed: int, known: Runs) -> None:
        self.stack, self.known = stack, known
        self.planned: Iterator[PlannedRun] = plan.cases(stack, fs, seed)
        self.waiting: deque[PlannedRun] = deque()
        self.looked_after: set[tuple[Any, ...]] = set()
        self.made: Counter[str] = Counter()
        self.kinds: Counter[tuple[Any, ...]] = Counter()

    def next(self) -> PlannedRun:
        while True:
            after = self.made["after"] < SHARE * (self.made.total() + 1)
            extra = bool(self.waiting) and after
            case = self.waiting.popleft() if extra else next(self.planned)
            self.made["after" if extra else "plan"] += 1
            record = self.known.known.get(case.key)
            if record is None:
                return case
            self.look(case, record)

    def look(self, case: PlannedRun, record: Record) -> None:
        """Queue its follow-ups, at most LOOKED times for each method and kind of failure."""
        kind = (case.call.method, case.call.mode, case.setting.get("io"), record["outcome"])
        if record["outcome"] not in BAD or case.why != "plan" or case.cell in self.looked_after:
            return
        if self.kinds[kind] < LOOKED:
            self.kinds[kind] += 1
            self.looked_after.add(case.cell)
            self.waiting.extend(plan.follow_ups(case, self.stack))


def make(wanted: Wanted, folder: Path) -> list[Any]:
    """Run until the time is over. Returns all runs in the folder. Raises UsageError."""
    stacks = list(_stacks(wanted))
    if not stacks:
        raise UsageError("no stack is left that has such a pattern; iogauge doctor shows stacks")
    listed = sites.local_file_systems()
    places = {name: Path(listed[name]["path"]) for name in wanted.fs}
    for place in (folder, *places.values()):
        place.mkdir(parents=True, exist_ok=True)
        for line in leftovers.remove(place):
            notice(line)
    with locked(folder / "lock") as alone:
        if not alone:
            raise UsageError(f"another process is writing to {folder}; name another --out")
        file = folder / certificate.RUNS
        if wanted.restart:
            file.unlink(missing_ok=True)
        runs = Runs.of(file)
        _keep_about(folder / certificate.ABOUT, _about(stacks, wanted.seed, places))
        had = len(runs.records)
        notice(
            f"{', '.join(stack.name for stack in stacks)}: at most {wanted.minutes:g} minutes, "
            f"about {wanted.minutes * 60 / RUN_SECONDS:.0f} runs, a few MB each on "
            f"{', '.join(places)}; {had} runs are there already"
        )
        try:
            with Bar("certify") as bar:
                _run(wanted, stacks, places, runs, bar)
        except KeyboardInterrupt:
            shown = shlex.quote(str(folder))
            notice(f"interrupted; rerun it to continue; so far: iogauge certify --show {shown}")
            raise
        finally:
            notice(f"{len(runs.records) - had} new runs; {file}")
        return list(runs.records)


def _stacks(wanted: Wanted) -> Iterator[Candidate]:
    """The available stacks; the others are named on stderr."""
    for name in wanted.stacks:
        try:
            stack = prepare(name, wanted.kernels)
        except UsageError as error:
            notice(f"left out: {error}")
            continue
        patterns = wanted.patterns
        if calls := [call for call in stack.calls if not patterns or call.pattern in patterns]:
            yield replace(stack, calls=calls)


def _about(stacks: list[Candidate], seed: int, places: dict[str, Path]) -> dict[str, Any]:
    return {
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d"),
        "seeds": [seed],
        "machine": f"{platform.system()} {platform.release()}, {common.cores()} cores, "
        f"load {os.getloadavg()[0]:.0f} at the start",
        "fs": {name: mount_of(path)["type"] for name, path in places.items()},
        "stacks": {
            stack.name: {
                "versions": dict(stack.versions),
                "most_processes": max(stack.counts),
                "limit": stack.why,
                "calls": len(stack.calls),
                "settings": {
                    name_of(one): {
                        "hints": hints_of(one, stack.is_ompio),
                        "variables": variables_of(one),
                    }
                    for one in stack.settings
                },
            }
            for stack in stacks
        },
    }


def _keep_about(file: Path, new: dict[str, Any]) -> None:
    """Merge with facts of earlier calls: stacks not run now, and seeds."""
    if file.is_file():
        old = json.loads(file.read_text())
        for name, facts in new["stacks"].items():  # --patterns may exclude some
            facts["calls"] = max(facts["calls"], old["stacks"].get(name, facts)["calls"])
        new["stacks"] = old["stacks"] | new["stacks"]
        new["seeds"] = sorted({*old["seeds"], *new["seeds"]})
    write_whole(file, json.dumps(new, indent=1) + "\n")


def _run(
    wanted: Wanted, stacks: Sequence[Candidate], places: Mapping[str, Path], runs: Runs, bar: Bar
) -> None:
    """Run the stacks alternately, so that each gets equally many, until the time is over."""
    began = time.monotonic()
    end, stop = began + 60 * wanted.minutes, threading.Event()
    guard = iokernel.guard()
    queues = [Queue(stack, list(places), wanted.seed, runs) for stack in stacks]
    turn, lock, made = itertools.cycle(queues), threading.Lock(), Counter[str]()

    def worker() -> None:
        while time.monotonic() < end and not stop.is_set():
            with lock:
                queue = next(turn)
                fewest = min(made[one.stack.name] for one in queues)
                if wanted.runs is not None and fewest >= wanted.runs:
                    return
                made[queue.stack.name] += 1
                case = queue.next()
            record = execute(queue.stack, case, places[case.fs], guard)
            with lock:
                runs.add(record)
                queue.look(case, record)
                if record["outcome"] != RIGHT:
                    bar.notice(" ".join(str(record[name]) for name in (*KEY, "outcome", "says")))
                now = min(time.monotonic(), end)
                what = " ".join(str(record[name]) for name in ("stack", "pattern", "method"))
                left = f"{made.total()} runs, at most {clock(end - now)} left, {what}"
                bar.at(now - began, end - began, left)

    with ThreadPoolExecutor(wanted.jobs) as pool:
        try:
            for done in [pool.submit(worker) for _ in range(wanted.jobs)]:
                done.result()
        finally:
            stop.set()  # also after an error, or Ctrl-C
