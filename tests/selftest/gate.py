# SPDX-License-Identifier: BSD-3-Clause
"""Something that is to happen in the middle of a run: the run stops itself, and is let go then."""

from __future__ import annotations

import os
import signal
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from iogauge.common.processes import with_variable
from tests.selftest.injector import Plan, preload

MARK = "IOGAUGE_GATE"  # of the run's processes; folders of two checkouts can have one name
RANKS = ("OMPI_COMM_WORLD_RANK", "PMI_RANK")


class Gate:
    """`variables`: of a run, each process of which, or the one of `rank`, stops itself before its
    `nth` write to `folder`."""

    def __init__(self, library: Path, folder: Path, nth: int = 1, rank: int | None = None) -> None:
        plan = Plan("write", "stop", nth=nth, rank=rank)
        self.variables = {**preload(library, plan, folder), MARK: str(uuid.uuid4())}
        self.ranks = {f"{name}={rank}".encode() for name in RANKS} if rank is not None else None
        self.opened: set[int] = set()  # each stops itself once: later it is others who stop it

    def processes(self) -> list[int]:
        return with_variable(MARK, self.variables[MARK])

    def stopped(self) -> set[int]:
        found = set()
        for one in {*self.processes()} - self.opened:
            with suppress(OSError):  # it has just ended
                stat, environ = (Path(f"/proc/{one}/{file}") for file in ("stat", "environ"))
                mine = self.ranks is None or self.ranks & {*environ.read_bytes().split(b"\0")}
                if mine and stat.read_text().rpartition(") ")[2].startswith("T"):
                    found.add(one)
        return found

    def open(self) -> None:
        for one in self.stopped():
            self.opened.add(one)
            with suppress(ProcessLookupError):
                os.kill(one, signal.SIGCONT)

    @contextmanager
    def then(self, what: Callable[[], None]) -> Iterator[None]:
        """Does `what` in another thread when a run has stopped; who stops later goes on."""
        over = threading.Event()

        def watch() -> None:
            while not over.wait(0.01):
                if self.stopped():
                    what()
                    break
            while not over.wait(0.05):
                self.open()

        thread = threading.Thread(target=watch)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
