# SPDX-License-Identifier: BSD-3-Clause
"""An interval as text."""

from __future__ import annotations

from iogauge.analysis.statistics.interval import Interval


def ends(found: Interval, form: str) -> str:
    if found.low is None or found.high is None:
        return "too few pairs"
    return form.format(found.low, found.high)
