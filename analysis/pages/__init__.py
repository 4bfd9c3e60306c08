# SPDX-License-Identifier: BSD-3-Clause
"""What people see: words, tables, charts and pages. It judges nothing."""
