# SPDX-License-Identifier: BSD-3-Clause
"""A test harness for parallel I/O: the command `iogauge` and what it is made of."""

from iogauge.common.paths import data


def version() -> str:
    """The version of iogauge: kernels, tests and analysis share it."""
    return data("VERSION").read_text(encoding="utf-8").strip()
