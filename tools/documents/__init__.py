# SPDX-License-Identifier: BSD-3-Clause
"""The experiments of the five documents: their page, their scripts, and a short run of each."""
