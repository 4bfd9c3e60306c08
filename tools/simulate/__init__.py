# SPDX-License-Identifier: BSD-3-Clause
"""The statistics' promises, checked with simulated measurements whose truth is known."""
