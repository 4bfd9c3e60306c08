# SPDX-License-Identifier: BSD-3-Clause
"""A virtual machine with Debian's kernel, for file systems that this machine's kernel lacks."""
