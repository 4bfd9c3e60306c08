# SPDX-License-Identifier: BSD-3-Clause
"""Each case is described beside its result: a killed session has no report."""

import functools
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

from iogauge.common import processes
from iogauge.common.files import write_whole
from iogauge.common.run_folder import CASE
from reframe_tests.jobs import order

# The fields of a case in ReFrame's report that readers need.
OF_THE_TEST = (
    "name",
    "display_name",
    "unique_name",
    "outputdir",
    "stagedir",
    "num_tasks",
    "pattern",
    "method",
    "mode",
    "scale",
    "fs",
    "call",
    "caches",
    "published_peak",
    "skip_reason",
    "spack_packages",
    "ledger",
)
PLAIN = (str, int, float, list, type(None))  # types of values that JSON has
UNCHECKED = "it was not yet checked when the session was killed"
UNCOMPARED = "performance error: the session was killed before it met its reference"


@functools.cache
def session() -> dict[str, Any]:
    return {
        "version": rfm.VERSION,
        "cmdline": shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]),
        "workdir": str(Path.cwd()),
        "process": processes.identity(os.getpid()),
        "order_seed": order.seed(),
    }


class SelfDescribed(rfm.RegressionTestPlugin):
    # What a run is judged by, for analysis/checks/recheck.py.
    judged_by: dict[str, Any] | None = None

    @run_before("run", always_last=True)
    def mark_running(self) -> None:
        self.write_case("fail", UNCHECKED, checked=False)

    @run_before("performance")
    def mark_correct(self) -> None:
        self.write_case("fail", UNCOMPARED)

    @run_after("performance", always_last=True)
    def mark_passed(self) -> None:
        self.write_case("pass", None)

    def __rfm_json_encode__(self) -> Any:
        """What ReFrame keeps of a case in a restored session: plain values are faster."""
        cls = type(self)
        kept: dict[str, Any] = {"__rfm_class__": cls.__qualname__}
        kept["__rfm_file__"] = inspect.getfile(cls)
        for name, value in vars(self).items():
            if isinstance(value, PLAIN) or (isinstance(value, dict) and name in cls.var_space):
                kept[name] = value
        return {**kept, "tags": sorted(self.tags)}

    def write_case(self, result: str, reason: str | None, checked: bool = True) -> None:
        """`checked`: the test's own checks have run."""
        if self.is_dry_run():
            return
        case = {name: getattr(self, name, None) for name in OF_THE_TEST}
        case |= {
            "fs_path": str(self.file_system["path"]),
            "filename": inspect.getfile(type(self)),
            "system": self.current_system.name,
            "partition": self.current_partition.name,
            "environ": self.current_environ.name,
            "result": result,
            "fail_reason": reason,
            "checked": checked,
            "judged_by": self.judged_by,
            "fixture": False,
            "ended": time.time(),
        }
        text = json.dumps({"session": session(), "case": case}, default=str)
        write_whole(Path(self.stagedir) / CASE, text + "\n")
