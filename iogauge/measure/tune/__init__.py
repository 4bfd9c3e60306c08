# SPDX-License-Identifier: BSD-3-Clause
"""`tune`: the fastest setting for a pattern, found in interleaved rounds (docs/how-to/tune.md)."""
