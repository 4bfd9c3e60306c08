# SPDX-License-Identifier: BSD-3-Clause
"""Which session is meant where none is named."""

from __future__ import annotations

import sys
from pathlib import Path

from iogauge.run_folder import CASE, SESSION

from ..session import loader


def last_report(output: Path) -> Path:
    """The report of the last session; that a newer one has begun and left none is said, on stderr.

    Raises what the loader's function of this name raises."""
    report = loader.last_report(output)
    info = loader.read_report(report)["session_info"]
    own = Path(info.get("prefix_output") or "").name
    if SESSION.fullmatch(own):
        found = {path.name for place in (output, output / "stage") for path in place.glob("2*")}
        newer = [name for name in found if SESSION.fullmatch(name) and name > own]
        if begun := [name for name in sorted(newer) if _has_begun(output, name)]:
            print(
                f"session {begun[-1]} is newer, and has no report: it runs, or was killed and "
                "python -m analysis recover makes one; this is the session before",
                file=sys.stderr,
            )
    return report


def _has_begun(output: Path, name: str) -> bool:
    """And has no report: a dry run leaves no such files."""
    if (output / loader.REPORTS / f"run-report-{name}.json").exists():
        return False
    places = (output / name, output / "stage" / name)
    return any(True for place in places for _ in place.glob(f"*/*/*/*/{CASE}"))
