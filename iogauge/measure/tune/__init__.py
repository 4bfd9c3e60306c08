# SPDX-License-Identifier: BSD-3-Clause
"""`tune`: a pattern's fastest setting, by interleaved rounds (docs/how-to/tune.md)."""
