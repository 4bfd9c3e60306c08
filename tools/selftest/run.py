# SPDX-License-Identifier: BSD-3-Clause
"""One run of a program in which something goes wrong, and all that came of it."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from iogauge.common.paths import KERNELS
from iogauge.common.processes import with_variable
from iogauge.measure import kernels
from reframe_tests.framework.recorders import RECORDER
from tools.selftest.cases import Case, Subject
from tools.selftest.injector import DATA, Fired, preload, read_fired

sys.path.append(str(KERNELS / "tests"))  # as CTest runs them: they are no package
from run_case import crashed_at_the_end

PATIENCE = 3  # of the kernels, in seconds
# The guard sees after its patience that nothing moves, and takes at most 30 s to clean up.
LIMIT = 90.0
MARK = "IOGAUGE_SELFTEST"  # a variable that tells which processes are a run's


@dataclass
class Outcome:
    """`status`: None where the run had to be ended. `said`: all of its output; `complained`: that
    on stderr alone; `left`: files; `processes`: that lived on."""

    command: str
    status: int | None
    said: str
    complained: str
    document: dict[str, Any] | None
    fired: list[Fired]
    left: list[str]
    seconds: float
    processes: int = 0

    @property
    def ended_badly(self) -> bool:
        """By a crash that is not the kernel's (run_case.py): it says nothing of the fault."""
        return crashed_at_the_end(self.said)

    @property
    def errors(self) -> list[str]:
        """Also in the middle of a line: a launcher mixes what processes say at the same time."""
        return [line for line in self.complained.splitlines() if "iokernel: error: " in line]

    @property
    def good(self) -> bool:
        return self.status == 0 and (self.document or {}).get("status") == "ok"


@dataclass
class Place:
    """Where runs happen, one after the other: `data` is what the injector looks at."""

    base: Path
    library: Path
    environment: dict[str, str] = field(default_factory=kernels.run_environment)

    @property
    def data(self) -> Path:
        return self.base / "data"

    @property
    def document(self) -> Path:
        return self.base / "result.json"

    @property
    def log(self) -> Path:
        return self.base / "fired"

    @property
    def counts(self) -> Path:
        return self.base / "counts"

    @property
    def traces(self) -> Path:
        return self.base / "traces"

    def clear(self) -> None:
        shutil.rmtree(self.base, ignore_errors=True)
        self.data.mkdir(parents=True)
        self.traces.mkdir()

    def run_case(self, case: Case, *more: str) -> Outcome:
        subject = case.subject
        options = ["--fsync", "--patience", str(PATIENCE), "--json", str(self.document), *more]
        variables = preload(self.library, case.plan, self.data, self.log)
        if case.traced:
            variables |= traced_by(subject, self)
        if case.plan.call == "read" and case.plan.fault in DATA:
            variables |= self._no_sieving()
        command = subject.command(self.data, *options, variables=variables)
        return self._twice_at_most(command, before=self.clear)

    def _no_sieving(self) -> dict[str, str]:
        """A library that reads more than it was asked for may well read it wrong: nobody would know
        from outside which of the bytes were of account. So it reads what it is asked for."""
        hints = self.base.parent / "no-sieving"
        hints.write_text("romio_ds_read disable\nromio_ds_write disable\n")
        return {
            "ROMIO_HINTS": str(hints),
            "OMPI_MCA_fbtl_posix_read_datasieving": "0",
            "OMPI_MCA_fbtl_posix_write_datasieving": "0",
        }

    def run(self, command: list[str]) -> Outcome:
        """Of a program in which nothing goes wrong; in its files, perhaps."""
        return self._twice_at_most(command, before=lambda: None)

    def _twice_at_most(self, command: list[str], before: Callable[[], None]) -> Outcome:
        before()
        outcome = self._once(command)
        if outcome.ended_badly:
            before()
            outcome = self._once(command)
        return outcome

    def _once(self, command: list[str]) -> Outcome:
        mark = f"{self.base}-{time.monotonic_ns()}"
        began = time.monotonic()
        status, said, complained = _finish(command, {**self.environment, MARK: mark})
        seconds = time.monotonic() - began
        alive = end_all(mark)
        left = (
            sorted(str(p.relative_to(self.data)) for p in self.data.rglob("*"))
            if self.data.is_dir()
            else []
        )
        return Outcome(
            shlex.join(command),
            status,
            said + complained,
            complained,
            _document(self.document),
            read_fired(self.log),
            left,
            seconds,
            alive,
        )


def traced_by(subject: Subject, place: Place) -> dict[str, str]:
    """The recorder stands before the injector: it sees what the library asked of the storage."""
    recorder = subject.program.with_name(RECORDER)
    return {
        "LD_PRELOAD": f"{recorder}:{place.library}",
        "IOGAUGE_TRACE_DIR": str(place.traces),
        "IOGAUGE_TRACE_INCLUDE": str(place.data),
    }


def _finish(command: list[str], environment: dict[str, str]) -> tuple[int | None, str, str]:
    """Exit status, stdout and stderr. Apart, because a launcher writes what it has of the one into
    the middle of a line of the other."""
    job = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, errors="replace", env=environment, start_new_session=True,
    )  # fmt: skip
    try:
        out, err = job.communicate(timeout=LIMIT)
        return job.returncode, out, err
    except subprocess.TimeoutExpired:
        end_all(environment[MARK])
        return None, *job.communicate()


def _document(path: Path) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError):
        return None
    return found


def end_all(mark: str) -> int:
    """Ends what lives on of a run a second after its launcher ended; how many that were."""
    for _ in range(20):
        if not (alive := with_variable(MARK, mark)):
            return 0
        time.sleep(0.05)
    for pid in alive:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return len(alive)
