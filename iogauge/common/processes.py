# SPDX-License-Identifier: BSD-3-Clause
"""Identities of processes: pids are reused, machines reboot, and other hosts have others."""

import hashlib
import os
import re
import select
import signal
import socket
import time
from collections.abc import Callable, Collection
from contextlib import ExitStack, suppress
from pathlib import Path

from .files import text_of

PROC = Path("/proc")
MACHINE = Path("/etc/machine-id")
NO_MACHINE = hashlib.sha256(b"").hexdigest()[:12]
BOOT = PROC / "sys" / "kernel" / "random" / "boot_id"
PATIENCE = 10.0  # seconds for a process to show its environment
LOOKS = 5  # looks at one with arguments but no environment
WORDS = 5  # host/machine, number, beginning, boot, space of numbers


def _stat(process: int | str) -> list[str]:
    """The fields after the name: state, parent, group, session, ...; empty without the process."""
    return text_of(PROC / str(process) / "stat").rpartition(")")[2].split()


def waiting_signals(process: int) -> set[int]:
    """Those that it has got but blocks; none if the system does not say."""
    text = text_of(PROC / str(process) / "status")
    found = re.search(r"^ShdPnd:\s*(\w+)", text, re.MULTILINE)
    mask = int(found[1], 16) if found else 0
    return {number for number in signal.valid_signals() if mask >> (number - 1) & 1}


def began(process: int) -> str | None:
    """Start time of a process in kernel ticks; None if there is none."""
    fields = _stat(process)
    return fields[19] if fields and fields[0] not in "ZX" else None


def space() -> str:
    """The pid namespace, since containers number processes from 1: `pid:[4026531836]`."""
    with suppress(OSError):
        return str((PROC / "self" / "ns" / "pid").readlink())
    return "-"


def identity(process: int) -> str:
    """The identity of a local process, as a job's script writes it (templates/job.sh.j2)."""
    return f"{_host()} {process} {began(process)} {_boot()} {space()}"


def is_gone(identity: str) -> bool | None:
    """Whether it is gone; None if unknown: another machine's process, or another format."""
    words = identity.split()
    if len(words) != WORDS or not words[1].isdecimal():
        return None
    host, number, beginning, boot, counted = words
    if host != _host() or counted != space() or not _boot():
        return None
    if boot != _boot() and host.endswith(NO_MACHINE):  # any of that name
        return None
    return boot != _boot() or began(int(number)) != beginning


def ancestors(process: int) -> list[int]:
    found: list[int] = []
    while process > 1 and (fields := _stat(process)):
        process = int(fields[1])
        found.append(process)
    return found


def of_session(leader: int) -> list[int]:
    """The process with this pid and all of the session that it leads."""
    found = [leader] if began(leader) else []
    for process in _all():
        with suppress(OSError):  # it has ended
            if process != leader and os.getsid(process) == leader and began(process):
                found.append(process)
    return found


def _all() -> list[int]:
    return [int(entry.name) for entry in os.scandir(PROC) if entry.name.isdecimal()]


def send(number: int, find: Callable[[], Collection[int]]) -> bool:
    """Signal what `find` names, but none that got one's number meanwhile. False: none there."""
    opened = {}
    for process in find():
        with suppress(AttributeError, OSError):  # before Linux 5.3
            opened[process] = os.pidfd_open(process)
    found = find()  # what has the number now was opened, or is not found
    for process in found:
        with suppress(OSError):
            if process in opened:
                signal.pidfd_send_signal(opened[process], number)
            else:
                os.kill(process, number)
    for handle in opened.values():
        os.close(handle)
    return bool(found)


def wait_for_any(processes: list[int], seconds: float | None) -> None:
    """Wait at most so long; return at once if the end cannot be awaited (Linux before 5.3)."""
    ends = select.poll()
    with ExitStack() as opened, suppress(AttributeError, OSError):
        for process in processes:
            end = os.pidfd_open(process)
            opened.callback(os.close, end)
            ends.register(end, select.POLLIN)
        if processes:
            ends.poll(None if seconds is None else 1000 * seconds)


def with_variable(name: str, value: str) -> list[int]:
    """Other processes with the variable in their environment, as far as this user sees."""
    word = f"{name}={value}".encode()
    found = []
    for process in _all():
        with suppress(OSError):  # it has ended, or is another user's
            if process != os.getpid() and word in _environment(process).split(b"\0"):
                found.append(process)
    return found


def _environment(process: int) -> bytes:
    """A process's environment. During exec it is empty for a moment, as are its arguments."""
    entry = PROC / str(process)
    end = time.monotonic() + PATIENCE
    looks = 0
    while not (found := (entry / "environ").read_bytes()) and looks < LOOKS:
        (entry / "exe").readlink()  # without any: a zombie or a kernel thread
        if (entry / "cmdline").read_bytes() or time.monotonic() > end:
            looks += 1
        else:
            time.sleep(0.001)
    return found


def _host() -> str:
    """The host's name, with a hash of the machine's identity, which systemd wants kept secret:
    names repeat."""
    found = re.findall(r"^[0-9a-f]{32}$", text_of(MACHINE), re.MULTILINE)
    lines = "".join(f"{one}\n" for one in found).encode()
    return f"{socket.gethostname()}/{hashlib.sha256(lines).hexdigest()[:12]}"


def _boot() -> str:
    return text_of(BOOT).strip()
