# SPDX-License-Identifier: BSD-3-Clause
"""Why shares are above 100 %: by the repeats of the session that is shown."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..judge.share_of_peak import SOME_JOBS, why_above
from ..session.model import CEILINGS, DIRECTIONS
from ..session.rows import Table
from .words import percent_text


class Reasons:
    """Asked with a row of compare_with.PEAK: the reason, empty for 100 % or less. `root`: what the
    store's paths are relative to."""

    def __init__(self, table: Table, root: Path) -> None:
        self._root = root
        self._known = {
            (run.document.resolve(), f"{direction}_bw"): why
            for row in table.ran
            for direction in DIRECTIONS
            if (why := why_above(row, "fpp", direction))
            for run in row.runs
            if run.document
        }

    def __call__(self, row: Mapping[str, Any]) -> str:
        if row["efficiency"] <= 1:
            return ""
        document = (self._root / row["document"]).resolve()
        return self._known.get((document, row["quantity"]), SOME_JOBS)


def lines(table: Table) -> list[tuple[str, str]]:
    """Each share above 100 %, with why it is."""
    names = dict(zip(CEILINGS, ("of the peak", "of the shared ceiling"), strict=True))
    found = []
    for row in table.ran:
        for ceiling, name in names.items():
            for direction in DIRECTIONS:
                share = row.share(ceiling, direction)
                if share and (why := why_above(row, ceiling, direction)):
                    run = row.run
                    words = (run.pattern, run.scale, run.method or run.test, run.mode, row.label,
                             f"on {run.stack}, {run.fs}, {direction}")  # fmt: skip
                    text = f"{' '.join(filter(None, words))}, {percent_text(share)} % {name}"
                    found.append((text, why))
    return found
