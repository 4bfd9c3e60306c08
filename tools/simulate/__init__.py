# SPDX-License-Identifier: BSD-3-Clause
"""What the statistics promise, held against made-up measurements whose truth is known."""
