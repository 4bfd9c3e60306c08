# SPDX-License-Identifier: BSD-3-Clause
"""A control group with little memory, so that a page cache fills within seconds."""

import os
import shlex
from dataclasses import dataclass
from pathlib import Path

from iogauge.common.files import text_of


@dataclass(frozen=True)
class Groups:
    """Where groups can be made: `folder`, and the file in a group that takes the limit in bytes."""

    folder: Path
    limit: str


def find_groups(mounts: str | None = None) -> Groups | str:
    """Or the reason why there are none. `mounts`: the text of /proc/mounts."""
    if mounts is None:
        try:
            mounts = Path("/proc/mounts").read_text()
        except OSError as error:
            return f"/proc/mounts: {error.strerror}"
    rows = [line.split()[:4] for line in mounts.splitlines()]
    for _, mount, kind, options in rows:
        if kind == "cgroup" and "memory" in options.split(","):
            return _writable(Groups(Path(mount), "memory.limit_in_bytes"))
    for mount in (mount for _, mount, kind, _ in rows if kind == "cgroup2"):
        controllers = text_of(Path(mount) / "cgroup.subtree_control").split()
        if "memory" in controllers:
            return _writable(Groups(Path(mount), "memory.max"))
    return "no mounted cgroup delegates the memory controller"


def _writable(groups: Groups) -> Groups | str:
    procs = groups.folder / "cgroup.procs"
    if os.access(groups.folder, os.W_OK | os.X_OK) and os.access(procs, os.W_OK):
        return groups
    return f"control groups in {groups.folder} cannot be made by this user"


def enter(groups: Groups, limit: int) -> list[str]:
    """Shell lines: the script joins a new group of `limit` bytes, and leaves it however it ends."""
    values = {"parent": groups.folder, "limit_file": groups.limit, "limit": limit}
    given = [f"{name}={shlex.quote(str(value))}" for name, value in values.items()]
    return [*given, *Path(__file__).with_suffix(".sh").read_text().splitlines()[4:]]
