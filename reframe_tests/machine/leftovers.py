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
from contextlib import contextmanager, suppress
from pathlib import Path

from iogauge.common import processes
from iogauge.common.files import write_whole

MARKER = ".iogauge-run"
# Folders of job scripts: HOST.PROCESS.TIME; of own_folder: 8 digits.
FOLDER = re.compile(r"iogauge\.([A-Za-z0-9]{8}|[\w.-]+\.\d+\.\d{9,})", re.ASCII)
MIB = 2**20
DEPTH = 64  # of folders; no pattern creates more than two
OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK


@contextmanager
def own_folder(place: Path) -> Iterator[Path]:
    """A folder of this process for one run, removed after it or by a later `remove`."""
    folder = place / f"iogauge.{secrets.token_hex(4)}"
    folder.mkdir(mode=0o700)
    try:
        write_whole(folder / MARKER, f"{processes.identity(os.getpid())} -\n")
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _opened(name: str | Path, how: int, within: int | None = None) -> Iterator[int]:
    handle = os.open(name, how | os.O_CLOEXEC, dir_fd=within)
    try:
        yield handle
    finally:
        os.close(handle)


def remove(place: Path) -> list[str]:
    """Remove what dead jobs left; a line for each, and for each of an unknown owner."""
    notes = []
    with (
        suppress(OSError),
        _opened(place, os.O_RDONLY | os.O_DIRECTORY) as root,
        os.scandir(root) as entries,
    ):
        for name in sorted(entry.name for entry in entries if FOLDER.fullmatch(entry.name)):
            with suppress(OSError), _opened(name, OPEN | os.O_DIRECTORY, root) as folder:
                notes += _look(folder, root, place / name)  # else a link, or another user's
    return notes


def _look(folder: int, root: int, path: Path) -> list[str]:
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
            return [f"{path}: {whose} may still use it; if that has ended, remove it"]
        size = _empty(folder, about.st_dev, DEPTH)
        os.unlink(MARKER, dir_fd=folder)
        os.rmdir(path.name, dir_fd=root)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        return [f"{path}: left by a killed job, and cannot be removed: {why}"]
    return [f"removed {path}: {size / MIB:.1f} MiB that a killed job left there"]


def _owner(folder: int) -> str:
    """The marker's words; empty if no script of ours wrote one."""
    words: list[str] = []
    with suppress(OSError, ValueError), _opened(MARKER, OPEN, folder) as marker:
        if stat.S_ISREG(os.fstat(marker).st_mode):
            words = os.read(marker, 1000).decode("ascii").split()
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
                with _opened(entry.name, OPEN | os.O_DIRECTORY, folder) as inner:
                    if os.fstat(inner).st_dev != device:
                        raise ValueError(f"{entry.name} is another file system")
                    size += _empty(inner, device, depth - 1)
                os.rmdir(entry.name, dir_fd=folder)
            elif depth < DEPTH or entry.name != MARKER:
                size += about.st_size
                os.unlink(entry.name, dir_fd=folder)
    return size
