# SPDX-License-Identifier: BSD-3-Clause
"""A Slurm of two nodes on this machine, for tests."""
