# SPDX-License-Identifier: BSD-3-Clause
"""Checks of a run: its result document against request, clock, storage and trace."""
