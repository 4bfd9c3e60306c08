"""File systems as an axis: the entries that site files put in a partition's `extras`."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import reframe.core.runtime as rt


def _partitions() -> list[Any]:
    """Of the system that ReFrame runs for. Where no site file fits the host, ReFrame silently takes
    a system of its own, `generic`, on which nothing could run: that is an error here."""
    system = rt.runtime().system
    if system.name == "generic":
        files = ", ".join(str(file) for file in rt.runtime().site_config.sources)
        # No exception of ReFrame's: its loader would skip the file with a warning, and exit 0.
        raise SystemExit(
            f"error: this host matches no system's `hostnames` in {files}: give --system"
        )
    return list(system.partitions)


def of(partition: Any) -> dict[str, dict[str, Any]]:
    """The file systems of one partition, by name."""
    entries: dict[str, dict[str, Any]] = partition.extras.get("filesystems", {})
    return entries


def names() -> list[str]:
    """All names on the system that ReFrame runs for, in the order of the site file."""
    return list(dict.fromkeys(name for part in _partitions() for name in of(part)))


def partitions_with(name: str) -> list[str]:
    """Where a file system can be reached: full names, for `valid_systems`."""
    return [part.fullname for part in _partitions() if name in of(part)]


def shortage(entry: dict[str, Any], bytes_needed: int) -> str | None:
    """Why `bytes_needed` do not fit or the path cannot be used, or None.

    Looks at the machine that ReFrame runs on, so only for partitions that are this machine.
    """
    path = Path(entry["path"])
    if entry.get("create"):
        path.mkdir(parents=True, exist_ok=True)
    if not path.is_dir():
        return f"{path} is not a folder"
    if not os.access(path, os.W_OK | os.X_OK):
        return f"{path} is not writable"
    free = shutil.disk_usage(path).free
    if free < bytes_needed:
        return f"{path} has {free / 2**30:.1f} GiB free, {bytes_needed / 2**30:.1f} GiB are needed"
    return None
