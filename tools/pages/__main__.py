# SPDX-License-Identifier: BSD-3-Clause
"""Writes the generated pages of the documentation.

    python -m tools.pages [--check]

The table of patterns and methods is what the tests' iokernel of stack openmpi lists, which is built
first. Exit status: 0 written or current, 1 not current (--check, which writes nothing), 2 a page
cannot be made.
"""

import argparse
import sys
from collections.abc import Callable

from iogauge.analysis.errors import AnalysisError
from iogauge.common.paths import ROOT
from iogauge.measure import iokernel, kernels

from . import cross, experiments, hints
from .experiments import CannotMake

DOCS = ROOT / "docs"
PAGES: dict[str, Callable[[str], str]] = {
    "documents.md": experiments.page,
    "reference/hints.md": hints.page,
    "reference/patterns-and-methods.md": cross.page_of_tests,
}


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.pages",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = parser.parse_args(words).check
    status = 0
    for name, make in PAGES.items():
        path = DOCS / name
        try:
            old = path.read_text(encoding="utf-8")
            made = make(old)
        except (AnalysisError, CannotMake, iokernel.CannotList, kernels.CannotBuild) as error:
            print(f"tools.pages: {path}: {error}", file=sys.stderr)
            return 2
        if made != old and check:
            print(f"tools.pages: {path} is not current: python -m tools.pages", file=sys.stderr)
            status = 1
        elif made != old:
            path.write_text(made, encoding="utf-8")
    return status


if __name__ == "__main__":
    raise SystemExit(main())
