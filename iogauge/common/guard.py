# SPDX-License-Identifier: BSD-3-Clause
"""Ends processes when the process that started them is gone, however it ended. A guard is a process
in a separate session, which blocks on a pipe: when that closes, what is still on its list gets a
signal, and SIGKILL after a while."""

import contextlib
import functools
import os
import signal
import subprocess
import sys
import time

from . import processes
from .paths import ROOT

# Comma-separated descriptors that guards below keep open.
HOLD = "IOGAUGE_HOLD"
START = (
    "import sys; sys.path.insert(0, sys.argv[1]); from iogauge.common import guard; guard.main()"
)


class Guard:
    """Sends the listed processes (of a session leader: the session) `number`, later SIGKILL."""

    def __init__(self, number: int, patience: float) -> None:
        hold = held()
        self._process = subprocess.Popen(
            [sys.executable, "-c", START, str(ROOT), str(int(number)), str(patience)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            pass_fds=hold,
            cwd="/",
        )

    def watch(self, process: int = 0) -> None:
        """0: the calling process, such as a child before its program starts: if its parent told of
        it, the parent might be killed before."""
        self._say(f"+{process or os.getpid()}")

    def forget(self, process: int) -> None:
        self._say(f"-{process}")

    def _say(self, line: str) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # the guard itself was killed
            os.write(self._process.stdin.fileno(), f"{line}\n".encode())


def held() -> list[int]:
    found = []
    for word in os.environ.get(HOLD, "").split(","):
        if word.isdecimal():
            with contextlib.suppress(OSError):
                os.fstat(int(word))
                found.append(int(word))
    return found


def main() -> None:
    """The guard process: python -c START ROOT SIGNAL PATIENCE."""
    number, patience = int(sys.argv[2]), float(sys.argv[3])
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    watched: dict[int, str | None] = {}
    for line in sys.stdin:
        process = int(line[1:])
        if line[0] == "+":
            watched[process] = processes.began(process)
        else:
            watched.pop(process, None)

    alive = functools.partial(_alive, watched)
    if processes.send(number, alive):
        deadline = time.monotonic() + patience
        while alive() and time.monotonic() < deadline:
            time.sleep(0.05)
        processes.send(signal.SIGKILL, alive)


def _alive(watched: dict[int, str | None]) -> list[int]:
    found = []
    for process, began in watched.items():
        now = processes.began(process)
        if now is None or now == began:  # otherwise the pid was reused
            found += processes.of_session(process)
    return found
