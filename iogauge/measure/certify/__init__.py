# SPDX-License-Identifier: BSD-3-Clause
"""Which stacks write correct data: verified runs of all patterns, calls and settings."""
