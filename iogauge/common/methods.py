# SPDX-License-Identifier: BSD-3-Clause
"""What tests and analysis both know of methods, beside the kernels' tables."""

from __future__ import annotations

# A method in front of another -> which ones are put behind it.
BEHIND = {"ioserver": ("posix", "mpiio", "hdf5", "pnetcdf")}
