# SPDX-License-Identifier: BSD-3-Clause
"""Machines of published measurements, out of service: scripts are only rendered."""
