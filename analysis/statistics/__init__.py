# SPDX-License-Identifier: BSD-3-Clause
"""Pure statistics: samples in, decisions out. Tested by simulation."""
