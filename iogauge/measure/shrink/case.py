# SPDX-License-Identifier: BSD-3-Clause
"""What fails: a command line of iokernel with its processes, and how it ends."""

from __future__ import annotations

import re
import shlex
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from iogauge.common.run_folder import DOCUMENT, JOB_SCRIPT
from iogauge.measure import iokernel
from iogauge.measure.iokernel import Stack

SECONDS = 120.0  # a small run takes less than one
# Where a run is, and what it leaves: the tool's own business.
OWN = {"--dir": 1, "--json": 1, "--keep": 0}
# Without these it is another case.
NEEDED = ("--method", "--mode")
NUMBER = re.compile(r"\d+")
RIGHT = "right"


class CannotShrinkError(Exception):
    """There is nothing to begin with; the message says why."""


@dataclass(frozen=True)
class Case:
    """`words`: pattern and options, without a folder. `environment`: beside the process's own."""

    processes: int
    words: tuple[str, ...]
    environment: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        values = [f"{name}={shlex.quote(value)}" for name, value in self.environment]
        return " ".join([*values, f"-n {self.processes}", shlex.join(self.words)])


def without_own(words: Sequence[str]) -> tuple[str, ...]:
    found, at = [], 0
    while at < len(words):
        name = words[at].partition("=")[0]
        if name in OWN:
            at += 1 + (OWN[name] if "=" not in words[at] else 0)
            continue
        found.append(words[at])
        at += 1
    return tuple(found)


def options(case: Case) -> list[tuple[int, int]]:
    """Where each option begins and ends, with its value."""
    starts = [i for i, word in enumerate(case.words) if i and re.match(r"--?[A-Za-z]", word)]
    return list(zip(starts, [*starts[1:], len(case.words)], strict=True))


def smaller(case: Case) -> Iterator[Case]:
    """What could be left of it, the greatest steps first: processes, then numbers, then options
    without numbers (the default of one with a number may be larger)."""
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
            yield _with(case, i, _one_halved(word, k))
    for start, end in options(case):
        has_number = any(NUMBER.search(word) and "=" not in word for word in case.words[start:end])
        if case.words[start] not in NEEDED and not has_number:
            yield replace(case, words=case.words[:start] + case.words[end:])
    for i in range(len(case.environment)):
        yield replace(case, environment=case.environment[:i] + case.environment[i + 1 :])


def _with(case: Case, i: int, word: str) -> Case:
    return replace(case, words=(*case.words[:i], word, *case.words[i + 1 :]))


def _one_halved(word: str, k: int) -> str:
    found = list(NUMBER.finditer(word))[k]
    return word[: found.start()] + str(max(1, int(found[0]) // 2)) + word[found.end() :]


@dataclass
class Runner:
    """Runs cases of one program. `folder`: on the file system where it fails."""

    stack: Stack
    folder: Path
    seconds: float = SECONDS

    def end(self, case: Case, traces: Path | None = None) -> str:
        """How a run ends: RIGHT, or what went wrong in a word. With `traces` each of its accesses
        is recorded there."""
        with tempfile.TemporaryDirectory(prefix="shrink-", dir=self.folder) as data:
            prefix = self.stack.recorded(traces, self.folder) if traces else []
            done = iokernel.run(
                self.stack, case.processes, [*case.words, "--dir", data], prefix=prefix,
                env=dict(case.environment), seconds=self.seconds, document=Path(data) / DOCUMENT,
            )  # fmt: skip
        if done.status == 0:
            return RIGHT
        return {"hung": "hung", "late": "hung", "wrong bytes": "mismatch"}.get(
            done.kind, f"status {done.status}"
        )


def of_run(folder: Path, number_of: Callable[[Path], tuple[int, str]]) -> Case:
    """The case of a run of a session: its command from its trace, the hints of its environment from
    its job script."""
    processes, command = number_of(folder)
    words = shlex.split(command)
    script = folder / JOB_SCRIPT
    lines = script.read_text().splitlines() if script.is_file() else []
    exported = [line.split(maxsplit=1)[1] for line in lines if line.startswith("export ")]
    values = [shlex.split(text)[0].partition("=") for text in exported if "$" not in text]
    hints = tuple((name, value) for name, _, value in values if re.match(r"OMPI_MCA_|ROMIO_", name))
    return Case(processes, without_own(words[1:]), hints)
