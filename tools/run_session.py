# SPDX-License-Identifier: BSD-3-Clause
"""One session: ReFrame, then the table, the store and the page of this very run: `make run`.

    python -m tools.run_session [--] OPTION_OF_REFRAME ...

`reframe OPTION ... -r` runs with a name of its own for its folders and its report, so that whatever
is shown afterwards is what it wrote, and never another session's. Ctrl-C and SIGTERM end ReFrame;
what had finished by then is shown and stored.

Exit status: ReFrame's own; where that is 0, the first other one of summary, ingest and report; 1
where nothing was measured, 2 where nothing was selected, 128 + N after signal N.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from iogauge import lock, paths

REPORT_OPTION = "--report-file"
NOTHING_SELECTED, NOTHING_MEASURED = 2, 1
# How long ReFrame may take to cancel its jobs and write its report after a signal, in seconds.
PATIENCE = 60
PR_SET_PDEATHSIG = 1


def new_name() -> str:
    """Of a session: two that begin in the same second have different ones."""
    return f"{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}"


def given_report(words: Sequence[str]) -> Path | None:
    """The report that the user named; the last one counts, as for ReFrame."""
    found = None
    for word, after in zip(words, [*words, ""][1:], strict=True):
        if word == REPORT_OPTION and after:
            found = Path(after)
        elif word.startswith(f"{REPORT_OPTION}="):
            found = Path(word.partition("=")[2])
    return found


def end_with_parent(number: int) -> None:
    """This process gets a signal when the one that started it is gone, whichever way."""
    try:
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, number)
    except (OSError, AttributeError):
        return  # another system than Linux


class Child:
    """ReFrame, or a step after it: signals that come here end it, and are remembered."""

    def __init__(self) -> None:
        self.signal = 0
        self.running: subprocess.Popen[bytes] | None = None
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._ended)

    def _ended(self, number: int, _frame: FrameType | None) -> None:
        again, self.signal = bool(self.signal), self.signal or number
        if self.running is None:
            raise SystemExit(128 + number)
        # ReFrame cleans up after SIGINT alone; at Ctrl-C the terminal has sent it already.
        if again:
            self.running.kill()
        elif number != signal.SIGINT or os.getpgid(0) != os.getpgid(self.running.pid):
            self.running.send_signal(signal.SIGINT)

    def run(self, command: Sequence[str], environment: dict[str, str]) -> int:
        """Its exit status, as a shell says it."""
        self.running = subprocess.Popen(
            command, env=environment, preexec_fn=lambda: end_with_parent(signal.SIGINT)
        )
        ended = 0.0
        while (status := self.running.poll()) is None:
            time.sleep(0.05)
            ended = ended or (time.monotonic() if self.signal else 0.0)
            if ended and time.monotonic() - ended > PATIENCE:
                self.running.kill()
        self.running = None
        return 128 - status if status < 0 else status


def count(data: Any) -> tuple[int, int]:
    """Tests of a report that ran, and all, without fixtures."""
    cases = [case for run in data["runs"] for case in run["testcases"] if not case.get("fixture")]
    return sum(case["result"] != "skip" for case in cases), len(cases)


def say(text: str) -> None:
    print(f"run: {text}", file=sys.stderr, flush=True)


def show(child: Child, report: Path, environment: dict[str, str]) -> int:
    """Table, store and page of a report; the first exit status that is not 0."""
    first = 0
    for step in ("summary", "ingest", "report"):
        command = [sys.executable, "-m", "analysis", step, str(report)]
        status = child.run(command, environment)
        first = first or status
    return first


def run(words: Sequence[str], output: Path) -> int:
    name = new_name()
    given = given_report(words)
    report = given or output / "reports" / f"run-report-{name}.json"
    before = report.stat().st_mtime_ns if report.exists() else None
    environment = {"RFM_TIMESTAMP_DIRS": name, **os.environ, "RFM_PERF_INFO_LEVEL": "verbose"}
    reframe = str(Path(sys.executable).parent / "reframe")
    options = [] if given else [f"{REPORT_OPTION}={report}"]
    child = Child()
    # What a killed session had finished; that it fails is said, and no reason not to measure.
    recover = [sys.executable, "-m", "analysis", "recover"]
    child.run(recover, environment)
    status = child.run([reframe, *words, *options, "-r"], environment)
    if not report.exists() or report.stat().st_mtime_ns == before:
        if status == 0:
            say(f"nothing was selected: no test fits {' '.join(words)!r}; nothing was measured")
        else:
            say("ReFrame left no report: there is nothing to show but what it had finished")
            child.run([*recover, name], environment)
        return _status(child, status or NOTHING_SELECTED)
    data = json.loads(report.read_text())
    measured, selected = count(data)
    shown = show(child, report, environment)
    if not measured:
        say(f"nothing was measured: all {selected} tests that were selected were skipped")
        status = status or NOTHING_MEASURED
    return _status(child, status or shown)


def _status(child: Child, status: int) -> int:
    return 128 + child.signal if child.signal else status


def main(argv: Sequence[str]) -> int:
    words = list(argv)
    if words[:1] == ["--"]:
        words = words[1:]
    end_with_parent(signal.SIGTERM)
    output = paths.output()
    try:
        with lock.measuring("make run", lock.both(output), say):
            return run(words, output)
    except KeyboardInterrupt:  # while it waits
        return 128 + signal.SIGINT


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
