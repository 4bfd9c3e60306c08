# SPDX-License-Identifier: BSD-3-Clause
"""A session as one file that others can verify: contents, archive, signature."""
