# SPDX-License-Identifier: BSD-3-Clause
"""One run of a certificate: its command, and what came of it."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from iogauge.analysis.judge.certificate import KEY, LATE, RIGHT, WRONG
from iogauge.common.hints import sort_hints
from iogauge.common.paths import ROOT
from iogauge.measure import iokernel, kernels
from iogauge.measure.certify.plan import REPEATS, Case, rank
from iogauge.measure.certify.settings import hints_of, variables_of
from iogauge.measure.certify.stacks import Candidate
from iogauge.measure.iokernel import Ended

LIMITS = ("--patience", "30", "--start-limit", "30")  # of iokernel itself, in seconds
SECONDS = 90  # after which a run is ended, on a machine however loaded
OUTCOMES = {
    "right": RIGHT,
    "wrong bytes": WRONG,
    "hung": "hang",
    "late": LATE,
    "crashed": "crash",
}

Record = dict[str, Any]


def environment(stack: Candidate, case: Case) -> dict[str, str]:
    """The variables of its setting."""
    hints = sort_hints(hints_of(case.setting, stack.is_ompio))
    return {**variables_of(case.setting), **hints.environment}


def words_of(stack: Candidate, case: Case, folder: Path) -> list[str]:
    """What iokernel is told."""
    call = case.call
    words = [call.pattern, *case.options, "--method", call.method, *call.words]
    if call.served:
        words += ["--io-processes", str(max(1, case.processes // 3))]
    elif call.mode:
        words += ["--mode", call.mode]
    hints = sort_hints(hints_of(case.setting, stack.is_ompio)).mpi
    words += [word for key, value in hints.items() for word in ("--hint", f"{key}={value}")]
    return [*words, "--repeat", str(REPEATS), "--seed", str(case.seed), "--dir", str(folder)]


def again(stack: Candidate, case: Case, base: Path) -> str:
    """The command as one would type it in the checkout."""
    ours = kernels.variables()
    values = {k: v for k, v in stack.variables.items() if k not in ours} | environment(stack, case)
    words = [f"{key}={value}" for key, value in values.items()]
    words += stack.command(case.processes, words_of(stack, case, base))
    return " ".join(words).replace(f"{ROOT}/", "")


def judge(done: Ended) -> tuple[str, str]:
    """What a run was, one of certificate.OUTCOMES; and what it said of it."""
    outcome = OUTCOMES.get(done.kind, "error")
    if outcome == WRONG:
        verdict = (done.document or {})["verification"]
        first = verdict.get("first") or {}
        where = f"{first.get('dataset')}{first.get('index')}"
        return outcome, f"{verdict.get('mismatches')} elements, the first {where}"
    return outcome, done.why


def execute(stack: Candidate, case: Case, base: Path) -> Record:
    """Runs it below `base`; the record that the certificate keeps."""
    folder = Path(tempfile.mkdtemp(prefix="iogauge-certify-", dir=base))
    (folder / "data").mkdir()
    try:
        done = iokernel.run(
            stack, case.processes,
            [*words_of(stack, case, folder / "data"), *LIMITS],
            env=environment(stack, case), seconds=SECONDS, document=folder / "result.json",
        )  # fmt: skip
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    outcome, said = judge(done)
    record = {
        **dict(zip(KEY, case.key, strict=True)),
        "size": rank(case.call, case.options),
        "why": case.why,
        "outcome": outcome,
        "seconds": round(done.seconds, 2),
    }
    if outcome != RIGHT:
        said = said.replace(f"{folder}/", "").replace(f"{ROOT}/", "")
        record |= {"says": said, "command": again(stack, case, base)}
    return record
