# SPDX-License-Identifier: BSD-3-Clause
"""One session: ReFrame, then the store, the page and the first screen of this very run.

    python -m iogauge.measure.run_session [--parent PROCESS] [--rounds] [--] OPTION_OF_REFRAME ...

With --rounds, those cases that a decision needs run again (rounds.py).

Exit status: ReFrame's own; where that is 0, the first other one of ingest, report and summary; 1
where nothing was measured, 2 where nothing was selected, 128 + N after signal N.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from iogauge.common import paths
from iogauge.measure import rounds
from iogauge.measure.session import Child, alone, measure

STEPS = (("ingest", "--quiet"), ("report", "--quiet"), ("summary",))  # of the analysis


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


def main(argv: Sequence[str]) -> int:
    words = list(argv)
    parser = argparse.ArgumentParser(prog="python -m iogauge.measure.run_session", add_help=False)
    parser.add_argument("--parent", type=int)
    parser.add_argument("--rounds", action="store_true")
    parser.add_argument("--seconds", type=float, default=rounds.SECONDS)
    cut = words.index("--") if "--" in words else 0
    args = parser.parse_args(words[:cut])
    if words[cut : cut + 1] == ["--"]:
        cut += 1
    with alone("make run", args.parent) as child:
        seconds = args.seconds if args.rounds else None
        return run(child, words[cut:], paths.output(), seconds)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
