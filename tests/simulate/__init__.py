# SPDX-License-Identifier: BSD-3-Clause
"""The statistics' error rates, measured by simulation with known truth."""
