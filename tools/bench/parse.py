# SPDX-License-Identifier: BSD-3-Clause
"""What the benched programs print, as numbers. Bandwidths are in MiB/s (2^20 bytes)."""

from __future__ import annotations

import json
import re
from statistics import median
from typing import Any

READ, WRITE, TOTAL = "read", "write", "total"

S3D_LINE = re.compile(r"^\s*I/O\s+bandwidth\s*:\s*([\d.]+|\*+) MiB/s\s*$", re.MULTILINE)


class NotParsed(Exception):
    """A program's output is not what it should be; the text says what is missing."""


def iokernel(document: str) -> dict[str, float]:
    """Bandwidth of each direction, the median of the repeats. `document`: the result document."""
    try:
        samples = json.loads(document)["samples"]
        return _medians([(d, s[d]["bandwidth"]) for s in samples for d in (WRITE, READ) if s[d]])
    except (ValueError, KeyError, TypeError) as error:
        raise NotParsed(f"iokernel's result document: {error!r}") from error


def ior(summary: str) -> dict[str, float]:
    """The same of IOR 4's JSON summary (`-O summaryFormat=JSON`)."""
    try:
        results: list[dict[str, Any]] = json.loads(summary)["tests"][0]["Results"]
        return _medians(
            [(r["access"], r["bwMiB"]) for r in results if r["access"] in (WRITE, READ)]
        )
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise NotParsed(f"IOR's summary: {error!r}") from error


def _medians(found: list[tuple[str, float]]) -> dict[str, float]:
    values: dict[str, list[float]] = {}
    for direction, bandwidth in found:
        values.setdefault(direction, []).append(float(bandwidth))
    if not values:
        raise KeyError("no bandwidth in it")
    return {direction: median(of) for direction, of in values.items()}


def s3d_io(stdout: str) -> dict[str, float]:
    """The line "I/O bandwidth" of S3D-IO's summary: all bytes over the total I/O time. The line
    "total I/O time" says the same with two decimals only."""
    found = S3D_LINE.search(stdout)
    if not found or "*" in found.group(1):
        raise NotParsed('no line "I/O bandwidth : ... MiB/s" in the summary of s3d_io.x')
    return {TOTAL: float(found.group(1))}


def values(stdout: str) -> dict[str, dict[str, float]]:
    """bench_values: one JSON object for each process; the slowest process of each figure, GB/s."""
    try:
        each = [json.loads(line) for line in stdout.splitlines() if line.startswith("{")]
        return {
            what: {kind: min(float(one[what][kind]) for one in each) for kind in each[0][what]}
            for what in ("fill", "verify")
        }
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise NotParsed(f"bench_values: {error!r}") from error
