# SPDX-License-Identifier: BSD-3-Clause
"""Names of the files in a run's folder (docs/architecture.md)."""

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from .text import first_error

MOST = 2**20  # characters of a build's output that are looked at
DOCUMENT = "result.json"  # docs/result-format.md
TRACE = "trace.darshan"
LEDGER = "ledger.json"  # docs/darshan.md
RECORDER = "libiogauge-recorder.so"  # the kernels' own recorder, preloaded
JOB_SCRIPT = "rfm_job.sh"
STDERR = "rfm_job.err"
EXIT_STATUS = "exit_status"  # written at the end of the job script
CASE = "case.json"  # the test (reframe_tests/framework/case_file.py)
JOB = "job_id"  # scheduler and id of a submitted job
WAITS = "in the queue: job"  # how a line of ReFrame's log begins that says why

# Name of a session's folder: start time, pid of the process that started it, and a counter.
SESSION = re.compile(r"(20\d{6}T\d{6})(?:-\d+){0,2}")
BEGAN = "%Y%m%dT%H%M%S"


def recorder_of(program: Path) -> Path | None:
    """The recorder beside an `iokernel`, or in the library folder of its installation."""
    folder = program.parent
    places = (folder / RECORDER, *(folder.parent / lib / RECORDER for lib in ("lib", "lib64")))
    return next((path for path in places if path.is_file()), None)


def places(output: Path) -> tuple[Path, Path]:
    """The folders of sessions: output of tests that passed, stage folders of others."""
    return output, output / "stage"


def sessions(output: Path) -> list[str]:
    there = (path.name for place in places(output) for path in place.glob("2*"))
    return sorted({name for name in there if is_session(name)})


def case_files(output: Path, session: str) -> Iterator[Path]:
    """The case.json of each case that has begun."""
    for place in places(output):
        yield from (place / session).glob(f"*/*/*/*/{CASE}")


def build_error(folder: Path) -> str:
    """The first error in what a failed build printed; else empty."""
    text = ""
    for end in ("err", "out"):
        with suppress(OSError), (folder / f"rfm_build.{end}").open(errors="replace") as file:
            text += file.read(MOST)
    return first_error(text)


def is_session(name: str) -> bool:
    """Whether a folder's name begins with a valid time."""
    match = SESSION.fullmatch(name)
    with suppress(ValueError):
        return match is not None and bool(datetime.strptime(match[1], BEGAN))
    return False
