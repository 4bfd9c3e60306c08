# SPDX-License-Identifier: BSD-3-Clause
"""What a run leaves and what both the tests and the analysis know about it."""
