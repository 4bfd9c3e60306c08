# SPDX-License-Identifier: BSD-3-Clause
"""Medians and their spread. Bandwidths are in MiB/s (2^20 bytes) everywhere."""

import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Spread:
    median: float
    low: float
    high: float
    count: int

    @classmethod
    def of(cls, values: Iterable[float]) -> "Spread | None":
        """The spread of `values`, or None. Raises ValueError for infinite ones, which a median
        hides."""
        data = list(values)
        if not data:
            return None
        if not all(math.isfinite(value) for value in data):
            raise ValueError(f"expected finite numbers, found {data}")
        return cls(statistics.median(data), min(data), max(data), len(data))
