# SPDX-License-Identifier: BSD-3-Clause
"""What killed jobs left in a file system: found and removed when the next session begins there.

A job's script makes a folder `iogauge.XXXXXXXX` and writes into it whose it is (MARKER: host,
process, when that began, boot of the machine). Only a folder of this user, with such a marker whose
process is gone, is removed; a symbolic link is never followed. Needs no ReFrame.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import stat
from pathlib import Path

MARKER = ".iogauge-run"
FOLDER = re.compile(r"iogauge\.[A-Za-z0-9]{8}")
BOOT = Path("/proc/sys/kernel/random/boot_id")
MIB = 2**20


def remove(place: Path) -> list[str]:
    """Remove what dead jobs left in a file system's folder; a line for each says so."""
    said = []
    for folder in _candidates(place):
        owner = _owner(folder)
        if owner is None or _is_alive(*owner):
            continue
        size = _size(folder)
        try:
            # Since Python 3.3 this follows no link, also not one that is put there meanwhile.
            shutil.rmtree(folder)
        except OSError as error:
            said.append(f"{folder}: left by a killed job, and cannot be removed: {error.strerror}")
            continue
        said.append(f"removed {folder}: {size / MIB:.1f} MiB that a killed job left there")
    return said


def _candidates(place: Path) -> list[Path]:
    """Real folders of this user with a job's kind of name."""
    try:
        entries = sorted(os.scandir(place), key=lambda entry: entry.name)
    except OSError:
        return []
    return [
        Path(entry.path)
        for entry in entries
        if FOLDER.fullmatch(entry.name)
        and entry.is_dir(follow_symlinks=False)
        and entry.stat(follow_symlinks=False).st_uid == os.getuid()
    ]


def _owner(folder: Path) -> tuple[str, int, str, str] | None:
    """Host, process, its beginning, and boot; None where no script of ours says so."""
    path = folder / MARKER
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return None
        words = path.read_text(encoding="ascii").split()
    except (OSError, ValueError):
        return None
    if len(words) != 4 or not words[1].isdecimal():
        return None
    return words[0], int(words[1]), words[2], words[3]


def _is_alive(host: str, process: int, began: str, boot: str) -> bool:
    """Or may be: of another machine's nothing is known."""
    if host != socket.gethostname():
        return True
    try:
        if boot != BOOT.read_text().strip():
            return False
        text = Path(f"/proc/{process}/stat").read_text()
    except FileNotFoundError:
        return False
    except OSError:
        return True
    # The name, in brackets, may hold anything; the 22nd field is the beginning.
    return text.rpartition(")")[2].split()[19] == began


def _size(folder: Path) -> int:
    total = 0
    for where, _, files in os.walk(folder):
        for name in files:
            total += (Path(where) / name).lstat().st_size
    return total
