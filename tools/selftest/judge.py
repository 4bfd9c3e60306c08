# SPDX-License-Identifier: BSD-3-Clause
"""What an outcome means. Pure, but for the one question whether the files are right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tools.selftest.cases import Case
from tools.selftest.injector import DATA, MENDABLE, Plan
from tools.selftest.run import Outcome

# What may come of a fault; those of BAD must not.
CAUGHT = "caught"  # the run failed, and a line says of what
MENDED = "mended"  # the run went on, and its files are right
MISSED = "missed"  # the run says that all is well
HUNG = "hung"  # it did not end
SILENT = "silent"  # it failed, and no line says why
BROKEN = "broken"  # it failed, though nothing went wrong
IDLE = "idle"  # nothing went wrong: the call did not come
VERDICTS = (CAUGHT, MENDED, MISSED, HUNG, SILENT, BROKEN, IDLE)
BAD = (MISSED, HUNG, SILENT, BROKEN)


@dataclass(frozen=True)
class Judgement:
    """`reason`: for a person, of a verdict that must not be."""

    case: Case
    verdict: str
    left: int
    reason: str
    command: str
    seconds: float
    known: str = ""

    @property
    def bad(self) -> bool:
        return not self.known and (self.verdict in BAD or self.left > 0)


def verdict_of(plan: Plan, outcome: Outcome, is_right: Callable[[], bool]) -> tuple[str, str]:
    """A verdict and its reason. `is_right`: do the files hold what they should, and was what was read
    of no account? Asked only where a fault in the data has passed."""
    if outcome.status is None:
        return HUNG, "the run did not end"
    if outcome.processes:
        return HUNG, f"{outcome.processes} processes lived on"
    if not outcome.fired:
        return (IDLE, "") if outcome.good else (BROKEN, _last(outcome))
    if outcome.status == 0:
        return _passed(plan, outcome, is_right)
    if (outcome.document or {}).get("status") == "ok":
        return MISSED, f"exit {outcome.status}, but the document says ok"
    # A process that was killed cannot speak; its launcher does.
    if outcome.errors or (plan.fault == "kill" and outcome.stderr.strip()):
        return CAUGHT, ""
    return SILENT, _last(outcome)


def _passed(plan: Plan, outcome: Outcome, is_right: Callable[[], bool]) -> tuple[str, str]:
    if not outcome.good:
        return MISSED, "exit 0 without a document that says ok"
    if plan.fault in MENDABLE:
        return MENDED, ""
    if plan.fault in DATA and is_right():
        return MENDED, ""
    return MISSED, "exit 0, and the document says ok"


def _last(outcome: Outcome) -> str:
    lines = [line for line in outcome.stderr.splitlines() if line.strip()]
    return f"exit {outcome.status}: {lines[-1].strip() if lines else 'nothing was said'}"
