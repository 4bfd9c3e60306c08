# SPDX-License-Identifier: BSD-3-Clause
"""One module per command: the only ones that know argparse."""
