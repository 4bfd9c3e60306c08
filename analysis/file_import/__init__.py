# SPDX-License-Identifier: BSD-3-Clause
"""A user's file as a document from which `iokernel file --like` makes a similar one."""
