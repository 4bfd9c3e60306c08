# SPDX-License-Identifier: BSD-3-Clause
"""The self-test: faults are injected into the kernels, and each must be seen."""
