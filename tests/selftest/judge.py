# SPDX-License-Identifier: BSD-3-Clause
"""What an outcome means. Pure, but for the one question whether the files are right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.selftest.cases import Subject
from tests.selftest.injector import DATA, MENDABLE, Plan
from tests.selftest.run import Outcome

# Possible outcomes of a fault; none of BAD may occur.
CAUGHT = "caught"  # the run failed, and a line says of what; killed: its exit status says so
MENDED = "mended"  # the run went on, and its files are right
MISSED = "missed"  # the run says that all is well
HUNG = "hung"  # it did not end
SILENT = "silent"  # it failed, and no line says why
BROKEN = "broken"  # it failed, though nothing went wrong
IDLE = "idle"  # nothing went wrong: the call did not come
VERDICTS = (CAUGHT, MENDED, MISSED, HUNG, SILENT, BROKEN, IDLE)
BAD = (MISSED, HUNG, SILENT, BROKEN)
PASSED = "exit 0, and the document says ok"
# Calls that may fail where the run can do without them: a look at a file, a library's helper file,
# a word in a header that nobody needs.
OF_NO_ACCOUNT = ("open", "read", "unlink")


@dataclass(frozen=True)
class Judgement:
    """`how`: method and mode; `reason`: for a person, of a verdict that must not be."""

    stack: str
    how: str
    fault: str
    name: str
    verdict: str
    left: int
    reason: str
    command: str
    seconds: float
    known: str

    @classmethod
    def of(
        cls, subject: Subject, fault: str, verdict: tuple[str, str], outcome: Outcome, known: str
    ) -> Judgement:
        word, reason = verdict
        if outcome.left:
            reason = f"{reason}; left: {', '.join(outcome.left[:3])}".lstrip("; ")
        return cls(
            subject.stack, subject.how, fault, f"{subject.name} {fault}", word, len(outcome.left),
            reason, outcome.command, outcome.seconds, known,
        )  # fmt: skip

    @property
    def bad(self) -> bool:
        return not self.known and (self.verdict in BAD or self.left > 0)


def verdict_of(plan: Plan, outcome: Outcome, is_right: Callable[[], bool]) -> tuple[str, str]:
    """A verdict and its reason. `is_right`: do the files hold what they should, and was what was
    read of no account? Asked only where a fault has passed."""
    if hung := _hung(outcome):
        return HUNG, hung
    if not outcome.fired:
        return (IDLE, "") if outcome.good else (BROKEN, _last(outcome))
    if outcome.status == 0:
        return _passed(plan, outcome, is_right)
    return _failed(outcome, plan.fault == "kill")


def verdict_of_place(outcome: Outcome) -> tuple[str, str]:
    """Of a file system on which no run can succeed."""
    if hung := _hung(outcome):
        return HUNG, hung
    if outcome.status == 0:
        return MISSED, PASSED
    return _failed(outcome, killed=False)


def _hung(outcome: Outcome) -> str:
    if outcome.status is None:
        return "the run did not end"
    return f"{outcome.processes} processes lived on" if outcome.processes else ""


def _failed(outcome: Outcome, killed: bool) -> tuple[str, str]:
    if (outcome.document or {}).get("status") == "ok":
        return MISSED, f"exit {outcome.status}, but the document says ok"
    # A process that was killed cannot speak, and what its launcher says of it differs: by release,
    # and in MPICH's also by which of its connections closes first. Its exit status tells.
    if outcome.errors or killed:
        return CAUGHT, ""
    return SILENT, _last(outcome)


def _passed(plan: Plan, outcome: Outcome, is_right: Callable[[], bool]) -> tuple[str, str]:
    if not outcome.good:
        return MISSED, "exit 0 without a document that says ok"
    if plan.fault in MENDABLE:
        return MENDED, ""
    # Not every file that is opened is needed; what is written is.
    if (plan.fault in DATA or plan.call in OF_NO_ACCOUNT) and is_right():
        return MENDED, ""
    return MISSED, PASSED


def _last(outcome: Outcome) -> str:
    lines = [line for line in outcome.said.splitlines() if line.strip()]
    return f"exit {outcome.status}: {lines[-1].strip() if lines else 'nothing was said'}"
