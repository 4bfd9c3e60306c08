# SPDX-License-Identifier: BSD-3-Clause
"""Run Python programs without the cost of their imports. A server imports modules once and forks
for each program. Each set of variables that Python reads at start-up has a server. A program with a
variable that our modules read on import is started afresh."""

from __future__ import annotations

import atexit
import functools
import gc
import importlib
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, NoReturn

ROOT = Path(__file__).resolve().parents[1]
AT_START = ("PYTHON", "LD_", "LANG", "LC_")
AT_IMPORT = {"IOGAUGE_ENVIRONMENTS", "IOGAUGE_REFERENCES"}
COUNTED = "IOGAUGE_COVERAGE" in os.environ  # coverage.py does not see forks
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}  # others would wait for work, and use a core for that
LONGEST = 1 << 18  # bytes of a request, with all its environment

Settings = tuple[tuple[str, str], ...]


def run_python(
    program: Sequence[str],
    environment: Mapping[str, str],
    imports: Sequence[str],
    stdout: int = subprocess.PIPE,
    seconds: int = 0,
) -> subprocess.CompletedProcess[str]:
    """`python PROGRAM` in the checkout. PROGRAM begins with `-m MODULE` or a script's path;
    `imports`: slow modules that it will import; `seconds`: after which it is killed, 0: never.
    Raises subprocess.TimeoutExpired."""
    if COUNTED or AT_IMPORT & environment.keys():
        return run_afresh(program, environment, stdout, seconds)
    settings = tuple(sorted(x for x in environment.items() if x[0].startswith(AT_START)))
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        files = (out.fileno() if stdout == subprocess.PIPE else stdout, err.fileno())
        request = {"words": [*program], "environment": {**environment}, "seconds": seconds}
        status = _ask(server(tuple(imports), settings)[0], json.dumps(request).encode(), files)
        if seconds and status == -signal.SIGALRM:
            raise subprocess.TimeoutExpired(program, seconds, _text(out), _text(err))
        return subprocess.CompletedProcess(program, status, _text(out), _text(err))


def run_afresh(
    program: Sequence[str],
    environment: Mapping[str, str],
    stdout: int = subprocess.PIPE,
    seconds: int = 0,
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *program], cwd=ROOT, env=dict(environment), text=True, stdout=stdout,
        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False, timeout=seconds or None,
    )  # fmt: skip


def _ask(connection: socket.socket, request: bytes, files: Sequence[int]) -> int:
    """The program's exit status."""
    socket.send_fds(connection, [request], files)
    return int(connection.recv(16))


def _text(file: IO[str]) -> str:
    file.seek(0)
    return file.read()


@functools.cache
def server(
    imports: tuple[str, ...], settings: Settings
) -> tuple[socket.socket, subprocess.Popen[bytes]]:
    """The socket for its requests, and the server. It ends when the socket is closed."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with its:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.forked_python", str(its.fileno()), *imports], cwd=ROOT,
            env={"PATH": os.environ["PATH"], **ONE_THREAD, **dict(settings)},
            pass_fds=[its.fileno()],
            stdout=subprocess.DEVNULL,  # which is a program's, later, and buffered as a file's
        )  # fmt: skip
    return ours, process


def serve(connection: socket.socket, imports: Sequence[str]) -> None:
    for name in imports:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # or each program would look for garbage in all of it, and copy its pages for that
    while True:
        request, files, _, _ = socket.recv_fds(connection, LONGEST, 2)
        if not request:
            return
        if not (process := os.fork()):
            connection.close()
            be(**json.loads(request), files=files)
        for file in files:
            os.close(file)
        connection.send(str(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])).encode())


def be(
    words: list[str], environment: dict[str, str], seconds: int, files: Sequence[int]
) -> NoReturn:
    """Become the program, and end as it does."""
    for number, file in enumerate((os.open(os.devnull, os.O_RDONLY), *files)):
        os.dup2(file, number)
        os.close(file)
    signal.alarm(seconds)
    os.environ.clear()
    os.environ.update(environment)
    status = 0
    try:
        if words[0] == "-m":
            sys.argv = words[1:]
            runpy.run_module(words[1], run_name="__main__", alter_sys=True)
        else:
            sys.argv, sys.path[0] = words, str(Path(words[0]).parent)
            runpy.run_path(words[0], run_name="__main__")
    except SystemExit as ended:
        if not isinstance(ended.code, int | None):
            raise  # Python prints it
        status = ended.code or 0
    end(status)


def end(status: int) -> NoReturn:
    """As Python does, but without freeing what the server imported, object by object."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    with suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status & 0xFF)
    sys.exit(status)  # Python says what is wrong


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])), sys.argv[2:])
