# SPDX-License-Identifier: BSD-3-Clause
"""What every layer uses: paths, files, tables of the kernels, locks, processes."""
