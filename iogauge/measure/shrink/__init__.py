# SPDX-License-Identifier: BSD-3-Clause
"""Reduces a failing run: fewer processes, less data, fewer options, finally a plain program."""
