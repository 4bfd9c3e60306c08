# SPDX-License-Identifier: BSD-3-Clause
"""ReFrame's output: all lines go to a log, and progress to a bar."""

import re
from collections.abc import Sequence
from pathlib import Path

from iogauge.common import json_file
from iogauge.common.paths import below
from iogauge.common.progress import Bar
from iogauge.common.run_folder import CASE, STDERR, WAITS, build_error
from iogauge.common.text import one_line

STATUS = re.compile(r"\[ +([A-Z]+) +\] (?:\( *(\d+)/(\d+)\) )?(.*)")
STAGED = re.compile(r"==> test failed during '(.*)': test staged in '(.*)'")
BROKEN = ("FAIL", "ERROR", "XPASS")
KEPT = 8  # lines shown if there is no report


def short(test: str) -> str:
    """`S3d ram posix mpich` of `S3d %fs=ram %call=posix %scale=smoke /4f6c @local:host+mpich`."""
    name, *words = test.split()
    values = [word.partition("=")[2] for word in words if re.match("%(?!scale=)", word)]
    return " ".join([name, *values, test.rpartition("+")[2] if "@" in test else ""]).strip()


class Lines:
    """The output of one call of ReFrame, in the file `log`. `rounds`: those left, including the
    current one. With -v, the lines also go to stdout."""

    def __init__(self, log: Path, bar: Bar, words: Sequence[str], rounds: int) -> None:
        self.log, self.bar, self.rounds = log, bar, rounds
        self.verbose = any(re.fullmatch("-v+|--verbose", word) for word in words)
        self.text, self.now, self.test, self.before = "", "ReFrame starts", "", 0
        self.done, self.total = 0, 0
        log.parent.mkdir(parents=True, exist_ok=True)
        self.written = log.open("wb")
        self.read = log.open(errors="replace")

    def __enter__(self) -> "Lines":
        return self

    def __exit__(self, *_: object) -> None:
        self.look()
        self.written.close()
        self.read.close()

    def look(self) -> None:
        if more := self.read.read():
            if self.verbose:
                print(more, end="", flush=True)
            *lines, self.text = (self.text + more).split("\n")
            for line in lines:
                self.line(line)
        if self.verbose:
            return
        if self.total:
            every = self.before + self.total * self.rounds
            self.bar.count(self.before + self.done, every, self.now)
        else:
            self.bar.at(0, 0, self.now)

    def line(self, line: str) -> None:
        if found := STATUS.match(line):
            status, done, total, self.test = found.groups()
            if done:
                if int(done) < self.done:  # the next round may have other cases
                    self.before, self.rounds = self.before + self.total, max(self.rounds - 1, 1)
                self.done, self.total = int(done), int(total)
            if status in ("RUN", *BROKEN):
                self.now = short(self.test)
        elif found := STAGED.match(line):
            self.bar.notice(f"FAILED {short(self.test)}: {_why(found[1], Path(found[2]))}")
        elif WAITS in line:
            self.bar.notice(line[line.index(WAITS) :])

    def last(self) -> list[str]:
        """The end of the log, for a call without a report."""
        lines = [line for line in self.log.read_text(errors="replace").splitlines() if line.strip()]
        wrong = [line for line in lines if re.search("error|warning", line, re.IGNORECASE)]
        return (wrong or lines)[-KEPT:]


def _why(stage: str, folder: Path) -> str:
    try:
        why = json_file.read(folder / CASE, CASE)["case"]["fail_reason"]
    except (json_file.Unreadable, KeyError, TypeError):
        why = build_error(folder)
    logs = [path for path in (folder / STDERR, folder / "rfm_build.err") if path.is_file()]
    shown = below(Path.cwd(), next(iter(logs), folder))
    why = str(why or stage).removeprefix("sanity error: ")
    return f"{one_line(why, 160)}\n  log: {shown}"
