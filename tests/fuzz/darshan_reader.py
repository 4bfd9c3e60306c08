# SPDX-License-Identifier: BSD-3-Clause
"""Reads one Darshan log after the other, each in a separate process, as `analysis.darshan.log`
has it done, without the start of Python each time: paths on stdin, and for each on stdout what the
process ended with. Its answer and what it said lie beside the log, as .json and .err."""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path

from iogauge.analysis.darshan import child, library


def one(log: Path) -> int:
    """Never returns to the loop below."""
    for number, end in ((1, ".json"), (2, ".err")):
        handle = os.open(log.with_suffix(end), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(handle, number)
    sys.stdout = os.fdopen(1, "w", closefd=False)
    try:
        return child.main(str(log), heat=True, segments=True)
    except BaseException:
        traceback.print_exc()
        return 70
    finally:
        sys.stdout.flush()


def main() -> None:
    library.library()
    for line in sys.stdin:
        log = Path(line.rstrip("\n"))
        process = os.fork()
        if not process:
            os._exit(one(log))
        _, status = os.waitpid(process, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    main()
