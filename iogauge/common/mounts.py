# SPDX-License-Identifier: BSD-3-Clause
"""The file system that holds a path, from /proc/mounts."""

from pathlib import Path

from .files import text_of

UNKNOWN = {"type": "unknown", "mount": "", "device": "", "options": ""}

# File systems in memory, with no disk behind the page cache.
IN_MEMORY = ("tmpfs", "ramfs")


def mount_of(path: Path, mounts: str | None = None) -> dict[str, str]:
    """`type`, `mount`, `device` and `options` of the file system that holds `path`, or its nearest
    parent that exists. `mounts`: the text of /proc/mounts. `UNKNOWN` if that is unreadable."""
    while not path.exists() and path != path.parent:
        path = path.parent
    place = path.resolve()
    above = {str(place), *map(str, place.parents)}
    best = UNKNOWN
    text = text_of(Path("/proc/mounts")) if mounts is None else mounts
    for line in text.splitlines():
        device, mount, kind, options = (plain(word) for word in line.split()[:4])
        # The deepest mount point wins; of two on one point, the later.
        if mount in above and len(mount) >= len(best["mount"]):
            best = {"type": kind, "mount": mount, "device": device, "options": options}
    return best


def plain(word: str) -> str:
    """/proc/mounts writes a blank as \\040."""
    return word if "\\" not in word else word.encode().decode("unicode_escape")
