# SPDX-License-Identifier: BSD-3-Clause
"""A user's file as the document that `iokernel file --like` imitates."""
