# SPDX-License-Identifier: BSD-3-Clause
"""Each case says what it is beside its result, as it ends: ReFrame's report comes with the end of
the session, and never where that was killed. `python -m analysis recover` reads these files."""

from __future__ import annotations

import inspect
import json
import os
import shlex
import sys
import time
from pathlib import Path
from typing import Any

import reframe as rfm
from reframe.core.builtins import run_after, run_before

from iogauge.files import write_whole
from iogauge.run_folder import CASE

# What ReFrame's report says of a case, and a reader of the report wants to know.
OF_THE_TEST = (
    "name", "display_name", "unique_name", "outputdir", "stagedir", "num_tasks", "pattern",
    "method", "mode", "scale", "fs", "call", "caches", "published_peak", "skip_reason",
    "spack_packages", "ledger",
)  # fmt: skip
UNREPORTED = "it failed, or was not yet found right, when the session was killed"


class SelfDescribed(rfm.RegressionTestPlugin):
    """What `IoBenchmark` gets."""

    @run_before("sanity")
    def say_that_it_ran(self) -> None:
        self._write("fail", UNREPORTED)

    @run_after("performance", always_last=True)
    def say_that_it_was_right(self) -> None:
        self._write("pass", None)

    def _write(self, result: str, reason: str | None) -> None:
        test: Any = self
        if test.is_dry_run():
            return
        case = {name: getattr(test, name, None) for name in OF_THE_TEST}
        case |= {
            "filename": inspect.getfile(type(test)),
            "system": test.current_system.name,
            "partition": test.current_partition.name,
            "environ": test.current_environ.name,
            "result": result,
            "fail_reason": reason,
            "fixture": False,
            "ended": time.time(),
        }
        session = {
            "version": rfm.VERSION,
            "cmdline": shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]),
            "workdir": str(Path.cwd()),
            "process": os.getpid(),
        }
        text = json.dumps({"session": session, "case": case}, indent=1, default=str)
        path = Path(test.stagedir) / CASE
        write_whole(path, text + "\n")
