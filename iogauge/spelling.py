# SPDX-License-Identifier: BSD-3-Clause
"""What to say of a word that is not among the known ones."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def unknown(word: str, known: Iterable[str]) -> str:
    """What to say of a word that is not among the known."""
    names = list(known)
    close = difflib.get_close_matches(word, names, 1)
    right = f"did you mean {close[0]!r}?" if close else f"right is one of {', '.join(names)}"
    return f"{word!r} is unknown; {right}"
