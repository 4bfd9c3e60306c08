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
from iogauge.analysis.session.model import DIRECTIONS, LATENCY, OPERATIONS
from iogauge.common.run_folder import DOCUMENT
from reframe_tests.machine import filesystems

# Keys of the document's `summary`, with their units. The fractions are relative to the ceilings of
# the same job (docs/result-format.md).
SUMMARY = {
    "write_bw": "MiB/s",
    "read_bw": "MiB/s",
    "open_time": "s",
    "define_time": "s",
    "close_time": "s",
    "read_open_time": "s",
    **{f"{direction}_{name}": "s" for direction in DIRECTIONS for name in LATENCY},
    **{f"{operation}_rate": "1/s" for operation in OPERATIONS},
    "write_fraction_fpp": "1",
    "read_fraction_fpp": "1",
    "write_fraction_shared": "1",
    "read_fraction_shared": "1",
    # for methods with reserved processes
    "apparent_bw": "MiB/s",
    "direct_bw": "MiB/s",
    "apparent_speedup": "1",
    "overlap": "1",
    "durable_bw": "MiB/s",
    "blocked_time": "s",
    "drain_time": "s",
    "queue_peak": "B",
    "io_fraction": "1",
}

Figures = dict[str, tuple[float, str]]


def figures_of(document: dict[str, Any]) -> Figures:
    """Everything that the run measured, as name: (value, unit)."""
    summary = document["summary"]
    known = {name: (summary.get(name), unit) for name, unit in SUMMARY.items()}
    known |= {name: (seconds, "s") for name, seconds in _stretch_times(document).items()}
    return {name: (value, unit) for name, (value, unit) in known.items() if value is not None}


def _stretch_times(document: dict[str, Any]) -> dict[str, float]:
    """If the pattern names its calls: the median over the repeats of the slowest process's time, in
    seconds, as `write_coordinates_time`."""
    times: dict[str, list[float]] = {}
    for sample in document["samples"]:
        for direction in ("write", "read"):
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
        figures = figures_of(document)
        shares = filesystems.published_shares(self.file_system, document["summary"])
        figures |= {name: (share, "1") for name, share in shares.items()}
        figures |= self.ledger_figures()
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
