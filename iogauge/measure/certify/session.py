# SPDX-License-Identifier: BSD-3-Clause
"""The runs of a certificate, one after the other for each stack, kept line by line: what was run
already is not run again."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from iogauge.analysis.judge.certificate import BAD, KEY, RIGHT
from iogauge.common.progress import Bar, clock
from iogauge.measure.certify import plan
from iogauge.measure.certify.plan import Case
from iogauge.measure.certify.run import Record, execute
from iogauge.measure.certify.stacks import Candidate

# Of a stack's runs, what may go into looking after those that were not right.
SHARE = 0.4
LOOKED = 2


def key_of(record: Record) -> tuple[Any, ...]:
    """What a run was, as its line has it."""
    return tuple(record[name] for name in KEY)


@dataclass
class Runs:
    """Those that were made, in a file of one line each."""

    file: Path
    records: list[Record] = field(default_factory=list)
    known: dict[tuple[Any, ...], Record] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def of(cls, file: Path) -> Runs:
        """Those of an earlier call; a line that was cut short is left out."""
        found = cls(file)
        lines = file.read_text().splitlines() if file.is_file() else []
        for line in lines:
            try:
                record = json.loads(line)
            except ValueError:
                continue
            found.records.append(record)
            found.known[key_of(record)] = record
        return found

    def add(self, record: Record) -> None:
        with self.lock:
            self.records.append(record)
            self.known[key_of(record)] = record
            with self.file.open("a") as out:
                out.write(json.dumps(record) + "\n")


class Queue:
    """The cases of one stack: those of the plan, and between them those that a failure asks for."""

    def __init__(self, stack: Candidate, fs: Sequence[str], seed: int, known: Runs) -> None:
        self.stack, self.known = stack, known
        self.planned: Iterator[Case] = plan.cases(stack, fs, seed)
        self.waiting: deque[Case] = deque()
        self.looked_after: set[tuple[Any, ...]] = set()
        self.made: Counter[str] = Counter()
        self.kinds: Counter[tuple[Any, ...]] = Counter()

    def next(self) -> Case:
        """The next one that was not run already."""
        while True:
            after = self.made["after"] < SHARE * (self.made.total() + 1)
            extra = bool(self.waiting) and after
            case = self.waiting.popleft() if extra else next(self.planned)
            self.made["after" if extra else "plan"] += 1
            record = self.known.known.get(case.key)
            if record is None:
                return case
            self.look(case, record)

    def look(self, case: Case, record: Record) -> None:
        """What a run of the plan that was not right asks for: no more than LOOKED times for a kind
        of failure of a method, so that one that always fails leaves time for the others."""
        kind = (case.call.method, case.call.mode, case.setting.get("io"), record["outcome"])
        if record["outcome"] not in BAD or case.why != "plan" or case.cell in self.looked_after:
            return
        if self.kinds[kind] < LOOKED:
            self.kinds[kind] += 1
            self.looked_after.add(case.cell)
            self.waiting.extend(plan.follow_ups(case, self.stack))


@dataclass(frozen=True)
class Limits:
    """When it ends: at this time (of time.monotonic), or after so many runs of each stack."""

    end: float
    most: int | None = None
    jobs: int = 1
    stop: threading.Event = field(default_factory=threading.Event)  # begin nothing more


def run(
    stacks: Sequence[Candidate],
    places: Mapping[str, Path],
    seed: int,
    runs: Runs,
    limits: Limits,
    bar: Bar,
) -> None:
    """All stacks in turn, each one as many runs as another, until the time is over."""
    began = time.monotonic()
    queues = [Queue(stack, list(places), seed, runs) for stack in stacks]
    turn, lock, made = iter(_in_turn(queues)), threading.Lock(), Counter[str]()

    def worker() -> None:
        while time.monotonic() < limits.end and not limits.stop.is_set():
            with lock:
                queue = next(turn)
                if (
                    limits.most is not None
                    and min(made[one.stack.name] for one in queues) >= limits.most
                ):
                    return
                made[queue.stack.name] += 1
                case = queue.next()
            record = execute(queue.stack, case, places[case.fs])
            with lock:
                runs.add(record)
                queue.look(case, record)
                _tell(bar, record, made.total(), (began, limits.end))

    with ThreadPoolExecutor(limits.jobs) as pool:
        try:
            for done in [pool.submit(worker) for _ in range(limits.jobs)]:
                done.result()
        finally:
            limits.stop.set()  # also after an error, or Ctrl-C


def _tell(bar: Bar, record: Record, made: int, times: tuple[float, float]) -> None:
    """What was not right at once; `times`: of the begin and the end."""
    if record["outcome"] != RIGHT:
        bar.say(" ".join(str(record[name]) for name in (*KEY, "outcome", "says")))
    began, end = times
    now = time.monotonic()
    what = " ".join(str(record[name]) for name in ("stack", "pattern", "method") if name in record)
    left = clock(max(end - now, 0))
    bar.at(min(now, end) - began, end - began, f"{made} runs, at most {left} left, {what}")


def _in_turn(queues: Sequence[Queue]) -> Iterator[Queue]:
    while True:
        yield from queues
