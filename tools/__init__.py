# SPDX-License-Identifier: BSD-3-Clause
"""Tools for those who work on iogauge itself: `make bench`."""
