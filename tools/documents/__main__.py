# SPDX-License-Identifier: BSD-3-Clause
"""The experiments of the documents (references/experiments.yaml).

    python -m tools.documents --check              is docs/documents.md current?
    python -m tools.documents --write              make it so
    python -m tools.documents --render [SITE...]   are their job scripts as the table says?
    python -m tools.documents --smoke [ID...]      run each here for seconds

Exit status: 0 current, as the table says, or all verified; 1 not so; 2 not possible.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from iogauge.analysis.errors import AnalysisError
from iogauge.common import experiments, lock, paths
from tools.documents import page, render, smoke
from tools.documents.session import NoSession

PAGE = paths.ROOT / "docs" / "documents.md"


def say(text: str) -> None:
    print(f"tools.documents: {text}", flush=True)


def check(write: bool) -> int:
    old = PAGE.read_text(encoding="utf-8")
    made = page.put(old)
    if old == made:
        return 0
    if write:
        PAGE.write_text(made, encoding="utf-8")
        return 0
    say(f"{PAGE} is not what the tables say; python -m tools.documents --write")
    return 1


def render_all(wanted: list[str]) -> int:
    wrong: list[str] = []
    for system in wanted or sorted(experiments.sites()):
        with tempfile.TemporaryDirectory() as folder:
            found, scripts = render.site(system, Path(folder))
        say(f"{system}: {scripts} scripts, {len(found)} problems")
        wrong += found
    for line in wrong:
        print(line)
    return 1 if wrong else 0


def smoke_all(wanted: list[str]) -> int:
    known = {one.id: one for one in experiments.experiments()}
    chosen = [known[name] for name in wanted or known]
    with lock.measuring("make documents-smoke", lock.both(paths.output())):
        rows = smoke.run(chosen, paths.output())
    for row in rows:
        print(row.text)
    return 0 if all(row.right for row in rows) else 1


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.documents",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    what = parser.add_mutually_exclusive_group(required=True)
    for name in ("check", "write", "render", "smoke"):
        what.add_argument(f"--{name}", action="store_true")
    parser.add_argument("names", nargs="*", metavar="SITE or ID")
    options = parser.parse_args(words)
    known = {"render": experiments.sites(), "smoke": {one.id for one in experiments.experiments()}}
    for name in options.names:
        if name not in known["render" if options.render else "smoke"]:
            parser.error(f"{name!r} is none of the table's; see docs/documents.md")
    try:
        if options.render:
            return render_all(options.names)
        return smoke_all(options.names) if options.smoke else check(options.write)
    except (AnalysisError, NoSession, page.NoPlace) as error:
        print(f"tools.documents: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    raise SystemExit(main())
