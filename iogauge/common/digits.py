# SPDX-License-Identifier: BSD-3-Clause
"""Numbers with the digits that a measurement has."""

from __future__ import annotations


def three(value: float) -> str:
    """At least three significant digits and no false precision: 512, 21.4, 1.07."""
    decimals = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:.{decimals}f}"
