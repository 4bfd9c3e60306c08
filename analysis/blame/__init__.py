# SPDX-License-Identifier: BSD-3-Clause
"""Who raced: accesses of several processes to the same bytes, without order between them."""
