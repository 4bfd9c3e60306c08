# SPDX-License-Identifier: BSD-3-Clause
"""One run of a program in which something goes wrong, and all that came of it."""

from __future__ import annotations

import shlex
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from iogauge.measure import iokernel, kernels
from reframe_tests.framework.recorders import RECORDER
from tests.ctest import mpi_end
from tests.selftest.cases import Case, Subject
from tests.selftest.injector import DATA, Fired, preload, read_fired

PATIENCE = 5  # of the kernels, in seconds
# The guard sees after its patience that nothing moves, and takes at most 30 s to clean up.
LIMIT = 300.0


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
        """By a crash that is not the kernel's (mpi_end.py): it says nothing of the fault."""
        return mpi_end.kernel_blames_mpi(self.said)

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
    environment: dict[str, str] = field(default_factory=kernels.variables)

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
        self.clear()
        return mpi_end.twice_at_most(
            lambda: self._once(command), lambda outcome: outcome.ended_badly, self.clear
        )

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
        command = [*command]
        return mpi_end.twice_at_most(
            lambda: self._once(command),
            lambda outcome: outcome.ended_badly,
            lambda: command.extend(mpi_end.again(command)),
        )

    def _once(self, command: list[str]) -> Outcome:
        done = iokernel.execute(command, self.environment, seconds=LIMIT, document=self.document)
        left = sorted(str(p.relative_to(self.data)) for p in self.data.rglob("*"))
        return Outcome(
            shlex.join(command), done.status, done.stdout + done.stderr, done.stderr,
            done.document, read_fired(self.log), left, done.seconds, done.outlived,
        )  # fmt: skip


def traced_by(subject: Subject, place: Place) -> dict[str, str]:
    """The recorder stands before the injector: it sees what the library asked of the storage."""
    recorder = subject.program.with_name(RECORDER)
    return {
        "LD_PRELOAD": f"{recorder}:{place.library}",
        "IOGAUGE_TRACE_DIR": str(place.traces),
        "IOGAUGE_TRACE_INCLUDE": str(place.data),
    }
