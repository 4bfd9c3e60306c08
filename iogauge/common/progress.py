# SPDX-License-Identifier: BSD-3-Clause
"""Progress of a command on stderr: a bar on a terminal, a line every ten seconds elsewhere."""

import signal
import time
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median
from typing import TypeVar

from .text import notice, plain, plain_lines

EVERY = 10.0  # seconds between two lines
RECENT, LEAST = 20, 6  # most and fewest items from which the time left is estimated
T = TypeVar("T")


def clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


class Bar:
    """The progress bar of the command `name`."""

    def __init__(self, name: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn
        from rich.table import Column

        self.name, self.due = name, time.monotonic() + EVERY
        self.ends: deque[tuple[float, int]] = deque(maxlen=RECENT)  # (time, items done)
        console = Console(stderr=True, highlight=False)
        self.live = console.is_terminal and not console.is_dumb_terminal
        self.bar = Progress(
            BarColumn(20),
            TextColumn("{task.description}", table_column=Column(no_wrap=True), markup=False),
            console=console,
            transient=True,
            disable=not self.live,
        )

    def __enter__(self) -> "Bar":
        # The drawing thread takes no signal: only the main thread knows which wait.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            self.bar.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        self.bar.console.show_cursor(True)  # even if killed
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()

    def at(self, done: float, total: float, text: str) -> None:
        if not self.bar.tasks:
            self.bar.add_task("")
        self.bar.update(
            self.bar.tasks[0].id, completed=done, total=total or None, description=plain(text)
        )
        if not self.live and time.monotonic() >= self.due:
            self.due = time.monotonic() + EVERY
            self.notice(text)

    def count(self, done: int, total: int, text: str) -> None:
        """`at`, with the number done and about how long the rest takes."""
        parts = [f"{done} of {total}", self.left(done, total), text]
        self.at(done, total, ", ".join(filter(None, parts)))

    def left(self, done: int, total: int) -> str:
        """Estimated by the median of the last items: a few long builds do not count."""
        now = time.monotonic()
        if not self.ends or done != self.ends[-1][1]:
            self.ends.append((now, done))
        each = [(b - a) / (n - m) for (a, m), (b, n) in pairwise(self.ends) if n > m]
        if len(each) < LEAST or done >= total:
            return ""
        left = (total - done) * median(each) - (now - self.ends[-1][0])
        return f"about {clock(max(left, 0))} left"

    def notice(self, text: str) -> None:
        if self.live:
            self.bar.console.print(plain_lines(text), markup=False, soft_wrap=True)
        else:
            notice(f"{self.name}: {text}")


def steps(items: Sequence[T], what: str, fewest: int = 2) -> Iterator[T]:
    """Yield `items`, with a bar if there are at least `fewest`."""
    if len(items) < fewest:
        yield from items
        return
    with Bar(what) as bar:
        for number, item in enumerate(items):
            bar.count(number, len(items), what)
            yield item
