# SPDX-License-Identifier: BSD-3-Clause
"""A run's byte ledger: what each layer moved, by phase, and if it adds up."""
