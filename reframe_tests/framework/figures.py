# SPDX-License-Identifier: BSD-3-Clause
"""The figures of a run that ReFrame logs as performance variables, from its result document."""

from __future__ import annotations

from statistics import median
from typing import Any

# Keys of the document's `summary`, with their units. The fractions are relative to the ceilings of
# the same job (docs/result-format.md).
SUMMARY = {
    "write_bw": "MiB/s",
    "read_bw": "MiB/s",
    "open_time": "s",
    "define_time": "s",
    "close_time": "s",
    "read_open_time": "s",
    **{f"{operation}_rate": "1/s" for operation in ("create", "stat", "open", "remove")},
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
    """Name: (value, unit), for everything the run measured."""
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
