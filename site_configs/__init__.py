# SPDX-License-Identifier: BSD-3-Clause
"""Site configurations: one file per site, and `common.py` for what every site shares."""
