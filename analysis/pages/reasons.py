# SPDX-License-Identifier: BSD-3-Clause
"""Why a share of the store is above 100 %: by the repeats of the session that is shown."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..judge.shares import SOME_JOBS, why_above
from ..session.model import DIRECTIONS
from ..session.rows import Table


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
