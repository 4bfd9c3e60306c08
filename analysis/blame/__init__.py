# SPDX-License-Identifier: BSD-3-Clause
"""Data races: accesses of several processes to the same bytes with no order between them."""
