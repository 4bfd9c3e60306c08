# SPDX-License-Identifier: BSD-3-Clause
"""Output for people: text, tables, charts and pages. Nothing is judged here."""
