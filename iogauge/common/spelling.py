# SPDX-License-Identifier: BSD-3-Clause
"""What to say of a word that is not among the known ones."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word that is most like it; empty where none is."""
    return next(iter(difflib.get_close_matches(word, list(known), 1)), "")


def unknown(word: str, known: Iterable[str]) -> str:
    """What to say of a word that is not among the known."""
    names = list(known)
    close = nearest(word, names)
    right = f"did you mean {close!r}?" if close else f"right is one of {', '.join(names)}"
    return f"{word!r} is unknown; {right}"
