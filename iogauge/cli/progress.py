# SPDX-License-Identifier: BSD-3-Clause
"""A bar on stderr while something takes long; nothing where stderr is no terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")


def steps(items: Sequence[T], what: str, fewest: int = 2) -> Iterator[T]:
    """`items`, with a bar that vanishes at the end where there are `fewest` or more."""
    if not sys.stderr.isatty() or len(items) < fewest:
        yield from items
        return
    from rich.console import Console
    from rich.progress import track

    yield from track(items, what, console=Console(stderr=True), transient=True)
