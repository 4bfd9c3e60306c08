# SPDX-License-Identifier: BSD-3-Clause
"""Reads recorded sessions and judges them. Its only name is `iogauge.analysis`: in a checkout
`iogauge/analysis` is a symbolic link to this folder."""

if __name__ == "analysis":
    raise ImportError("import iogauge.analysis")
