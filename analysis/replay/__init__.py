# SPDX-License-Identifier: BSD-3-Clause
"""Schedules: what each process of a trace did, to be repeated."""
