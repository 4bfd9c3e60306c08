# SPDX-License-Identifier: BSD-3-Clause
"""A run's measurements as ReFrame's performance variables, and their references."""

import re
from pathlib import Path
from statistics import median
from typing import Any

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import run_before

from iogauge.analysis.checks.result_file import load
from iogauge.analysis.judge import references
from iogauge.analysis.session.model import DIRECTIONS, LATENCY
from iogauge.common.run_folder import DOCUMENT
from reframe_tests.machine import filesystems

# Units by the last word of a name in `summary` (docs/result-format.md); else 1.
UNITS = {"bw": "MiB/s", "rate": "1/s", "peak": "B", **dict.fromkeys(("time", *LATENCY), "s")}

Figures = dict[str, tuple[float, str]]


def _stretch_times(document: dict[str, Any]) -> dict[str, float]:
    """Figures of named calls: `write_coordinates_time`, the median of the slowest process's, in
    s."""
    times: dict[str, list[float]] = {}
    for sample in document["samples"]:
        for direction in DIRECTIONS:
            for stretch in (sample[direction] or {}).get("stretches", []):
                name = f"{direction}_{stretch['name']}_time"
                times.setdefault(name, []).append(stretch["max"])
    return {name: median(values) for name, values in times.items()}


class Measured(rfm.RegressionTestPlugin):
    @run_before("performance")
    def set_performance_variables(self) -> None:
        if self.is_dry_run():
            return
        document = load(Path(self.stagedir) / DOCUMENT)
        self.caches = document["used"]["caches"] or ""
        figures = {
            name: (value, UNITS.get(name.rpartition("_")[2], "1"))
            for name, value in {**document["summary"], **_stretch_times(document)}.items()
            if value is not None
        }
        shares = filesystems.published_shares(self.file_system, document["summary"])
        figures |= {name: (share, "1") for name, share in shares.items()}
        figures |= self.ledger_figures()
        self.give(figures)

    def give(self, figures: Figures) -> None:
        """Make them ReFrame's performance variables."""
        self.perf_variables = {
            name: sn.make_performance_function(sn.defer(value), unit)
            for name, (value, unit) in figures.items()
            # A call that moves nothing has no share of the file system's peak.
            if self.the_call.moves_data or "fraction" not in name
        }

    @run_before("performance", always_last=True)
    def set_reference(self) -> None:
        """Set the reference from the system's history (references/sites/SYSTEM.yaml), if any."""
        hints = " ".join(sorted(f"{key}={value}" for key, value in self.all_hints().items()))
        partition, name = self.current_partition.name, re.sub(r" %\.repeat_no=\S*", "", self.name)
        stack = self.current_environ.name
        key = (partition, stack, name, self.num_tasks, bool(self.fsync), hints)
        found = references.for_reframe(self.current_system.name, partition, key)
        if found:
            self.reference = found
