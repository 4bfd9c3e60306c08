# SPDX-License-Identifier: BSD-3-Clause
"""Darshan logs: read, written and made of the recorder's traces."""
