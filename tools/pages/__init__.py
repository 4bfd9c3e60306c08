# SPDX-License-Identifier: BSD-3-Clause
"""Pages of the documentation that are generated: `python -m tools.pages`."""
