# SPDX-License-Identifier: BSD-3-Clause
"""ReFrame's command, and what its own process took, without jobs and compilers:

    python -m tools.bench.own_cost FILE WORDS ...

FILE: JSON of `cpu`, seconds, and `memory`, bytes at most. IOGAUGE_PROFILE names a file for what
`python -m pstats` reads.
"""

from __future__ import annotations

import cProfile
import json
import os
import re
import resource
import sys
from pathlib import Path

from reframe.frontend import cli


def peak_memory() -> int:
    """Bytes. Not getrusage's, which begins with that of the process that started this one."""
    status = Path("/proc/self/status").read_text()
    found = re.search(r"^VmHWM:\s+(\d+) kB", status, re.MULTILINE)
    return int(found[1]) * 1024 if found else 0


def main() -> None:
    file, words = Path(sys.argv[1]), sys.argv[2:]
    sys.argv = ["reframe", *words]
    profile = cProfile.Profile() if "IOGAUGE_PROFILE" in os.environ else None
    try:
        if profile:
            profile.enable()
        cli.main()
    finally:
        if profile:
            profile.disable()
            profile.dump_stats(os.environ["IOGAUGE_PROFILE"])
        used = resource.getrusage(resource.RUSAGE_SELF)
        cost = {"cpu": used.ru_utime + used.ru_stime, "memory": peak_memory()}
        file.write_text(json.dumps(cost) + "\n")


if __name__ == "__main__":
    main()
