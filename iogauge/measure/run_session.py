# SPDX-License-Identifier: BSD-3-Clause
"""One session: ReFrame, then the store, the page and the first screen of this very run.

The exit status is ReFrame's own; where that is 0, the first other one of the steps after it; 1
where nothing was measured, 2 where nothing was selected, 128 + N after signal N.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from iogauge.measure import rounds
from iogauge.measure.session import Child, measure

STEPS = (("store", "add", "--quiet"), ("report", "--quiet"), ("summary",))  # after ReFrame


def run(child: Child, words: Sequence[str], output: Path, seconds: float | None = None) -> int:
    """`seconds`: for more rounds; None for none."""
    done = measure(child, words, output)
    status = done.status
    if seconds is not None and not child.signal:
        status = rounds.run(child, words, output, done, seconds) or status
    for step in STEPS if done.report else ():
        shown = child.analysis(*step, str(done.report))
        status = status or shown
    return 128 + child.signal if child.signal else status
