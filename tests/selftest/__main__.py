# SPDX-License-Identifier: BSD-3-Clause
"""Injects faults into the kernels, and counts what is seen of them.

    python -m tests.selftest [--short] [--seed N] [--only REGEX] [--minutes M] [--cases N]
                             [--corruptions N] [--parts PART ...] [--json FILE]

Every pattern with every method and mode, on every stack of this machine; for each the faults of the
calls that it makes (tests/selftest/injector.h), full, read-only and vanishing folders, and kept
files with one wrong byte. The long form also runs the kernels that lie, by their own tests.

Exit status: 0 all was seen; 1 a fault was missed, a run hung or left files, and no reason for it
stands in tests/selftest/known.py; 2 the command line is wrong, or nothing can be run.
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
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from iogauge.common.paths import ROOT
from iogauge.measure import kernels
from site_configs import local
from tests.selftest import cases, damage, injector, places, table
from tests.selftest.judge import Judgement
from tests.selftest.run import Place
from tests.selftest.session import NotGood, Session

PARTS = ("bytes", "places", "calls", "lies")
LYING = (
    "tests/reframe_tests/test_lying_kernels.py",
    "tests/analysis/checks/test_lies.py",
    "tests/reframe_tests/test_verifier_check.py",
)
# Of each stack: the short form runs so many, on two busy cores within 3 minutes.
SHORT_CASES = 64
SHORT_CORRUPTIONS, LONG_CORRUPTIONS = 20, 1000


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
        prog="tests.selftest", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--short", action="store_true", help="a sample, about 3 minutes")
    parser.add_argument("--seed", type=int, default=1, help="which calls, and in which order")
    parser.add_argument("--only", type=re.compile, default=re.compile(""), metavar="REGEX",
                        help="of STACK-PATTERN-METHOD-MODE")  # fmt: skip
    parser.add_argument("--minutes", type=float, help="begin no fault of a call after so long")
    parser.add_argument("--cases", type=int, help="faults of calls, of each stack")
    parser.add_argument(
        "--corruptions", type=int, metavar="N", help="runs that read wrong bytes, of each stack"
    )
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
        [s for s in stacks if not kernels.lacking(s)],
        asked.parts or (PARTS[:-1] if asked.short or asked.only.pattern else PARTS), asked.json,
    )  # fmt: skip


def run_stack(stack: str, base: Path, library: Path, asked: Asked) -> Iterator[Judgement]:
    """Everything on one stack, one after the other; a sample has each method with one pattern."""
    program = kernels.test_folder(stack) / "iokernel"
    session = Session(Place(base / stack / "run", library))
    subjects = [s for s in cases.subjects(stack, program) if asked.only.search(s.name)]
    some = cases.one_of_each(subjects, asked.seed) if asked.most else subjects
    if "bytes" in asked.parts:
        yield from damage.run(session.place, some, asked.corruptions, asked.seed)
    if "places" in asked.parts:
        yield from run_places(session, subjects, asked)
    if "calls" in asked.parts:
        yield from run_faults(session, some, asked)


def run_places(
    session: Session, subjects: list[cases.Subject], asked: Asked
) -> Iterator[Judgement]:
    if why := places.why_not():
        _say(f"no full, read-only and vanishing folders: {why}")
        return
    for i, subject in enumerate(places.one_of_each(subjects)):
        for j, fault in enumerate(places.FAULTS):
            # A sample has each method with one of them.
            if asked.most is None or i % len(places.FAULTS) == j:
                yield session.judge_place(fault, subject)


def run_faults(
    session: Session, subjects: list[cases.Subject], asked: Asked
) -> Iterator[Judgement]:
    counted = []
    for subject in subjects:
        try:
            counted.append((subject, session.counts(subject)))
        except NotGood as error:
            _say(str(error))
    planned = cases.cases(counted, asked.seed)
    if asked.most:
        planned = cases.sample(planned, asked.most)
    for done, case in enumerate(planned):
        if asked.end and time.monotonic() > asked.end:
            _say(f"{subjects[0].stack}: time is over: {done} of {len(planned)} faults")
            return
        yield session.judge(case)


def run_lies() -> bool:
    """The kernels that lie, by their own tests."""
    command = [sys.executable, "-m", "pytest", "-q", *LYING]
    return subprocess.run(command, cwd=ROOT, check=False).returncode == 0


def run_all(asked: Asked, judged: list[Judgement]) -> None:
    """All stacks at once. What comes of it goes to `judged`, also before an error or a signal."""
    stop = threading.Event()

    def run(stack: str) -> None:
        for one in run_stack(stack, base, library, asked):
            judged.append(one)
            if one.bad:
                _say(f"{one.verdict}: {one.name}: {one.reason}\n    {one.command}")
            if stop.is_set():
                return

    with tempfile.TemporaryDirectory(prefix="iogauge-selftest-") as folder:
        base = Path(folder)
        library = injector.build(base)
        with ThreadPoolExecutor(len(asked.stacks)) as pool:
            jobs = [pool.submit(run, stack) for stack in asked.stacks]
            try:
                for job in jobs:
                    job.result()
            finally:
                stop.set()  # also for the other stack, after an error or a signal


def main(words: Sequence[str] | None = None) -> int:
    asked = parse(words)
    if not asked.stacks:
        _say("tests.selftest: this machine has no stack")
        return 2
    judged: list[Judgement] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    for stack in asked.stacks:
        kernels.build_for_tests(stack)
    try:
        run_all(asked, judged)
    finally:  # hours of runs: told what they found
        print(table.text(judged))
        if asked.json:
            asked.json.write_text(json.dumps(table.as_json(judged, asked.seed), indent=1))
    told = run_lies() if "lies" in asked.parts else True
    nothing = not judged and list(asked.parts) != ["lies"]
    return 0 if told and not nothing and not any(one.bad for one in judged) else 1


if __name__ == "__main__":
    raise SystemExit(main())
