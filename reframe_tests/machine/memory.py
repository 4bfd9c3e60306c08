# SPDX-License-Identifier: BSD-3-Clause
"""How much memory this machine has. Needs no ReFrame."""

import re
from pathlib import Path

from iogauge.common.files import text_of

MEMINFO = Path("/proc/meminfo")
# A container's limit (cgroup v2); "max" if there is none.
LIMIT = Path("/sys/fs/cgroup/memory.max")


def memory(meminfo: str | None = None, limit: str | None = None) -> int:
    """MiB that programs may use here; 0 if unknown. Given: the texts of MEMINFO and LIMIT."""
    has = text_of(MEMINFO) if meminfo is None else meminfo
    found = re.search(r"^MemTotal:\s+(\d+) kB", has, re.MULTILINE)
    allowed = (text_of(LIMIT) if limit is None else limit).strip()
    mib = [int(found[1]) // 1024] if found else []
    mib += [int(allowed) // 2**20] if allowed.isdecimal() else []
    return min(mib, default=0)
