# SPDX-License-Identifier: BSD-3-Clause
"""What results mean: intervals, comparisons, claims, references. It prints nothing."""
