# SPDX-License-Identifier: BSD-3-Clause
"""Shared by all layers: paths, files, tables of the kernels, locks, processes."""
