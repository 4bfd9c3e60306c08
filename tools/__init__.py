# SPDX-License-Identifier: BSD-3-Clause
"""Tools for maintainers of iogauge."""
