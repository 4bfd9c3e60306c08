# SPDX-License-Identifier: BSD-3-Clause
"""One session of ReFrame for some experiments, and its cases."""

from __future__ import annotations

import functools
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from iogauge.common.experiments import Experiment
from iogauge.common.paths import ROOT
from iogauge.measure import sites

Case = dict[str, Any]


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
