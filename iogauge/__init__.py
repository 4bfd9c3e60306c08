# SPDX-License-Identifier: BSD-3-Clause
"""What a run leaves, and what both the tests and the analysis know about it.

Installed, `iogauge.analysis` is here too: the folder `analysis` of the checkout."""

from iogauge.paths import data


def version() -> str:
    """Of iogauge: the kernels, the tests and the analysis have one."""
    return data("VERSION").read_text(encoding="utf-8").strip()
