# SPDX-License-Identifier: BSD-3-Clause
"""Finds and removes files of killed jobs in a file system, when a session begins and ends there:
folders of this user with a marker (host and machine, process, start time, boot, PID namespace,
batch job or `-`) whose process is gone. No link is followed, and no other file system is
entered."""

import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from iogauge.common import processes

MARKER = ".iogauge-run"
# Of job scripts: HOST.PROCESS.TIME; of own_folder: 8 digits.
FOLDER = re.compile(r"iogauge\.([A-Za-z0-9]{8}|[\w.-]+\.\d+\.\d{9,})", re.ASCII)
MIB = 2**20
DEPTH = 64  # of folders; no pattern creates more than two
OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@contextmanager
def own_folder(place: Path) -> Iterator[Path]:
    """A folder of this process, for one run, which is removed after it or by a later `remove`."""
    folder = place / f"iogauge.{secrets.token_hex(4)}"
    folder.mkdir(mode=0o700)
    (folder / MARKER).write_text(f"{processes.identity(os.getpid())} -\n")
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def remove(place: Path) -> list[str]:
    """Remove what dead jobs left; a line for each, and for each whose owner is unknown here."""
    said = []
    try:
        root = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return []
    try:
        with os.scandir(root) as entries:
            names = sorted(entry.name for entry in entries if FOLDER.fullmatch(entry.name))
        for name in names:
            said += _look(root, place, name)
    except OSError:
        pass  # not readable
    finally:
        os.close(root)
    return said


def _look(root: int, place: Path, name: str) -> list[str]:
    try:
        folder = os.open(name, OPEN | os.O_DIRECTORY, dir_fd=root)
    except OSError:
        return []  # a link, a file, another user's, or gone
    try:
        about = os.fstat(folder)
        owner = _owner(folder) if about.st_uid == os.getuid() else ""
        words = owner.split()
        gone = processes.is_gone(" ".join(words[: processes.WORDS]))
        if not words or gone is False:
            return []
        if gone is None:
            job = f", job {words[-1]}," if words[-1] != "-" else ""
            whose = f"process {words[1]}{job} of {words[0].partition('/')[0]}"
            return [f"{place / name}: of {whose}, which may be alive: remove it if that is over"]
        size = _empty(folder, about.st_dev, DEPTH)
        os.unlink(MARKER, dir_fd=folder)
        os.rmdir(name, dir_fd=root)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        return [f"{place / name}: left by a killed job, and cannot be removed: {why}"]
    finally:
        os.close(folder)
    return [f"removed {place / name}: {size / MIB:.1f} MiB that a killed job left there"]


def _owner(folder: int) -> str:
    """The marker's words; empty if no script of ours wrote one."""
    try:
        marker = os.open(MARKER, OPEN, dir_fd=folder)
    except OSError:
        return ""
    try:
        if not stat.S_ISREG(os.fstat(marker).st_mode):
            return ""
        text = os.read(marker, 1000).decode("ascii")
    except (OSError, ValueError):
        return ""
    finally:
        os.close(marker)
    words = text.split()
    right = len(words) == processes.WORDS + 1 and words[1].isdecimal()
    return " ".join(words) if right and all(word.isprintable() for word in words) else ""


def _empty(folder: int, device: int, depth: int) -> int:
    """Remove everything but the marker, which goes last: an interrupted removal continues next
    time. Returns the bytes. Raises OSError, and ValueError if the folder is not from a job of
    ours."""
    if not depth:
        raise ValueError("folders nested too deeply")
    size = 0
    with os.scandir(folder) as entries:
        for entry in list(entries):
            about = entry.stat(follow_symlinks=False)
            if stat.S_ISDIR(about.st_mode):
                inner = os.open(entry.name, OPEN | os.O_DIRECTORY, dir_fd=folder)
                try:
                    if os.fstat(inner).st_dev != device:
                        raise ValueError(f"{entry.name} is another file system")
                    size += _empty(inner, device, depth - 1)
                finally:
                    os.close(inner)
                os.rmdir(entry.name, dir_fd=folder)
            elif depth < DEPTH or entry.name != MARKER:
                size += about.st_size
                os.unlink(entry.name, dir_fd=folder)
    return size
