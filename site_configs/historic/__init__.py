# SPDX-License-Identifier: BSD-3-Clause
"""Machines of published measurements. None is in service; their job scripts are only rendered."""
