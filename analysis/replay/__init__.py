# SPDX-License-Identifier: BSD-3-Clause
"""Schedules: what a trace says that each process did, to be done again."""
