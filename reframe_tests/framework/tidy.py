# SPDX-License-Identifier: BSD-3-Clause
"""The first test of a session on a file system removes what killed jobs left there."""

import functools
from pathlib import Path
from typing import Any

import reframe as rfm
from reframe.core.builtins import run_before
from reframe.core.logging import getlogger

from reframe_tests.machine import leftovers


@functools.cache
def _tidy(place: Path) -> None:
    for line in leftovers.remove(place):
        getlogger().warning(line)


class Tidy(rfm.RegressionTestPlugin):
    @run_before("run")
    def remove_what_killed_jobs_left(self) -> None:
        test: Any = self
        if not test.is_dry_run():
            _tidy(Path(test.file_system["path"]))
