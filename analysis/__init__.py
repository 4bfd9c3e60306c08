# SPDX-License-Identifier: BSD-3-Clause
"""Read recorded sessions and turn them into tables and pages: `python -m analysis --help`."""
