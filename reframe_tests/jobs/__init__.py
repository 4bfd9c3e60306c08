# SPDX-License-Identifier: BSD-3-Clause
"""Job scripts, launchers and schedulers."""
