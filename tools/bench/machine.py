# SPDX-License-Identifier: BSD-3-Clause
"""The machine under the numbers: they mean nothing without it. No host name, no paths."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path

from iogauge.common.mounts import mount_of


def machine(filesystems: dict[str, Path], cores: int) -> dict[str, str]:
    """What the numbers depend on, ready to print."""
    found = {
        "processor": f"{_processor()}, {cores} of {os.cpu_count()} cores usable",
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.1f} GiB",
        "kernel": f"{platform.system()} {platform.release()}",
        "huge pages": _chosen(Path("/sys/kernel/mm/transparent_hugepage/enabled")),
    }
    for name, path in filesystems.items():
        mount = mount_of(path)
        found[f"file system {name}"] = f"{mount['type']} ({mount['options']})"
    return found


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor() or "unknown"
    model = re.search(r"^(?:model name|Hardware|cpu)\s*:\s*(.+)$", text, re.MULTILINE)
    virtual = (
        ", virtual machine" if re.search(r"^flags.*\bhypervisor\b", text, re.MULTILINE) else ""
    )
    return (model.group(1).strip() if model else platform.machine()) + virtual


def _chosen(path: Path) -> str:
    """The word in brackets, as the kernel marks its choice."""
    try:
        found = re.search(r"\[(\w+)\]", path.read_text())
    except OSError:
        found = None
    return found.group(1) if found else "unknown"


def load() -> str:
    """How busy the machine is, as a warning that other jobs are in the numbers."""
    return f"{os.getloadavg()[0]:.2f}"
