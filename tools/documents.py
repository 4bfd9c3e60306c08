# SPDX-License-Identifier: BSD-3-Clause
"""Each experiment of the documents on this machine at a size of seconds: does it run, and is every
byte right?

    python -m tools.documents [ID ...]

The experiments are those of references/experiments.yaml. Exit status: 0 all verified, 1 not so,
2 ReFrame could not run them.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from iogauge.common import experiments, lock, paths
from iogauge.common.experiments import SMOKE, Experiment
from iogauge.common.paths import ROOT
from iogauge.measure import sites

Case = dict[str, Any]
# In memory, but for what is about a disk's cache.
OPTIONS = ("-r", "--exec-policy=serial", "-S", "repeats=1")


class NoSession(Exception):
    """ReFrame left no report; the text is what it said."""


@functools.cache
def files() -> dict[str, Path]:
    """Each test class with its file: one file loads sooner than all."""
    return {
        name: path
        for path in (ROOT / "reframe_tests" / "benchmarks").glob("*.py")
        for name in re.findall(r"^class (\w+)\(", path.read_text(encoding="utf-8"), re.MULTILINE)
    }


def run(
    system: str, some: Sequence[Experiment], output: Path, *options: str
) -> tuple[int, list[Case]]:
    """ReFrame's exit status, and its test cases without fixtures."""
    tags = "|".join(one.id for one in some)
    command = [sys.executable, str(Path(sys.executable).parent / "reframe")]
    command += ["-C", str(sites.find(system)), "--system", system]
    for path in sorted({files()[one.test] for one in some}):
        command += ["-c", str(path)]
    command += ["-t", f"({tags})$", *options]
    for setting in dict.fromkeys(setting for one in some for setting in one.settings):
        command += ["-S", setting]
    environment = {key: text for key, text in os.environ.items() if not key.startswith("RFM_")}
    done = subprocess.run(
        command, cwd=ROOT, env={**environment, "IOGAUGE_OUTPUT": str(output)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    reports = sorted((output / "reports").glob("*.json"), key=lambda path: path.stat().st_mtime_ns)
    if not reports:
        raise NoSession(done.stdout + done.stderr)
    cases = json.loads(reports[-1].read_text())["runs"][-1]["testcases"]
    return done.returncode, [case for case in cases if not case["fixture"]]


def together(some: Iterable[Experiment]) -> list[list[Experiment]]:
    """Experiments that one session can have: those with settings are alone."""
    found: dict[str, list[Experiment]] = {}
    for one in some:
        found.setdefault(one.id if one.settings else "", []).append(one)
    return list(found.values())


def of(one: Experiment, cases: Iterable[Case]) -> list[Case]:
    return [case for case in cases if one.id in case["tags"]]


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


def smoke(some: Sequence[Experiment], output: Path) -> list[Row]:
    rows = []
    for group in together(some):
        # The one other scale: S3D-IO's own small run, which takes no longer.
        others = [one.at["scale"][0] for one in group if one.at["scale"] == ("example",)]
        scales = "|".join([SMOKE, *dict.fromkeys(others)])
        _, cases = run("local", group, output, *OPTIONS, "-t", f"({scales})$")
        rows += [_row(one, of(one, cases)) for one in group]
    return rows


def _row(one: Experiment, cases: Sequence[Case]) -> Row:
    passed = [case for case in cases if case["result"] == "pass"]
    failed = [
        f"{case['display_name']} ({case['environ']}): {case['fail_reason']}"
        for case in cases
        if case["result"] == "fail"
    ]
    reasons = dict.fromkeys(case["skip_reason"] for case in cases if case["skip_reason"])
    return Row(one.id, len(passed), tuple(failed), tuple(reasons))


def main() -> int:
    known = {one.id: one for one in experiments.experiments()}
    parser = argparse.ArgumentParser(prog="python -m tools.documents")
    parser.add_argument("names", nargs="*", metavar="ID", help="of docs/documents.md")
    names = parser.parse_args().names
    if unknown := [name for name in names if name not in known]:
        parser.error(f"{unknown[0]!r} is none of the experiments in docs/documents.md")
    try:
        with lock.measuring("make documents-smoke", lock.both(paths.output())):
            rows = smoke([known[name] for name in names or known], paths.output())
    except NoSession as error:
        print(f"tools.documents: {error}", file=sys.stderr)
        return 2
    for row in rows:
        print(row.text)
    return 0 if all(row.right for row in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
