# SPDX-License-Identifier: BSD-3-Clause
"""A session as one file that others can verify: its contents, the archive, and the signature."""
