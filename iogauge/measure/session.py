# SPDX-License-Identifier: BSD-3-Clause
"""One session of ReFrame under its own name; what is printed, stored or compared afterwards is this
one, never "the last one". Ctrl-C, SIGTERM and the end of `make` end ReFrame; finished cases are
kept. A guard does the same if this process itself is killed."""

import argparse
import ctypes
import os
import secrets
import select
import signal
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from iogauge.analysis.session.loader import SEED_KEY
from iogauge.common import json_file, lock, paths, processes
from iogauge.common.guard import HOLD, Guard
from iogauge.common.progress import Bar
from iogauge.common.run_folder import case_files, sessions
from iogauge.common.text import notices
from reframe_tests.jobs import order
from reframe_tests.machine import leftovers

from .reframe_lines import Lines

notice = notices("run")
REFRAME = str(Path(sys.executable).parent / "reframe")
REPORT_OPTION = "--report-file"
NOTHING_SELECTED, NOTHING_MEASURED = 2, 1
# Seconds that ReFrame may take to cancel its jobs and write its report after a signal, and that the
# processes of its jobs may take to end after it was killed.
PATIENCE, JOBS_PATIENCE = 60, 20
PR_SET_PDEATHSIG = 1
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
NEWEST = 3  # sessions in whose file systems the next start looks for files of killed jobs


def new_name() -> str:
    """A session's name: unique, even if processes on two hosts have the same number."""
    return f"{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}-{next(_NUMBERS)}"


_NUMBERS = iter(range(secrets.randbelow(9 * 10**6) + 10**6, sys.maxsize))  # of seven digits


def given_report(words: Sequence[str]) -> Path | None:
    return None if (found := _given(words, REPORT_OPTION)) is None else Path(found)


def draws_order(words: Sequence[str]) -> bool:
    """Whether the order of the tests is random: by default, and by --exec-order=random."""
    return _given(words, "--exec-order") in (None, "random")


def _given(words: Sequence[str], option: str) -> str | None:
    """The value of an option of ReFrame; the last one wins, as for ReFrame."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument(option, dest="value", nargs="?")
    found: str | None = parser.parse_known_args(words)[0].value
    return found


def end_with(parent: int | None) -> None:
    """SIGTERM for this process when its parent is gone. `parent`: as `make` gave it."""
    with suppress(OSError, AttributeError):  # not Linux
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if parent and parent not in processes.ancestors(os.getpid()):
            raise SystemExit(128 + signal.SIGTERM)


def _begin(guard: Guard) -> None:
    """Runs in a child before its program starts: it takes signals, without the parent's handlers,
    and ends with one that its parent got before there was a child: the terminal sends it only
    once."""
    guard.watch()
    for number in SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    if processes.waiting_signals(os.getppid()) & set(SIGNALS):
        os.kill(os.getpid(), signal.SIGINT)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)


class Child:
    """ReFrame, or a step before or after it. Signals to this process end it, and are remembered."""

    def __init__(self, hold: Sequence[int] = ()) -> None:
        self.signal = 0
        self.running: subprocess.Popen[bytes] | None = None
        self.hold = list(hold)
        self.guard = Guard(signal.SIGINT, PATIENCE)
        for number in SIGNALS:
            signal.signal(number, self._ended)

    def _ended(self, number: int, _frame: FrameType | None) -> None:
        again, self.signal = bool(self.signal), self.signal or number
        if self.running is None:
            raise SystemExit(128 + number)
        # ReFrame cleans up only after SIGINT; at Ctrl-C the terminal has sent it already.
        with suppress(ProcessLookupError):  # it has just ended
            if again:
                self.running.kill()
            elif number != signal.SIGINT or os.getpgid(0) != os.getpgid(self.running.pid):
                self.running.send_signal(signal.SIGINT)

    def run(
        self, command: Sequence[str], environment: dict[str, str], lines: Lines | None = None
    ) -> int:
        """The exit status as a shell reports it; all that it started has ended then."""
        reader, writer = os.pipe()
        hold = [*self.hold, writer]
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # until there is whom to send them to
        try:
            self.running = subprocess.Popen(
                command,
                env={**environment, HOLD: ",".join(map(str, hold))},
                pass_fds=hold,
                stdout=lines.written if lines else None,
                preexec_fn=lambda: _begin(self.guard),
                stderr=subprocess.STDOUT if lines else None,
            )
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        os.close(writer)
        ended = 0.0
        while (status := self.running.poll()) is None:
            time.sleep(0.05)
            if lines:
                lines.look()
            ended = ended or (time.monotonic() if self.signal else 0.0)
            if ended and time.monotonic() - ended > PATIENCE:
                self.running.kill()
        self.guard.forget(self.running.pid)
        self.running = None
        select.select([reader], [], [], JOBS_PATIENCE)
        os.close(reader)
        return 128 - status if status < 0 else status

    def analysis(self, *words: str) -> int:
        places = [str(paths.ROOT), os.environ.get("PYTHONPATH", "")]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, places))}
        return self.run([sys.executable, "-m", "iogauge", *words], environment)


@dataclass(frozen=True)
class Measured:
    """The result of a session. `report` is None if ReFrame wrote none."""

    name: str
    status: int
    report: Path | None = None
    uuid: str = ""
    ran: int = 0


def cases_of(data: Any) -> list[Any]:
    """The cases of a report, without fixtures."""
    return [case for run in data["runs"] for case in run["testcases"] if not case.get("fixture")]


def count(data: Any) -> tuple[int, int]:
    cases = cases_of(data)
    return sum(case["result"] != "skip" for case in cases), len(cases)


def tidy(output: Path, name: str) -> None:
    found = set()
    for path in case_files(output, name):
        with suppress(json_file.Unreadable, KeyError, TypeError):
            found.add(str(json_file.read(path)["case"]["fs_path"]))
    for folder in sorted(found):
        for line in leftovers.remove(Path(folder)):
            notice(line)


def measure(
    child: Child,
    words: Sequence[str],
    output: Path,
    *,
    part: bool = False,
    variables: Mapping[str, str] | None = None,
    rounds: int = 1,
) -> Measured:
    """Run `reframe WORDS -r`. The status is 0 only if something was measured and all was right.
    `part`: of a session that has a report already. `rounds`: of each case."""
    name = new_name()
    place = output / "reports" / ("rounds" if part else "")
    given, own = given_report(words), place / f"run-report-{name}.json"
    report = given or own
    before = report.stat().st_mtime_ns if report.exists() else None
    environment = {**os.environ, "RFM_TIMESTAMP_DIRS": name, "RFM_PERF_INFO_LEVEL": "verbose"}
    environment |= {"RFM_COLORIZE": "n", "IOGAUGE_OUTPUT": str(output), **(variables or {})}
    seed = zlib.crc32(name.encode()) if draws_order(words) else None
    environment[order.SEED] = "" if seed is None else str(seed)
    options = [] if given else [f"{REPORT_OPTION}={report}"]
    with Bar("run") as bar, Lines(output / "log" / f"{name}.log", bar, words, rounds) as lines:
        status = child.run([REFRAME, *words, *options, "-r"], environment, lines)
    tidy(output, name)
    data = None
    with suppress(OSError, json_file.Unreadable):
        data = json_file.read(report) if report.stat().st_mtime_ns != before else None
    if data is None:
        if status == 0:
            notice(f"nothing was selected by {' '.join(words)}; all tests: iogauge run -t . -- -l")
        else:
            notice("\n".join([f"ReFrame left no report; {lines.log} ends:", *lines.last()]))
            if name in sessions(output):
                child.analysis("store", "recover", name)
        return Measured(name, _status(child, status or NOTHING_SELECTED))
    data["session_info"][SEED_KEY] = seed
    for path in dict.fromkeys((own, report)):  # the first tells `store recover` that it has ended
        json_file.write(path, data)
    ran, selected = count(data)
    if not ran:
        notice(f"nothing was measured: all {selected} selected tests were skipped")
        status = status or NOTHING_MEASURED
    return Measured(name, _status(child, status), report, data["session_info"]["uuid"], ran)


def _status(child: Child, status: int) -> int:
    return 128 + child.signal if child.signal else status


@contextmanager
def measuring_session(what: str, parent: int | None) -> Iterator[Child]:
    """Hold the locks; store finished cases of killed sessions, if possible."""
    end_with(parent)
    try:
        with lock.measuring(what, lock.both(paths.output()), notice) as handles:
            child = Child(handles)
            child.analysis("store", "recover")
            if child.signal:
                raise SystemExit(128 + child.signal)
            for name in sessions(paths.output())[-NEWEST:]:
                tidy(paths.output(), name)
            yield child
    except KeyboardInterrupt:  # while it waits
        raise SystemExit(128 + signal.SIGINT) from None
