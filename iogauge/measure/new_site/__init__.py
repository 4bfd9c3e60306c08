# SPDX-License-Identifier: BSD-3-Clause
"""A first site file, by looking at this machine: `iogauge site new dawn`."""
