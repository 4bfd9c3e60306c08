# SPDX-License-Identifier: BSD-3-Clause
"""Judgements of results: comparisons, claims, references, causes. They print nothing."""
