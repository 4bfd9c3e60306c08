# SPDX-License-Identifier: BSD-3-Clause
"""Starts iokernel, and tells how a run ended. Nothing else starts it. Processes of a run are found,
and ended, by its number in an environment variable."""

import contextlib
import os
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from iogauge.analysis.errors import AnalysisError
from iogauge.common import json_file
from iogauge.common.document import first_mismatch, not_started
from iogauge.common.guard import Guard
from iogauge.common.processes import of_session, send, wait_for_any, with_variable
from iogauge.common.run_folder import recorder_of
from iogauge.common.text import one_line

from . import kernels

MARK = "IOGAUGE_RUN"  # the variable
SECONDS = 180.0  # then a small run is killed; generous for loaded machines
POLITE = 5.0  # seconds from SIGTERM to SIGKILL
LINGER = 10.0  # seconds that processes may outlive the launcher
LONGEST = 400  # characters of a reason
REFUSED = 2  # exit status: wrong command line, or method not built

Kind = Literal["right", "wrong bytes", "hung", "late", "crashed", "refused", "failed"]
Document = dict[str, Any]


def guard() -> Guard:
    return Guard(signal.SIGTERM, POLITE)


class CannotList(AnalysisError):
    """The program does not list its abilities; the text says why."""


@dataclass(frozen=True)
class Stack:
    """A program and its launcher. `launch`: the words before `-n N`. `variables`: added to the
    environment. `most`: limit of processes, and `why`."""

    name: str
    program: Path
    launch: tuple[str, ...]
    variables: Mapping[str, str] = field(default_factory=dict)
    most: int = 2**31
    why: str = ""

    @classmethod
    def of(cls, environ: Mapping[str, Any], program: Path) -> "Stack":
        launcher = environ["extras"]["launcher"]
        most = environ["extras"].get("max_processes", {"count": 2**31, "why": ""})
        return cls(
            environ["name"],
            program.absolute(),
            tuple(" ".join([launcher["command"], *launcher["options"]]).split()),
            {**kernels.variables(), **dict(environ.get("env_vars", []))},
            most["count"],
            most["why"],
        )

    @property
    def recorder(self) -> Path | None:
        return recorder_of(self.program)

    def command(
        self, processes: int, words: Sequence[str], prefix: Sequence[str] = ()
    ) -> list[str]:
        """The command line. `prefix`: words between launcher and program."""
        return [*self.launch, "-n", str(processes), *prefix, str(self.program), *words]

    def recorded(self, traces: Path, data: Path) -> list[str]:
        """The prefix that records each access below `data` in `traces`."""
        return [
            "env",
            f"LD_PRELOAD={self.recorder}",
            f"IOGAUGE_TRACE_DIR={traces}",
            f"IOGAUGE_TRACE_INCLUDE={data}",
            "IOGAUGE_TRACE_SEGMENTS=0",
        ]

    def listing(self, prefix: Sequence[str] = ()) -> dict[str, Any]:
        """The program's list of abilities. Raises CannotList."""
        command = [*prefix, str(self.program), "--list", "--json", "-"]
        done = execute(command, self.variables)
        try:
            found: dict[str, Any] = json_file.parse(done.stdout)
            return found
        except json_file.Unreadable:
            raise CannotList(f"{' '.join(command)}: {done.why}") from None


@dataclass(frozen=True)
class Ended:
    """`status`: None if it did not end in time. `outlived`: processes left after the launcher."""

    command: tuple[str, ...]
    status: int | None
    stdout: str
    stderr: str
    seconds: float
    document: Document | None = None
    outlived: int = 0

    @cached_property
    def _judged(self) -> tuple[Kind, str]:
        if self.status is None and (self.document or {}).get("status") != "hung":
            kept = f"; survived SIGKILL: {self.outlived}" if self.outlived else ""
            return "late", f"no end after {self.seconds:.0f} s{kept}"
        return judge(self.status, self.document, self.stderr + self.stdout)

    @property
    def kind(self) -> Kind:
        return self._judged[0]

    @property
    def why(self) -> str:
        """The reason, for all kinds but `right`."""
        return self._judged[1]


def judge(status: int | None, document: Document | None, output: str) -> tuple[Kind, str]:
    """How a verifying run ended, and the reason unless it is right."""
    found = document or {}
    verification = found.get("verification") or {}
    error = str(found.get("error") or "")
    if why := not_started(output):
        return "hung", why
    if found.get("status") == "hung" or "no progress for" in output:
        return "hung", error or _line(output, "no progress for")
    if verification.get("verdict") == "mismatch":
        return "wrong bytes", first_mismatch(verification) or "some byte read back was wrong"
    why = one_line(error or _reason(output) or f"exit status {status}", LONGEST)
    if "crashed" in output or status is None or not 0 <= status <= 128:
        return "crashed", _line(output, "crashed") or why
    verified = verification.get("verdict") == "verified" and verification.get("elements")
    if status == 0 and found.get("status") == "ok" and verified:
        return "right", ""
    if "signal" in why.lower():
        return "crashed", why
    return "refused" if status == REFUSED else "failed", why


def _line(output: str, words: str) -> str:
    lines = (line.strip() for line in output.splitlines() if words in line)
    return one_line(next(lines, ""), LONGEST)


def _reason(output: str) -> str:
    """The reason: the program's own line rather than the launcher's."""
    lines = [line.strip() for line in output.splitlines() if line.strip(" -")]
    own = (line for part in ("iokernel: error", "iokernel") for line in lines if part in line)
    return next(own, lines[0] if lines else "")


def run(
    stack: Stack,
    processes: int,
    words: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    seconds: float | None = SECONDS,
    prefix: Sequence[str] = (),
    document: Path | None = None,
    guard: Guard | None = None,
) -> Ended:
    """One parallel run. `env`: besides the stack's. `document`: where its result goes."""
    command = stack.command(processes, words, prefix)
    command += ["--json", str(document)] if document else []
    variables = {**stack.variables, **(env or {})}
    return execute(command, variables, seconds=seconds, document=document, guard=guard)


def execute(
    command: Sequence[str],
    env: Mapping[str, str],
    *,
    seconds: float | None = SECONDS,
    document: Path | None = None,
    guard: Guard | None = None,
    late: Callable[[int], None] | None = None,
) -> Ended:
    """Run any command that starts processes. `guard`: ends them if this process ends. `late`:
    called with the session leader of a run that takes too long, before it is killed."""
    if document:
        document.unlink(missing_ok=True)
    mark = uuid.uuid4().hex
    began = time.monotonic()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
            env={**os.environ, **env, MARK: mark},
            preexec_fn=guard.watch if guard else None,
        )
        status, outlived = None, None
        try:
            wait_for_any([process.pid], seconds)  # Popen's own looks every 50 ms
            status = process.wait(seconds and max(0.0, began + seconds - time.monotonic()))
            outlived = _wait(process, mark, LINGER)
        except subprocess.TimeoutExpired:
            if late:
                late(process.pid)
        finally:
            took = time.monotonic() - began
            if outlived != 0:  # each look at all processes takes milliseconds
                left = _end(process, mark, signal.SIGTERM if status is None else signal.SIGKILL)
                outlived = max(outlived or 0, left)
            if guard:
                guard.forget(process.pid)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
    found = None
    if document:
        with contextlib.suppress(json_file.Unreadable):
            found = json_file.read(document)
    found = found if isinstance(found, dict) else None
    return Ended(tuple(command), status, texts[0], texts[1], took, found, outlived)


def _alive(leader: int, mark: str) -> set[int]:
    return {*of_session(leader), *with_variable(MARK, mark)}


def _wait(process: subprocess.Popen[bytes], mark: str, seconds: float) -> int:
    """The number of processes that are left after so long."""
    deadline = time.monotonic() + seconds
    while (alive := _alive(process.pid, mark)) and time.monotonic() < deadline:
        process.poll()
        time.sleep(0.02)
    return len(alive)


def _end(process: subprocess.Popen[bytes], mark: str, first: signal.Signals) -> int:
    """End all processes of a run, first with SIGTERM so that the launcher can clean up. The number
    of those that outlive SIGKILL: they wait in the operating system, and are not waited for."""
    for number in (first, signal.SIGKILL):
        send(number, lambda: _alive(process.pid, mark))
        left = _wait(process, mark, POLITE)
    process.poll()
    return left
