# SPDX-License-Identifier: BSD-3-Clause
"""What a user's file holds, as a document from which `iokernel file --like` makes one like it."""
