# SPDX-License-Identifier: BSD-3-Clause
"""One session: ReFrame, then the table, the store and the page of this very run: `make run`.

    python -m tools.run_session [--parent PROCESS] [--] OPTION_OF_REFRAME ...

Exit status: ReFrame's own; where that is 0, the first other one of summary, ingest and report; 1
where nothing was measured, 2 where nothing was selected, 128 + N after signal N.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from iogauge import paths
from tools.session import Child, alone, measure

STEPS = ("summary", "ingest", "report")  # of the analysis, in this order


def run(child: Child, words: Sequence[str], output: Path) -> int:
    done = measure(child, words, output)
    status = done.status
    for step in STEPS if done.report else ():
        shown = child.analysis(step, str(done.report))
        status = status or shown
    return 128 + child.signal if child.signal else status


def main(argv: Sequence[str]) -> int:
    words = list(argv)
    parser = argparse.ArgumentParser(prog="python -m tools.run_session", add_help=False)
    parser.add_argument("--parent", type=int)
    cut = words.index("--") if "--" in words else 0
    args = parser.parse_args(words[:cut])
    if words[cut : cut + 1] == ["--"]:
        cut += 1
    with alone("make run", args.parent) as child:
        return run(child, words[cut:], paths.output())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
