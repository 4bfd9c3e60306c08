# SPDX-License-Identifier: BSD-3-Clause
"""The terminal: all that is shown there goes through here, for a name may hold what moves the
cursor, or what `rich` takes for its own markup."""

import sys

from rich.console import Console
from rich.text import Text

from iogauge.common.text import plain_lines

PIPED_WIDTH = 200  # a pipe has no width: lines must not be folded for the program that reads them


def console(piped_width: int = PIPED_WIDTH) -> Console:
    """Of stdout: as wide as the terminal, or as this where there is none."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else piped_width)


def shown(text: str, style: str = "") -> Text:
    """A text as it is, whatever it holds."""
    return Text(plain_lines(text), style=style)
