# SPDX-License-Identifier: BSD-3-Clause
"""File systems as an axis: the entries that site files put in a partition's `extras`."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import reframe.core.runtime as rt

from iogauge.common.text import unknown


def _partitions() -> list[Any]:
    """For the system that ReFrame runs on. If no site file fits the host, ReFrame silently uses its
    built-in system `generic`, on which nothing could run: that is an error here."""
    system = rt.runtime().system
    if system.name == "generic":
        files = ", ".join(str(file) for file in rt.runtime().site_config.sources[1:])
        # Not one of ReFrame's exceptions: its loader would only warn, and skip the file.
        raise SystemExit(
            f"error: this host matches no system's `hostnames` in {files}: give --system"
        )
    return list(system.partitions)


def of(partition: Any) -> dict[str, dict[str, Any]]:
    entries: dict[str, dict[str, Any]] = partition.extras.get("filesystems", {})
    return entries


# Comma-separated names: the tests run only on these. An unknown name is an error, unlike with `-t`,
# where ReFrame finds no test and exits with 0.
CHOICE = "IOGAUGE_FS"


def names() -> list[str]:
    """The chosen ones, or all of the system, in the site file's order."""
    known = list(dict.fromkeys(name for part in _partitions() for name in of(part)))
    chosen = [word for word in os.environ.get(CHOICE, "").split(",") if word]
    for name in chosen:
        if name not in known:
            files = ", ".join(str(file) for file in rt.runtime().site_config.sources[1:])
            raise SystemExit(
                f"error: {CHOICE}: file system {unknown(name, known)} (`filesystems` in {files})"
            )
    return [name for name in known if name in chosen] if chosen else known


def partitions_with(name: str) -> list[str]:
    """Where a file system can be reached: full names, for `valid_systems`."""
    return [part.fullname for part in _partitions() if name in of(part)]


def hints_for(entry: dict[str, Any], pattern: str, needs: Sequence[str]) -> dict[str, str]:
    """The site's hints for runs of a pattern by a call with these needs (`Call.needs`): `hints`,
    then each matching rule's of `hints_where` (docs/reference/site-file.md)."""
    found: dict[str, str] = dict(entry.get("hints", {}))
    for rule in entry.get("hints_where", []):
        fits = pattern in rule.get("patterns", [pattern])
        fits = fits and set(rule.get("with", [])) <= set(needs)
        if fits and not set(rule.get("without", [])) & set(needs):
            found |= rule["hints"]
    return found


def published_peak(entry: dict[str, Any]) -> str:
    peak = entry.get("published_peak")
    return f"{peak['value']} MB/s ({peak['source']})" if peak else ""


def published_shares(entry: dict[str, Any], summary: dict[str, Any]) -> dict[str, float]:
    """A run's bandwidths (MiB/s, from a document's `summary`) as fractions of the published peak
    (MB/s), if there is one. It is the whole file system's, not what this job could have."""
    peak = entry.get("published_peak")
    return {
        f"{direction}_fraction_published": summary[f"{direction}_bw"] * 2**20 / 1e6 / peak["value"]
        for direction in ("write", "read")
        if peak and summary[f"{direction}_bw"]
    }


def shortage(entry: dict[str, Any], bytes_needed: int) -> str | None:
    """Why `bytes_needed` do not fit or the path is unusable, or None: of this machine's."""
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
