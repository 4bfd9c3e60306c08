# SPDX-License-Identifier: BSD-3-Clause
"""One run of a certificate: its command, and what came of it."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from iogauge.analysis.judge.certificate import KEY, LATE, RIGHT
from iogauge.common.hints import sort_hints
from iogauge.common.paths import ROOT
from iogauge.measure import kernels
from iogauge.measure.certify.plan import REPEATS, Case, rank
from iogauge.measure.certify.settings import hints_of, variables_of
from iogauge.measure.certify.stacks import Stack

PATIENCE = 30  # of the kernels' own guard, in seconds
SECONDS = 90  # after which a run is ended, on a machine however loaded
SAID = 400  # characters of a message that are kept

Record = dict[str, Any]


def environment(stack: Stack, case: Case) -> dict[str, str]:
    """The variables that the run has besides the caller's."""
    hints = sort_hints(hints_of(case.setting, stack.is_ompio))
    return {**stack.variables, **variables_of(case.setting), **hints.environment}


def command(stack: Stack, case: Case, folder: str) -> list[str]:
    """Without its variables."""
    call = case.call
    words = [*stack.launch, "-n", str(case.processes), stack.program, call.pattern, *case.options]
    words += ["--method", call.method, *call.words]
    if call.served:
        words += ["--io-processes", str(max(1, case.processes // 3))]
    elif call.mode:
        words += ["--mode", call.mode]
    hints = sort_hints(hints_of(case.setting, stack.is_ompio)).mpi
    words += [word for key, value in hints.items() for word in ("--hint", f"{key}={value}")]
    return [*words, "--repeat", str(REPEATS), "--seed", str(case.seed), "--dir", folder]


def again(stack: Stack, case: Case, base: Path) -> str:
    """The command as one would type it in the checkout."""
    words = [f"{key}={value}" for key, value in environment(stack, case).items()]
    words += command(stack, case, str(base))
    return " ".join(words).replace(f"{ROOT}/", "")


def judge(status: int | None, document: Record | None, said: str) -> tuple[str, str]:
    """What a run was, one of OUTCOMES; and what it said of it. `status`: None
    where it did not end in time."""
    verdict = (document or {}).get("verification", {})
    if (document or {}).get("status") == "hung" or "nothing has moved" in said:
        return "hang", _line(said, "nothing has moved") or "nothing has moved"
    if status is None:
        return LATE, f"no end after {SECONDS} s"
    if verdict.get("mismatches"):
        first = verdict["first"] or {}
        where = f"{first.get('dataset')}{first.get('index')}"
        return "wrong", f"{verdict['mismatches']} elements, the first {where}"
    if "crashed" in said or status in _CRASHES:
        return "crash", _line(said, "crashed") or f"exit status {status}"
    if status == 0 and verdict.get("verdict") == "verified" and verdict.get("elements"):
        return RIGHT, ""
    return "error", _line(said, "iokernel: error") or said.strip()[:SAID] or f"status {status}"


# A launcher's exit status for a process that a signal ended.
_CRASHES = {128 + n for n in (signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGFPE)}


def _line(said: str, words: str) -> str:
    return next((line.strip()[:SAID] for line in said.splitlines() if words in line), "")


def _end(group: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def execute(stack: Stack, case: Case, base: Path) -> Record:
    """Runs it below `base`; the record that the certificate keeps."""
    folder = Path(tempfile.mkdtemp(prefix="iogauge-certify-", dir=base))
    document, data = folder / "result.json", folder / "data"
    data.mkdir()
    words = [*command(stack, case, str(data)), "--patience", str(PATIENCE)]
    began = time.monotonic()
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        process = subprocess.Popen(
            [*words, "--json", str(document)], stdin=subprocess.DEVNULL, stdout=output,
            stderr=subprocess.STDOUT, start_new_session=True,
            env={**kernels.run_environment(), **environment(stack, case)},
        )  # fmt: skip
        try:
            status: int | None = process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            _end(process.pid)
            process.wait()
        output.seek(0)
        said = output.read()
    found: Record | None = None
    with contextlib.suppress(OSError, ValueError):
        found = json.loads(document.read_text())
    shutil.rmtree(folder, ignore_errors=True)
    outcome, words_of_it = judge(status, found, said)
    record = {
        **dict(zip(KEY, case.key, strict=True)),
        "size": rank(case.call, case.options),
        "why": case.why,
        "outcome": outcome,
        "seconds": round(time.monotonic() - began, 2),
    }
    if outcome != RIGHT:
        words_of_it = words_of_it.replace(f"{folder}/", "").replace(f"{ROOT}/", "")
        record |= {"says": words_of_it, "command": again(stack, case, base)}
    return record
