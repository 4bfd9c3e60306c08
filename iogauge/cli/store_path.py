# SPDX-License-Identifier: BSD-3-Clause
"""`store path`: where the store is."""

from __future__ import annotations

import argparse

from iogauge.analysis.errors import EXIT_OK

from . import options

EXAMPLES = """\
examples:
  iogauge store path
  rsync -a "$(iogauge store path)"/ backup:/project/iogauge/store/
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    options.add_store(parser)


def run(args: argparse.Namespace) -> int:
    """Print it, whether there is one or not."""
    print(options.store_of(args).absolute())
    return EXIT_OK
