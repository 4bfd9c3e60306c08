# SPDX-License-Identifier: BSD-3-Clause
"""A failing command line of iokernel, and the smallest that still fails, by delta debugging."""

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from iogauge.analysis.errors import EXIT_NOT_VERIFIED, AnalysisError, UsageError
from iogauge.common.guard import Guard
from iogauge.common.run_folder import DOCUMENT, JOB_SCRIPT
from iogauge.common.text import Notice
from reframe_tests.machine.leftovers import own_folder

from .. import iokernel
from ..iokernel import Stack

SECONDS = 120.0  # a small run takes less than one
MOST = 200  # cases that are tried
# Options for the place and output of a run, which are set here, and whether they take a value.
OWN = {"--dir": True, "--json": True, "--keep": False}
# Options without which it is another case.
NEEDED = ("--method", "--mode")
NUMBER = re.compile(r"\d+")
RIGHT, REFUSED = "right", "refused"
Some = TypeVar("Some")


class CannotShrinkError(AnalysisError):
    """There is nothing to reduce; the message says why."""


class NoProgramError(CannotShrinkError):
    """The case fails, but cannot be turned into a program."""

    exit_code = EXIT_NOT_VERIFIED


@dataclass(frozen=True)
class Failing:
    """`words`: pattern and options, without a folder. `environment`: beside the process's own."""

    processes: int
    words: tuple[str, ...]
    environment: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        values = [f"{name}={shlex.quote(value)}" for name, value in self.environment]
        return " ".join([*values, f"-n {self.processes}", shlex.join(self.words)])


def without_own(words: Sequence[str]) -> tuple[str, ...]:
    found, rest = [], iter(words)
    for word in rest:
        name, equals, _ = word.partition("=")
        if name not in OWN:
            found.append(word)
        elif OWN[name] and not equals:
            next(rest, "")
    return tuple(found)


def options(case: Failing) -> list[tuple[int, int]]:
    """Begin and end of each option with its value."""
    starts = [i for i, word in enumerate(case.words) if i and re.match(r"--?[A-Za-z]", word)]
    return list(zip(starts, [*starts[1:], len(case.words)], strict=False))


def smaller(case: Failing) -> Iterator[Failing]:
    """The largest steps first: processes, numbers, then options without numbers."""
    least = {1, 2, 3, case.processes // 2, case.processes - 1}
    for processes in sorted(n for n in least if 0 < n < case.processes):
        yield replace(case, processes=processes)
    for i, word in enumerate(case.words[1:], 1):
        numbers = [int(text) for text in NUMBER.findall(word)]
        if word.startswith("-") or not any(value > 1 for value in numbers):
            continue
        for divide in (8, 2):
            yield _with(case, i, NUMBER.sub(lambda m, d=divide: str(max(1, int(m[0]) // d)), word))  # type: ignore[misc]
        for k in range(len(numbers) if len(numbers) > 1 else 0):
            number = list(NUMBER.finditer(word))[k]
            half = str(max(1, int(number[0]) // 2))
            yield _with(case, i, word[: number.start()] + half + word[number.end() :])
    for start, end in options(case):
        has_number = any(NUMBER.search(word) and "=" not in word for word in case.words[start:end])
        if case.words[start] not in NEEDED and not has_number:
            yield replace(case, words=case.words[:start] + case.words[end:])
    for i in range(len(case.environment)):
        yield replace(case, environment=case.environment[:i] + case.environment[i + 1 :])


def _with(case: Failing, i: int, word: str) -> Failing:
    return replace(case, words=(*case.words[:i], word, *case.words[i + 1 :]))


@dataclass
class Runner:
    """Runs cases of one program. `folder`: on the file system where it fails."""

    stack: Stack
    folder: Path
    seconds: float = SECONDS
    guard: Guard = field(default_factory=iokernel.guard)

    def end(self, case: Failing, traces: Path | None = None) -> str:
        """RIGHT, or the failure in a word. `traces`: where each access is recorded."""
        with own_folder(self.folder) as place:
            prefix = self.stack.recorded(traces, self.folder) if traces else []
            done = iokernel.run(
                self.stack,
                case.processes,
                [*case.words, "--dir", str(place)],
                prefix=prefix,
                env=dict(case.environment),
                seconds=self.seconds,
                document=place / DOCUMENT,
                guard=self.guard,
            )
        if done.kind == "refused":
            return f"{REFUSED}: {done.why}"
        if done.status == 0:
            return RIGHT
        return {"hung": "hung", "late": "hung", "wrong bytes": "mismatch"}.get(
            done.kind, f"status {done.status}"
        )


def of_run(folder: Path, number_of: Callable[[Path], tuple[int, str]]) -> Failing:
    processes, command = number_of(folder)
    words = shlex.split(command)
    script = folder / JOB_SCRIPT
    lines = script.read_text().splitlines() if script.is_file() else []
    exported = [line.split(maxsplit=1)[1] for line in lines if line.startswith("export ")]
    values = [shlex.split(text)[0].partition("=") for text in exported if "$" not in text]
    hints = tuple((name, value) for name, _, value in values if re.match(r"OMPI_MCA_|ROMIO_", name))
    return Failing(processes, without_own(words[1:]), hints)


class Tries:
    """How often a case fails as the first one did."""

    def __init__(self, end: Callable[[Failing], str], tries: int, notice: Notice) -> None:
        self.end, self.tries, self.notice = end, tries, notice
        self.how = ""

    def begin(self, case: Failing) -> None:
        """Learn how it fails. Raises CannotShrinkError if three times the tries all pass."""
        for number in range(1, 3 * self.tries + 1):
            self.how = self.end(case)
            if self.how.startswith(REFUSED):
                raise UsageError(f"{case}: {self.how}")
            if self.how != RIGHT:
                self.notice(f"try {number} of {case}: {self.how}")
                return
        raise CannotShrinkError(f"no failure in {3 * self.tries} runs of {case}")

    def fails(self, case: Failing) -> bool:
        """Whether one of the tries fails in the same way; another failure ends the tries."""
        for number in range(1, self.tries + 1):
            how = self.end(case)
            if how == self.how:
                self.notice(f"still fails, in try {number}: {case}")
                return True
            if how != RIGHT:
                break
        return False

    def rate(self, case: Failing, runs: int) -> int:
        return sum(self.end(case) == self.how for _ in range(runs))


def shrink(case: Failing, tries: Tries) -> Failing:
    tries.begin(case)
    tried: set[Failing] = set()
    while True:
        for candidate in smaller(case):
            if candidate in tried:
                continue
            if len(tried) == MOST:
                return case
            tried.add(candidate)
            if tries.fails(candidate):
                case = candidate
                break
        else:
            return case


def fewest(some: Sequence[Some], fails: Callable[[Sequence[Some]], bool]) -> list[Some]:
    """Zeller and Hildebrandt's ddmin (2002): as few of them, in order, as still fail."""
    now, parts = list(some), 2
    while len(now) >= 2:
        size = -(-len(now) // parts)
        chunks = [now[i : i + size] for i in range(0, len(now), size)]
        rest = [[x for j, c in enumerate(chunks) if j != i for x in c] for i in range(len(chunks))]
        found = next((c for c in [*chunks, *rest] if len(c) < len(now) and fails(c)), None)
        if found is not None:
            parts = 2 if found in chunks else max(parts - 1, 2)
            now = found
        elif parts >= len(now):
            break
        else:
            parts = min(2 * parts, len(now))
    return now
