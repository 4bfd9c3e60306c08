# SPDX-License-Identifier: BSD-3-Clause
"""Output files: written completely or not at all, and never in place of a device, pipe or link."""

import contextlib
import errno
import functools
import os
import stat
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


class CannotWrite(OSError):
    """The file is unchanged."""

    def __str__(self) -> str:
        return f"{self.filename}: cannot be written: {self.strerror or self.args[0]}"


def text_of(path: Path) -> str:
    """Empty where it cannot be read."""
    with contextlib.suppress(OSError):
        return path.read_text(errors="replace")
    return ""


@functools.cache
def pairs(text: str) -> dict[str, str]:
    """Read KEY=VALUE ... from `text` or the file it names: a variable holds 128 KiB at most."""
    words = (Path(text).read_text() if text.startswith(os.sep) else text).split()
    return {key: value for key, _, value in (word.partition("=") for word in words)}


def write_whole(path: Path, data: bytes | str, modified: float | None = None) -> None:
    """Write a file as `writing_whole` does; `modified`: the file's time, in seconds since 1970."""
    with writing_whole(path, modified) as out:
        out.write(data.encode() if isinstance(data, str) else data)


@contextmanager
def writing_whole(path: Path, modified: float | None = None) -> Iterator[BinaryIO]:
    """A stream for the new content of `path`, whose folders are made. A regular file gets it in
    one step when the block ends without an exception, and keeps its permissions; a symbolic link
    is followed; all else is written directly. Raises CannotWrite, also where the block raises
    OSError."""
    try:
        with _writing(path, modified) as out:
            yield out
    except OSError as error:
        raise CannotWrite(error.errno, error.strerror or str(error), str(path)) from error


@contextmanager
def _writing(path: Path, modified: float | None) -> Iterator[BinaryIO]:
    if (direct := _not_regular(path)) is not None:
        with os.fdopen(direct, "wb") as out:
            yield out
        return
    target = Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    # Hidden and with another suffix, so that no listing of the folder finds it.
    part = target.with_name(f".{target.name}.{os.getpid()}.{threading.get_ident()}.part")
    try:
        with part.open("wb") as out:
            yield out
        if target.exists():
            part.chmod(stat.S_IMODE(target.stat().st_mode))
        if modified is not None:
            os.utime(part, (modified, modified))
        part.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink()
        raise


def append(path: Path, line: str) -> None:
    """The file has the whole line, or is as it was. Raises CannotWrite."""
    try:
        with path.open("ab", buffering=0) as out:
            before, data = out.tell(), f"{line}\n".encode()
            if out.write(data) < len(data):
                out.truncate(before)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(out.fileno())
    except OSError as error:
        raise CannotWrite(error.errno, error.strerror, str(path)) from error


def permit(path: Path, mode: int = 0o666) -> None:
    """The permissions of a new file; 0o777 for a program."""
    umask = os.umask(0o077)
    os.umask(umask)
    path.chmod(mode & ~umask)


def _not_regular(path: Path) -> int | None:
    """A descriptor for writing if `path` exists and is not a regular file. May raise OSError."""
    try:
        found = path.stat()
    except FileNotFoundError:  # also a link to a file that does not exist yet
        return None
    for stream in (sys.stdout, sys.stderr):
        # /dev/stdout redirected to a file: a new file would not be the shell's.
        with contextlib.suppress(OSError, ValueError, AttributeError):
            if os.path.samestat(found, os.fstat(stream.fileno())):
                stream.flush()
                return os.dup(stream.fileno())
    if stat.S_ISBLK(found.st_mode):
        raise OSError(errno.EPERM, "it is a disk, or a part of one", str(path))
    return None if stat.S_ISREG(found.st_mode) else os.open(path, os.O_WRONLY)
