# SPDX-License-Identifier: BSD-3-Clause
"""Every run is traced, and its byte ledger is checked and logged (docs/darshan.md)."""

import json
import os
import shlex
import subprocess
import time
from pathlib import Path
from typing import Any

import reframe as rfm
import reframe.utility.typecheck as typ
from reframe.core.builtins import run_before, variable

from iogauge.analysis.checks.beside_trace import against_the_recorder, storage
from iogauge.analysis.checks.evidence import Outside
from iogauge.analysis.checks.result_file import Wrong, load
from iogauge.analysis.checks.verdict import Expected, check_trace
from iogauge.analysis.darshan.log import Log, read_log
from iogauge.analysis.errors import AnalysisError
from iogauge.analysis.ledger.ledger import Ledger, make_ledger
from iogauge.analysis.ledger.verdict import Judgement, as_json, judge
from iogauge.common.files import permit
from iogauge.common.run_folder import DOCUMENT, LEDGER, TRACE
from reframe_tests.framework import recorders
from reframe_tests.framework.build import mpi_problem
from reframe_tests.framework.measured import Figures
from reframe_tests.jobs import collected
from reframe_tests.machine import stacks

KEPT = [TRACE, LEDGER]
STORAGE = "storage_read"  # of templates/local.sh.j2


class TraceChecks(rfm.RegressionTestPlugin):
    """Mixed into `IoBenchmark`: `-S trace=false` turns it off, `-S dxt=true` records each
    access."""

    trace = variable(typ.Bool, value=True, loggable=True)
    dxt = variable(typ.Bool, value=False, loggable=True)
    # The files and data sets of a process that Darshan's runtime has room for at least.
    trace_records = variable(int, value=recorders.RECORDS)
    # The verdict with its reasons; or why there is none.
    ledger = variable(str, value="", loggable=True)
    trace_log = variable(str, value="", loggable=True)

    the_ledger: Ledger | None = None
    judgement: Judgement | None = None
    recorder: recorders.Recorder | None = None
    the_log: Log | None = None
    # Unix time, and a monotonic clock.
    began: tuple[float, float] | None = None

    @run_before("run", always_last=True)
    def note_start_time(self) -> None:
        """Skipped for a job that ran elsewhere before, and is only collected here."""
        if collected.VARIABLE not in os.environ:
            self.began = time.time(), time.monotonic()

    def trace_values(self) -> dict[str, Any] | None:
        """For the job script; None if nothing is recorded."""
        self.recorder = None
        if not self.trace:
            self.ledger = "not traced: trace=false"
            return None
        extras = stacks.extras(self.current_environ)
        if self.kernels.is_cross and extras.get("darshan") != recorders.LINKED:
            self.ledger = "not traced: nothing can be preloaded there (docs/darshan.md)"
        else:
            self.recorder = recorders.find(
                extras,
                self.kernels.program,
                self.fits,
                os.environ.get("DARSHAN_PREFIX"),
                built=self.kernels.given is None,
            )
            self.ledger = "" if self.recorder else "not traced: no recorder beside iokernel"
        if not self.recorder:
            return None
        return recorders.values(
            self.recorder,
            dxt=self.dxt,
            records=self.records_to_trace(),
            quote=lambda word: shlex.quote(str(word)),
        )

    def records_to_trace(self) -> int:
        return int(self.trace_records)

    def fits(self, library: Path) -> bool:
        """Is a Darshan runtime built for this stack's MPI?"""
        words = [*stacks.inside(self.current_environ), "ldd", str(library)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        return mpi_problem(done.stdout, stacks.extras(self.current_environ)["mpi_library"]) is None

    @run_before("sanity", always_last=True)
    def parse_trace(self) -> None:
        """After the result document is complete. A failed run has no ledger."""
        if not self.recorder or self.is_dry_run():
            return
        stage = Path(self.stagedir)
        try:
            document = load(stage / DOCUMENT)
            raw = None if self.recorder.real else stage / recorders.RAW
            log = read_log(stage / TRACE, convert=raw, heat=not self.dxt, segments=self.dxt)
            permit(log.path)  # Darshan's runtime makes it readable only by its owner
            self.the_log = log
            self.the_ledger = make_ledger(document, log)
            self.judgement = judge(self.the_ledger)
        except AnalysisError as problem:
            self.judgement = Judgement("inconclusive", (str(problem),))
        except (Wrong, KeyError, TypeError) as problem:
            self.judgement = Judgement("inconclusive", (f"no result document: {problem}",))
        self.ledger = str(self.judgement)
        if self.the_ledger:
            self.trace_log = TRACE
            data = as_json(self.the_ledger, self.judgement)
            (stage / LEDGER).write_text(json.dumps(data, indent=1) + "\n")

    def outside(self) -> Outside | None:
        if not self.began:
            return None
        (began, since), local = self.began, self.current_partition.scheduler.is_local
        # In an allocation of several nodes a launcher uses them, whatever the scheduler.
        local = local and os.environ.get("SLURM_JOB_NUM_NODES", "1") == "1"
        read = _read_from_storage(Path(self.stagedir))
        return Outside(began, time.time(), time.monotonic() - since, local, *read)

    def check_the_trace(
        self, document: dict[str, Any], expected: Expected, outside: Outside | None
    ) -> None:
        if not self.recorder:
            return
        ours = expected.ours and not self.recorder.real
        raw = Path(self.stagedir) / recorders.RAW
        beside = against_the_recorder(document, raw) if ours else ()
        check_trace(document, expected, self.judgement, self.the_log, outside, beside)

    def who_wrote_it(self) -> str:
        """A hint for runs with wrong bytes: the command that finds racing processes."""
        stage = Path(self.stagedir)
        try:
            wrong = load(stage / DOCUMENT)["verification"]["first"]
        except (Wrong, KeyError, TypeError):
            return ""
        if not wrong or not self.recorder:
            return ""
        if not self.dxt:
            return "; who raced: repeat it with -S dxt=true, then iogauge blame FOLDER"
        return f"; who raced: iogauge blame {shlex.quote(str(stage))}"

    def ledger_figures(self) -> Figures:
        """For the log: bytes, calls and processes at the POSIX layer, all repeats."""
        if not self.the_ledger:
            return {}
        found: dict[str, tuple[float | None, str]] = {}
        for side in self.the_ledger.sides:
            posix = side.layer("POSIX")
            found |= {
                f"posix_{side.direction}_bytes": (side.posix, "B"),
                f"posix_{side.direction}_calls": (posix.calls if posix else 0, "1"),
                f"mpiio_{side.direction}_bytes": (side.mpiio, "B"),
                f"{side.direction}_amplification": (side.amplification, "1"),
                f"{side.direction}_processes": (posix.processes if posix else None, "1"),
            }
        written = self.the_ledger.side("write")
        found["format_overhead"] = (written.format_overhead if written else None, "B")
        return {name: (value, unit) for name, (value, unit) in found.items() if value is not None}


def _read_from_storage(stage: Path) -> tuple[int | None, int | None]:
    """The bytes of the run's own files and of the ceilings', as the recorder counted them; else
    what the script's processes had read before and after launching, if known."""
    if counted := storage(stage / recorders.RAW):
        return sum(one.own for one in counted), sum(one.ceilings for one in counted)
    lines = (stage / STORAGE).read_text().split() if (stage / STORAGE).exists() else []
    return (int(lines[1]) - int(lines[0]) if len(lines) == 2 else None), None
