# SPDX-License-Identifier: BSD-3-Clause
"""Injects faults into the kernels, and counts what is seen of them.

    python -m tools.selftest [--short] [--seed N] [--only REGEX] [--minutes M] [--cases N]
                             [--corruptions N] [--parts PART ...] [--json FILE]

Every pattern with every method and mode, on every stack of this machine; for each the faults of the
calls that it makes (tests/selftest/injector.h), full, read-only and vanishing folders, and kept
files with one wrong byte. The long form also runs the kernels that lie, by their own tests.

Exit status: 0 all was seen; 1 a fault was missed, a run hung or left files, and no reason for it
stands in tools/selftest/known.py; 2 the command line is wrong, or nothing can be run.
"""

from __future__ import annotations

import argparse
import json
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from iogauge.common.paths import ROOT
from iogauge.measure import kernels
from site_configs import local
from tools.selftest import cases, damage, injector, places, table
from tools.selftest.damage import Tally
from tools.selftest.judge import Judgement
from tools.selftest.run import Place
from tools.selftest.session import NotGood, Session

PARTS = ("bytes", "places", "calls", "lies")
LYING = (
    "tests/reframe_tests/test_lying_kernels.py",
    "tests/analysis/checks/test_lies.py",
    "tests/reframe_tests/test_verifier_check.py",
)
# Of each stack: the short form runs so many, on two busy cores within 3 minutes.
SHORT_CASES = 64
SHORT_CORRUPTIONS = 200
LONG_CORRUPTIONS = 10000
# What a run without a launcher costs differs: shares of the wrong bytes.
SHARES = {"openmpi": 0.25, "mpich": 0.75}


@dataclass
class All:
    """What came of it, from all stacks."""

    judged: list[Judgement] = field(default_factory=list)
    damage: Tally = field(default_factory=Tally)
    notes: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    stop: threading.Event = field(default_factory=threading.Event)  # begin nothing more

    def add(self, one: Judgement) -> None:
        with self.lock:
            self.judged.append(one)
            if one.bad:
                _say(f"{one.verdict}: {one.name}: {one.reason}\n    {one.command}")

    def add_damage(self, one: Tally) -> None:
        with self.lock:
            self.damage.add(one)
            for line in (*one.missed, *one.impossible, *one.silent):
                _say(f"wrong byte: {line}")

    def note(self, text: str) -> None:
        with self.lock:
            self.notes.append(text)
            _say(text)

    @property
    def bad(self) -> bool:
        return self.damage.bad or any(one.bad for one in self.judged)

    @property
    def empty(self) -> bool:
        return not self.judged and not self.damage.tried


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


@dataclass(frozen=True)
class Asked:
    """The command line."""

    seed: int
    only: re.Pattern[str]
    end: float | None
    most: int | None
    corruptions: int
    stacks: Sequence[str]
    parts: Sequence[str]
    json: Path | None


def parse(words: Sequence[str] | None) -> Asked:
    parser = argparse.ArgumentParser(
        prog="tools.selftest", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--short", action="store_true", help="a sample, about 3 minutes")
    parser.add_argument("--seed", type=int, default=1, help="which calls, and in which order")
    parser.add_argument("--only", type=re.compile, default=re.compile(""), metavar="REGEX",
                        help="of STACK-PATTERN-METHOD-MODE")  # fmt: skip
    parser.add_argument("--minutes", type=float, help="begin no fault of a call after so long")
    parser.add_argument("--cases", type=int, help="faults of calls, of each stack")
    parser.add_argument("--corruptions", type=int, metavar="N", help="wrong bytes in kept files")
    parser.add_argument("--parts", nargs="+", choices=PARTS, help="only these")
    parser.add_argument("--json", type=Path, metavar="FILE", help="the tables, as JSON")
    asked = parser.parse_args(words)
    corruptions = SHORT_CORRUPTIONS if asked.short else LONG_CORRUPTIONS
    stacks = [e["name"] for e in local.site_configuration["environments"]]
    return Asked(
        asked.seed, asked.only,
        time.monotonic() + 60 * asked.minutes if asked.minutes else None,
        asked.cases or (SHORT_CASES if asked.short else None),
        corruptions if asked.corruptions is None else asked.corruptions,
        [s for s in stacks if not kernels.missing(s)],
        asked.parts or (PARTS[:-1] if asked.short or asked.only.pattern else PARTS), asked.json,
    )  # fmt: skip


def run_stack(stack: str, base: Path, library: Path, asked: Asked, result: All) -> None:
    """Everything on one stack, one after the other; a sample has each method with one pattern."""
    program = kernels.test_folder(stack) / "iokernel"
    session = Session(Place(base / stack / "run", library))
    subjects = [s for s in cases.subjects(stack, program) if asked.only.search(s.name)]
    if "bytes" in asked.parts:
        run_damage(session.place, subjects, asked, stack, result)
    if "places" in asked.parts:
        run_places(session, subjects, asked, result)
    if "calls" in asked.parts:
        some = cases.one_of_each(subjects, asked.seed) if asked.most else subjects
        run_faults(session, some, asked, result)


def run_damage(
    place: Place, subjects: list[cases.Subject], asked: Asked, stack: str, result: All
) -> None:
    number = round(asked.corruptions * SHARES.get(stack, 1) / _all_shares(asked.stacks))
    place.clear()
    kept = damage.keep(place, subjects) if number else []
    for tally in damage.run(place, kept, number if kept else 0, asked.seed):
        result.add_damage(tally)
        if result.stop.is_set():
            return


def _all_shares(stacks: Sequence[str]) -> float:
    return sum(SHARES.get(stack, 1) for stack in stacks)


def run_places(session: Session, subjects: list[cases.Subject], asked: Asked, result: All) -> None:
    if why := places.why_not():
        result.note(f"no full, read-only and vanishing folders: {why}")
        return
    for i, subject in enumerate(places.one_of_each(subjects)):
        for j, fault in enumerate(places.FAULTS):
            # A sample has each method with one of them.
            if result.stop.is_set():
                return
            if asked.most is None or i % len(places.FAULTS) == j:
                result.add(session.judge_place(fault, subject))


def run_faults(session: Session, subjects: list[cases.Subject], asked: Asked, result: All) -> None:
    counted = []
    for subject in subjects:
        try:
            counted.append((subject, session.counts(subject)))
        except NotGood as error:
            result.note(str(error))
    planned = cases.cases(counted, asked.seed)
    if asked.most:
        planned = cases.sample(planned, asked.most)
    for done, case in enumerate(planned):
        if result.stop.is_set():
            return
        if asked.end and time.monotonic() > asked.end:
            result.note(f"{subjects[0].stack}: time is over: {done} of {len(planned)} faults")
            return
        result.add(session.judge(case))


def run_lies() -> bool:
    """The kernels that lie, by their own tests."""
    command = [sys.executable, "-m", "pytest", "-q", *LYING]
    return subprocess.run(command, cwd=ROOT, check=False).returncode == 0


def report(result: All, asked: Asked) -> None:
    judged = result.judged
    parts = [
        table.text("fault", table.rows(judged, table.by_fault)),
        table.text("method", table.rows(judged, table.by_method)),
        table.damage_text(result.damage),
        table.known_text(judged),
    ]
    print("\n\n".join(part for part in parts if part))
    if asked.json:
        asked.json.write_text(
            json.dumps(table.as_json(judged, result.damage, asked.seed), indent=1)
        )


def main(words: Sequence[str] | None = None) -> int:
    asked = parse(words)
    if not asked.stacks:
        _say("tools.selftest: this machine has no stack")
        return 2
    result = All()
    ended = 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    for stack in asked.stacks:
        kernels.build_for_tests(stack)
    with tempfile.TemporaryDirectory(prefix="iogauge-selftest-") as folder:
        base = Path(folder)
        library = injector.build(base)
        with ThreadPoolExecutor(len(asked.stacks)) as pool:
            jobs = [
                pool.submit(run_stack, stack, base, library, asked, result)
                for stack in asked.stacks
            ]
            try:
                for job in jobs:
                    job.result()
            except (KeyboardInterrupt, SystemExit) as end:  # hours of runs: told what they found
                ended = int(end.code or 0) if isinstance(end, SystemExit) else 128 + signal.SIGINT
            finally:
                result.stop.set()  # also for the other stack, after an error or a signal
    report(result, asked)
    if ended:
        return ended
    nothing = result.empty and list(asked.parts) != ["lies"]
    told = run_lies() if "lies" in asked.parts else True
    return 0 if told and not nothing and not result.bad else 1


if __name__ == "__main__":
    raise SystemExit(main())
