# SPDX-License-Identifier: BSD-3-Clause
"""Mounts file systems, runs the tests on each with verification, and unmounts them.

    python -m tests.mounted_fs [--local] [--guest] [--scale smoke|laptop] [--tests quick|few|all]
                               [--claim ID] [NAME ...] [-- REFRAME OPTIONS]

Without names: all of table.py; `--local`: those without servers. File systems that cannot be
mounted are listed with the reason. Those that need another kernel are mounted in a guest
(tests/guest), which runs this command; `--guest`: all of them, for one session. Exit status 1 if a
case fails on a mounted file system, or if nothing could be mounted.

Everything happens in new namespaces, which the kernel ends with this program.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path

from iogauge.common import lock
from iogauge.common.paths import ROOT
from tests.mounted_fs import in_guest
from tests.mounted_fs import processes as fs_processes
from tests.mounted_fs import report as fs_report
from tests.mounted_fs.kinds import IMAGE_BYTES
from tests.mounted_fs.session import SIGNALS, TESTS, Options
from tests.mounted_fs.table import KINDS

SPACES = ("--mount", "--pid", "--fork", "--kill-child", "--mount-proc")

# Seconds for a session to unmount, and for the kernel to clean up after it.
PATIENCE = 60.0
CLEAN_UP = 10.0

# Without rights of root, a user may be root of a user namespace, where at least tmpfs
# can be mounted.
UNSHARE = ((), ("--user", "--map-root-user"))


def command(options: tuple[str, ...]) -> list[str]:
    """The prefix that runs a command in namespaces; it dies with this process."""
    return ["setpriv", "--pdeathsig", "KILL", "--", "unshare", *options, *SPACES]


def namespaces() -> list[str]:
    """The first kind of namespaces that works here. Raises CannotMount if none does."""
    reasons = []
    for options in UNSHARE:
        try:
            fs_processes.run(*command(options), "true")
        except fs_processes.CannotMount as reason:
            reasons.append(" ".join(["unshare", *options, f"({reason})"]))
        else:
            return command(options)
    raise fs_processes.CannotMount(f"this machine gives no namespaces: {'; '.join(reasons)}")


def parse(words: list[str]) -> Options:
    known = [kind.name for kind in KINDS]
    parser = argparse.ArgumentParser(
        prog="tests.mounted_fs", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(known))
    parser.add_argument("--local", action="store_true", help="those without servers")
    parser.add_argument("--scale", choices=list(IMAGE_BYTES), default="smoke")
    parser.add_argument("--tests", choices=list(TESTS), help="all; in a guest few")
    parser.add_argument("--guest", action="store_true", help="in a guest, all of them")
    parser.add_argument("--claim", default="", metavar="ID", help="judge it, in place of the tests")
    cut = words.index("--") if "--" in words else len(words)
    asked, more = parser.parse_args(words[:cut]), words[cut + 1 :]
    unknown = [name for name in asked.names if name not in known]
    if unknown:
        parser.error(f"unknown file system {unknown[0]!r}; known are {', '.join(known)}")
    local = [kind.name for kind in KINDS if kind.local]
    names = list(dict.fromkeys(asked.names)) or (local if asked.local else known)
    return Options(names, asked.scale, asked.tests or "", asked.guest, asked.claim, more)


@contextmanager
def work_folder(output: Path) -> Iterator[Path]:
    """An empty folder below `output`, which is emptied first, and this one removed afterwards."""
    output.mkdir(parents=True, exist_ok=True)
    (output / fs_processes.MARK).touch()
    with lock.measuring("test-fs", [output / "lock"], always=True):
        for old in output.iterdir():
            if old.is_dir():
                remove(old)  # an earlier session's results, too
        work = Path(tempfile.mkdtemp(prefix="work-", dir=output))
        try:
            yield work
        finally:
            remove(work)


def left_behind(folder: Path) -> list[str]:
    """Mounts below a folder, and loop devices of its files."""
    inside = f"{folder}/"
    mounts = Path("/proc/self/mounts").read_text().splitlines()
    left = [f"mount {line.split()[1]}" for line in mounts if inside in line]
    for file in Path("/sys/block").glob("loop*/loop/backing_file"):
        try:
            image = file.read_text().strip()
        except OSError:
            continue  # detached meanwhile
        if image.startswith(inside):
            left.append(f"loop device {file.parts[3]} of {image}")
    return left


def remove(folder: Path) -> None:
    """Remove it once nothing is mounted there. Raises SystemExit if something remains."""
    end = time.monotonic() + CLEAN_UP
    while left := left_behind(folder):
        if time.monotonic() > end:
            raise SystemExit(f"tests.mounted_fs: left behind: {', '.join(left)}")
        time.sleep(0.1)
    shutil.rmtree(folder)


def run_session(options: Options, front: list[str]) -> int:
    """Run a session in its namespaces. Signals are passed on; if ignored, it is killed."""
    words = [sys.executable, "-m", "tests.mounted_fs.session", json.dumps(asdict(options))]
    session = subprocess.Popen([*front, *words], cwd=ROOT, start_new_session=True)
    caught: list[int] = []

    def hand_on(number: int, _: object) -> None:
        # To the group: unshare itself ignores it, and its child is the session.
        if not caught:
            os.killpg(session.pid, signal.SIGTERM)
            signal.alarm(int(PATIENCE))
        caught.append(number)

    for number in SIGNALS:
        signal.signal(number, hand_on)
    signal.signal(signal.SIGALRM, lambda *_: session.kill())
    status = session.wait()
    signal.alarm(0)
    if caught:
        return 128 + caught[0]
    return status if status >= 0 else 1


def run_here(asked: Options, output: Path) -> int:
    try:
        fs_processes.check_own(output)
        front = namespaces()
    except fs_processes.CannotMount as reason:
        kinds = [kind for kind in KINDS if kind.name in asked.names]
        print(fs_report.table([fs_report.Row(k.name, k.type, str(reason)) for k in kinds]))
        return 1
    start = time.monotonic()
    with work_folder(output) as work:
        status = run_session(replace(asked, work=str(work), output=str(output)), front)
    print(f"{time.monotonic() - start:.0f} s; nothing is left mounted")
    return status


def main(words: list[str]) -> int:
    asked = parse(words)
    output = Path(os.environ.get("IOGAUGE_OUTPUT") or ROOT / "output").absolute() / "test-fs"
    away = [
        kind
        for kind in KINDS
        if kind.name in asked.names and (kind.guest or asked.guest)
        if in_guest.VARIABLE not in os.environ
    ]
    here = [name for name in asked.names if name not in {kind.name for kind in away}]
    status = run_here(replace(asked, names=here), output) if here else 0
    if away and status < 128:
        there = in_guest.run(away, asked.words, output.with_name("guest"))
        # As on this machine: a failed mount is no error if another succeeded.
        status = status or (there if there is not None else 0 if here else 1)
    return status


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
