# SPDX-License-Identifier: BSD-3-Clause
"""What passes, or is left, though it should not: each with its reason, which stands in the table."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tools.selftest.cases import Case
from tools.selftest.judge import MISSED


@dataclass(frozen=True)
class Known:
    """`where`: matches `STACK-PATTERN-METHOD-MODE CALL:FAULT`. `left`: files that may stay."""

    where: re.Pattern[str]
    verdict: str | None
    reason: str
    left: re.Pattern[str] | None = None


KNOWN: tuple[Known, ...] = (
    Known(
        re.compile(r"openmpi-.* close:"),
        MISSED,
        "OMPIO drops the error of close",
    ),
)


def reason(case: Case, verdict: str, left: list[str]) -> str:
    """Why this is let pass; empty where it is not."""
    for one in KNOWN:
        fits = one.where.fullmatch(case.name) or one.where.match(case.name)
        if fits and one.verdict in (None, verdict) and _may_stay(one, left):
            return one.reason
    return ""


def _may_stay(one: Known, left: list[str]) -> bool:
    return all(one.left is not None and one.left.search(name) for name in left)
