# SPDX-License-Identifier: BSD-3-Clause
"""How much memory this machine has. Needs no ReFrame."""

import re
from pathlib import Path

MEMINFO = Path("/proc/meminfo")
# A container's limit (cgroup v2); "max" if there is none.
LIMIT = Path("/sys/fs/cgroup/memory.max")


def memory(meminfo: str | None = None, limit: str | None = None) -> int:
    """MiB that programs may use here; 0 if unknown. Given: the texts of MEMINFO and LIMIT."""
    found = re.search(r"^MemTotal:\s+(\d+) kB", _text(MEMINFO, meminfo), re.MULTILINE)
    allowed = _text(LIMIT, limit).strip()
    has = [int(found[1]) // 1024] if found else []
    has += [int(allowed) // 2**20] if allowed.isdecimal() else []
    return min(has, default=0)


def _text(file: Path, given: str | None) -> str:
    if given is not None:
        return given
    try:
        return file.read_text()
    except OSError:
        return ""
