# SPDX-License-Identifier: BSD-3-Clause
"""Which stacks write right bytes: runs of every pattern, method, mode and setting, verified."""
