# SPDX-License-Identifier: BSD-3-Clause
"""Run make targets one after the other, each to its end, whatever became of the one before it. A
table of them all is the end. Exit status: 0 all passed, 1 one failed, 128 + N after signal N.

    python -m tests.parts MAKE TARGET [TARGET ...]
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)
HEAD = "part                   result  min:s"


class Stopped:
    """The first signal. It is handed on to all processes of the target that runs."""

    number = 0
    target: subprocess.Popen[bytes] | None = None

    def __call__(self, number: int, _: FrameType | None) -> None:
        self.number = self.number or number
        self.end()

    def end(self) -> None:
        if self.number and self.target and self.target.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(self.target.pid, self.number)


def run(make: str, target: str, stopped: Stopped) -> str:
    """Run a target as a process group, and return its result."""
    print(f"== {target}", flush=True)
    stopped.target = subprocess.Popen(
        [*make.split(), "--no-print-directory", target],
        stdin=subprocess.DEVNULL,
        preexec_fn=os.setpgrp,
    )
    stopped.end()  # the signal may have come before the target
    failed = stopped.target.wait()
    return "ended" if stopped.number else "FAILED" if failed else "passed"


def main(make: str, targets: list[str]) -> int:
    stopped = Stopped()
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, stopped)
    table, failed = [HEAD], False
    for target in targets:
        start = time.monotonic()
        result = run(make, target, stopped)
        minutes, seconds = divmod(int(time.monotonic() - start), 60)
        table.append(f"{target:<22} {result:<7} {minutes:3d}:{seconds:02d}")
        failed = failed or result == "FAILED"
        if stopped.number:
            break
    print(*table, sep="\n", flush=True)
    return 128 + stopped.number if stopped.number else int(failed)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1], sys.argv[2:]))
