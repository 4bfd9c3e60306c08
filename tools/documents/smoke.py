# SPDX-License-Identifier: BSD-3-Clause
"""Each experiment on this machine at a size of seconds: does it run, and is every byte right?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from iogauge.common.experiments import SMOKE, Experiment
from tools.documents import session

# Where the smoke sizes run: the site `local`, in memory but for what is about a disk's cache.
SYSTEM = "local"
OPTIONS = ("-r", "--exec-policy=serial", "-S", "repeats=1")


@dataclass(frozen=True)
class Row:
    """How an experiment went."""

    id: str
    passed: int
    failed: tuple[str, ...]
    skipped: tuple[str, ...]

    @property
    def right(self) -> bool:
        return self.passed > 0 and not self.failed

    @property
    def text(self) -> str:
        said = f"{self.id}: {self.passed} verified, {len(self.failed)} failed"
        reasons = "".join(f"\n    {line}" for line in (*self.failed, *self.skipped))
        return f"{said}, {len(self.skipped)} skipped{reasons}"


def run(some: Sequence[Experiment], output: Path) -> list[Row]:
    rows = []
    for group in session.together(some):
        # The one other scale: S3D-IO's own small run, which takes no longer.
        others = [one.at["scale"][0] for one in group if one.at["scale"] == ("example",)]
        scales = "|".join([SMOKE, *dict.fromkeys(others)])
        _, cases = session.run(SYSTEM, group, output, *OPTIONS, "-t", f"({scales})$")
        rows += [_row(one, session.of(one, cases)) for one in group]
    return rows


def _row(one: Experiment, cases: Sequence[session.Case]) -> Row:
    passed = [case for case in cases if case["result"] == "pass"]
    failed = [
        f"{case['display_name']} ({case['environ']}): {case['fail_reason']}"
        for case in cases
        if case["result"] == "fail"
    ]
    reasons = dict.fromkeys(case["skip_reason"] for case in cases if case["skip_reason"])
    return Row(one.id, len(passed), tuple(failed), tuple(reasons))
