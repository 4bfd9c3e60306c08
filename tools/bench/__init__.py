# SPDX-License-Identifier: BSD-3-Clause
"""Measurements beside upstream programs, and of what iogauge itself costs."""
