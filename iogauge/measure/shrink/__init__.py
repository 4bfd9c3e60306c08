# SPDX-License-Identifier: BSD-3-Clause
"""Reduces a failing run: its processes, data and options; last, a plain program."""
