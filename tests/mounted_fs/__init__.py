# SPDX-License-Identifier: BSD-3-Clause
"""File systems mounted for tests: `make test-fs`."""
