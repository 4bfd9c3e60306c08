# SPDX-License-Identifier: BSD-3-Clause
"""What a machine has: calls, stacks, file systems, memory, nodes."""
