# SPDX-License-Identifier: BSD-3-Clause
"""Which session is meant where none is named."""

from __future__ import annotations

from pathlib import Path

from iogauge.analysis.session import loader
from iogauge.common.run_folder import case_files, is_session, sessions

from . import options


def last_report(output: Path) -> Path:
    """The report of the last session; that a newer one has begun and left none is said, on stderr.

    Raises what the loader's function of this name raises."""
    report = loader.last_report(output)
    info = loader.read_report(report)["session_info"]
    mine = loader.folders(info)
    own = max(mine)
    if is_session(own):
        newer = [name for name in sessions(output) if name > own]
        if begun := [name for name in newer if _has_begun(output, name)]:
            options.say(
                f"session {begun[-1]} is newer, and has no report: it runs, or was killed and "
                "iogauge store recover makes one; this is the session before"
            )
    return report


def _has_begun(output: Path, name: str) -> bool:
    """And has no report: a dry run leaves no such files."""
    if (output / loader.REPORTS / f"run-report-{name}.json").exists():
        return False
    return any(True for _ in case_files(output, name))
