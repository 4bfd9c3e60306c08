# SPDX-License-Identifier: BSD-3-Clause
"""A process that reads one log after another, each in a fork: Python and its modules load once per
session, and a log that crashes or hangs Darshan's library takes only its fork down.

    python -m iogauge.analysis.darshan.reader SOCKET      the number of the inherited socket

Each packet is the arguments of `child.main`, as JSON, with two files for its output and errors.
"""

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

from iogauge.common import json_file, paths

PROGRAM = f"{__package__}.reader"
ROOT = paths.PACKAGE.parent  # where Python finds it
FAILED = 70  # of a fork that could not even report an error
MOST = 2**16  # bytes of a request


class Reader:
    """Such a process, started on first use, and again after it ended. `owner`: whose it is."""

    def __init__(self, python: str, owner: int) -> None:
        self.python, self.owner = python, owner
        self.process: subprocess.Popen[bytes] | None = None
        self.socket: socket.socket | None = None
        self.lock = threading.Lock()
        atexit.register(self.end)

    def read(self, asked: Mapping[str, Any], seconds: float) -> subprocess.CompletedProcess[str]:
        """What `child.main` does with these arguments. Raises subprocess.TimeoutExpired."""
        with (
            self.lock,
            os.fdopen(os.memfd_create("out"), errors="replace") as out,
            os.fdopen(os.memfd_create("err"), errors="replace") as err,
        ):
            status = self._ask(json.dumps(asked).encode(), [out.fileno(), err.fileno()], seconds)
            for file in (out, err):  # it has written through the same handle
                file.seek(0)
            return subprocess.CompletedProcess([], status, out.read(), err.read())

    def _ask(self, request: bytes, files: Sequence[int], seconds: float) -> int:
        process, own = self._running()
        answer = b""
        with suppress(BrokenPipeError, ConnectionResetError):  # ended: its status says how
            socket.send_fds(own, [request], files)
            if not select.select([own], [], [], seconds)[0]:
                self.end()
                raise subprocess.TimeoutExpired(PROGRAM, seconds)
            answer = own.recv(64)
        if answer:
            return int(answer)
        status = process.wait()
        self.end()
        return status

    def _running(self) -> tuple[subprocess.Popen[bytes], socket.socket]:
        if self.process is None or self.socket is None or self.process.poll() is not None:
            self.end()
            self.socket, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with its:
                self.process = subprocess.Popen(
                    [self.python, "-m", PROGRAM, str(its.fileno())],
                    pass_fds=[its.fileno()],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    cwd=ROOT,
                    start_new_session=True,
                    env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # numpy fits in child's limit
                )
        return self.process, self.socket

    def end(self) -> None:
        """Including its forks."""
        if self.owner != os.getpid():
            return
        if self.process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        if self.socket is not None:
            self.socket.close()
        self.process = self.socket = None


_reader = cache(Reader)


def reader() -> Reader:
    return _reader(sys.executable, os.getpid())


def _fork(asked: dict[str, Any], files: Sequence[int]) -> int:
    """The exit status of one reading, or the negative number of the signal that ended it."""
    from . import child

    pid = os.fork()
    if pid == 0:
        status = FAILED
        try:
            for number, file in enumerate(files, 1):
                os.dup2(file, number)
            status = child.main(**asked)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def main() -> None:
    """Ends when the requesting process is gone."""
    with socket.socket(fileno=int(sys.argv[1])) as asked:
        while True:
            request, files, _, _ = socket.recv_fds(asked, MOST, 2)
            if not request:
                return
            status = _fork(json_file.parse(request.decode()), files)
            for file in files:
                os.close(file)
            asked.send(str(status).encode())


if __name__ == "__main__":
    main()
