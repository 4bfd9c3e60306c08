# SPDX-License-Identifier: BSD-3-Clause
"""A failing run, made small: fewer processes, less data, fewer options, at last a program alone."""
