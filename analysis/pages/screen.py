# SPDX-License-Identifier: BSD-3-Clause
"""The terminal. All output goes through here: names may hold control sequences or markup."""

import sys

from rich.console import Console
from rich.text import Text

from iogauge.common.text import plain_lines

PIPED_WIDTH = 200  # of a pipe: a program reads its lines, never folded


def console(piped_width: int = PIPED_WIDTH) -> Console:
    return Console(highlight=False, width=None if sys.stdout.isatty() else piped_width)


def shown(text: str, style: str = "") -> Text:
    """A text literally, whatever it holds."""
    return Text(plain_lines(text), style=style)
