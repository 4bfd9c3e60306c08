# SPDX-License-Identifier: BSD-3-Clause
"""Run several make targets, each to its end, and sum up: the body of `make test`.

    python -m tools.run_parts [--make MAKE] TARGET [TARGET ...]

The targets run one after the other, and their output is passed through as it comes. A target that
fails does not stop the next one. The last lines are a table of all targets: passed or failed, and
the minutes it took. Ctrl-C (or SIGTERM) ends the target that runs, and the rest is not started.

Exit status: 0 all passed, 1 a target failed, 2 the command line is wrong, 128 + N after signal N.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from types import FrameType

# How long a target may take to clean up after a signal, in seconds, before it is killed.
PATIENCE = 30


class Ended(Exception):
    """A signal ended this program."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@dataclass(frozen=True)
class Part:
    """One target: its exit status (None: it never started), and how long it ran."""

    name: str
    status: int | None
    seconds: float = 0.0

    @property
    def result(self) -> str:
        if self.status is None:
            return "not run"
        if self.status < 0:
            return f"ended by signal {-self.status}"
        return "passed" if self.status == 0 else f"FAILED (exit status {self.status})"


def table(parts: Sequence[Part]) -> str:
    """The closing lines."""
    rows = [("part", "result", "minutes")]
    rows += [(p.name, p.result, f"{p.seconds / 60:.1f}") for p in parts]
    rows.append(("all", verdict(parts), f"{sum(p.seconds for p in parts) / 60:.1f}"))
    first, second = (max(len(row[i]) for row in rows) for i in (0, 1))
    return "\n".join(f"{a:{first}}  {b:{second}}  {c:>7}" for a, b, c in rows)


def verdict(parts: Sequence[Part]) -> str:
    good = sum(part.status == 0 for part in parts)
    return "passed" if good == len(parts) else f"{good} of {len(parts)} passed"


def _raise(number: int, _frame: FrameType | None) -> None:
    raise Ended(number)


def _end(child: subprocess.Popen[bytes], number: int) -> int:
    """Pass the signal on and wait. At Ctrl-C the terminal has sent it to the child already; make
    takes a second one as the first."""
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, signal.SIG_IGN)
    if number != signal.SIGINT:
        child.send_signal(number)
    try:
        return child.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        child.kill()
        return child.wait()


def run(make: Sequence[str], targets: Sequence[str]) -> tuple[list[Part], int]:
    """Each target in turn; the second value is the signal that ended this program, or 0."""
    parts: list[Part] = []
    for i, target in enumerate(targets):
        print(f"== {target} ({i + 1} of {len(targets)})", flush=True)
        began = time.monotonic()
        child: subprocess.Popen[bytes] | None = None
        try:
            # Open files go to the child too: with -j, make hands its job slots over by them.
            child = subprocess.Popen([*make, target], close_fds=False)
            status = child.wait()
        except Ended as ended:
            status = _end(child, ended.number) if child else -ended.number
            # a child that ended well after all was finished before the signal came
            parts.append(Part(target, status, time.monotonic() - began))
            parts += [Part(name, None) for name in targets[i + 1 :]]
            return parts, ended.number
        parts.append(Part(target, status, time.monotonic() - began))
        print(f"== {target}: {parts[-1].result}", flush=True)
    return parts, 0


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.run_parts",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("targets", nargs="+", metavar="TARGET")
    parser.add_argument("--make", default="make", help="the make to call (default: make)")
    options = parser.parse_args(words)
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, _raise)
    parts, ended = run([options.make, "--no-print-directory"], options.targets)
    print(f"\n{table(parts)}", flush=True)
    if ended:
        return 128 + ended
    return 0 if all(part.status == 0 for part in parts) else 1


if __name__ == "__main__":
    sys.exit(main())
