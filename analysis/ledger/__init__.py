# SPDX-License-Identifier: BSD-3-Clause
"""The byte ledger of a run: what each layer moved, by phase, and whether it adds up."""
