# SPDX-License-Identifier: BSD-3-Clause
"""One measuring session at a time, on a machine and in an output folder. A second one waits, says
for whom, and ends after a limit (docs/reference/output.md). The locks end with the process, and
with those that it gave the open files to."""

import errno
import fcntl
import os
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from iogauge.common.text import Notice, notice

ESCAPE, MACHINE = "IOGAUGE_NO_LOCK", "machine"
LIMIT, SECONDS = "IOGAUGE_LOCK_SECONDS", "86400"
PAUSE = 0.2  # seconds between two tries
NAME = "iogauge-session.lock"


def both(output: Path) -> list[Path]:
    """The locks of an output folder and of this machine, in the order of taking."""
    own = output / NAME
    return [own] if os.environ.get(ESCAPE) == MACHINE else [own, machine_wide()]


def machine_wide() -> Path:
    """A folder that all users can write, and that a restart empties."""
    common = Path("/run/lock")
    usable = common.is_dir() and os.access(common, os.W_OK | os.X_OK)
    return (common if usable else Path(tempfile.gettempdir())) / NAME


@contextmanager
def measuring(
    what: str, paths: list[Path], notice: Notice = notice, *, always: bool = False
) -> Iterator[list[int]]:
    """Hold all of `paths`; waits for each. Gives the open files. `always`: nobody may do this at
    the same time. Raises TimeoutError."""
    anyway = "" if always else f"; {ESCAPE}=1 measures at the same time"
    handles: list[int] = []
    with ExitStack() as held:
        for path in paths if always or os.environ.get(ESCAPE, "") in ("", MACHINE) else ():
            handle = _open(path)
            if handle is not None:
                held.callback(os.close, handle)
                if wait(handle, path, notice, anyway):
                    note(handle, what)
                handles.append(handle)
        yield handles


def _open(path: Path) -> int | None:
    """None where no lock can be made: then nobody waits."""
    for flags in (os.O_RDWR | os.O_CREAT, os.O_RDWR, os.O_RDONLY):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        except OSError:
            continue  # in such folders another user's file is not opened to be made
        return handle
    return None


def wait(
    handle: int, path: Path, notice: Notice, anyway: str = "", how: int = fcntl.LOCK_EX
) -> bool:
    """Hold the lock of an open file; False on a file system without locks."""
    told, met, began = None, None, time.monotonic()
    limit = os.environ.get(LIMIT) or SECONDS
    if not limit.isdecimal():
        raise OSError(errno.EINVAL, f"{limit!r}: expected seconds, such as {SECONDS}", LIMIT)
    while True:
        try:
            fcntl.flock(handle, how | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            text = os.pread(handle, 300, 0).decode(errors="replace")
            holder = "".join(c for c in text if c.isprintable()) or "another process"
            if told != holder == met:  # not of what ends in a moment
                notice(f"waiting for {holder} ({path}), {limit} s at most ({LIMIT}){anyway}")
                told = holder
            met = holder
            if time.monotonic() - began > int(limit):
                why = f"waited {limit} s ({LIMIT}) for {holder}{anyway}"
                raise TimeoutError(errno.ETIMEDOUT, why, str(path)) from None
            time.sleep(PAUSE)
        except OSError:
            return False


def note(handle: int, what: str) -> None:
    """Who holds it, in the file."""
    if (held := os.pread(handle, 300, 0)) and b", process " not in held:
        return  # a user's file of this name
    since = time.strftime("%Y-%m-%d %H:%M:%S")
    text = f"{what}, process {os.getpid()} on {socket.gethostname()}, since {since}"
    with suppress(OSError):  # another user's file
        os.fchmod(handle, 0o666)
        os.ftruncate(handle, 0)
        os.pwrite(handle, text.encode(), 0)
