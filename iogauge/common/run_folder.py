# SPDX-License-Identifier: BSD-3-Clause
"""What a run leaves in its folder, by name (docs/architecture.md)."""

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

DOCUMENT = "result.json"  # docs/result-format.md
TRACE = "trace.darshan"
LEDGER = "ledger.json"  # docs/darshan.md
RECORDER = "libiogauge-recorder.so"  # that of the kernels, preloaded
JOB_SCRIPT = "rfm_job.sh"
STDERR = "rfm_job.err"
EXIT_STATUS = "exit_status"  # written by the job script as it ends
CASE = "case.json"  # what a test is, as it begins and ends: reframe_tests/framework/case_file.py
JOB = "job_id"  # scheduler and number of a job that was submitted

# Name of a session's folder: when it began, the process that began it, and which of that one's it
# was.
SESSION = re.compile(r"(20\d{6}T\d{6})(?:-\d+){0,2}")
BEGAN = "%Y%m%dT%H%M%S"


def places(output: Path) -> tuple[Path, Path]:
    """Where the folders of sessions are: of tests that ended well, and of all others."""
    return output, output / "stage"


def sessions(output: Path) -> list[str]:
    there = (path.name for place in places(output) for path in place.glob("2*"))
    return sorted({name for name in there if is_session(name)})


def case_files(output: Path, session: str) -> Iterator[Path]:
    """Of each of its cases that has begun."""
    for place in places(output):
        yield from (place / session).glob(f"*/*/*/*/{CASE}")


def is_session(name: str) -> bool:
    """A folder's name that begins with a time there is."""
    match = SESSION.fullmatch(name)
    try:
        return match is not None and bool(datetime.strptime(match[1], BEGAN))
    except ValueError:
        return False
