# SPDX-License-Identifier: BSD-3-Clause
"""Kills at random moments: is anything lost that had finished, and is anything left that runs?

    python -m tests.soak_kills [--kills 50] [--ingest-kills 200] [--seed 1]

`make run` of a few small cases is killed, each time another part of it (VICTIMS) at another moment.
Then the next start of a session must find every case that had left a result document in the store,
no process may be left, and no folder in a file system. `ingest` is killed likewise: what was stored
must stay readable, and the next ingest must store the rest. Needs kernels that are built.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from iogauge.analysis.errors import AnalysisError, NothingFoundError
from iogauge.analysis.session.document import read_document
from iogauge.analysis.store import database as store
from iogauge.common.lock import ESCAPE, MACHINE
from iogauge.common.paths import ROOT
from iogauge.common.processes import with_variable
from iogauge.common.run_folder import DOCUMENT
from iogauge.measure.session import JOBS_PATIENCE, NOTHING_SELECTED, PATIENCE
from tests import markdown

OPTIONS = (
    "-C site_configs/local.py --system local -R --exec-policy=serial -p mpich "
    "-c reframe_tests/benchmarks/s3d.py -S repeats=1"
)
CASES = "S3d%.*fs=ram.*call=(posix|master|null)%.*smoke"
# The rule of the Makefile, without set-up, and for smaller cases than the rule's.
MAKEFILE = (
    "SHELL := bash\n.SHELLFLAGS := -eu -o pipefail -c\n"
    "run:\n\t@{python} -m iogauge run --rounds 0 --parent $$PPID -- {options} -n '{cases}'\n"
)
TOKEN = "IOGAUGE_SOAK"  # in the environment of all that this program starts
SESSIONS = 12  # that an ingest which is to be killed has before it
FRESH = 10  # kills of ingest after which the store begins anew

Processes = dict[int, str]  # number to command line


def ours(token: str) -> Processes:
    """What runs with the token in its environment, also what has left its parent and session."""
    found = {}
    for number in with_variable(TOKEN, token):
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{number}/cmdline").read_bytes().replace(b"\0", b" ")
            found[number] = words.decode(errors="replace").strip()
    return found


def _all(running: Processes) -> list[int]:
    return list(running)


def _of(*parts: str) -> Callable[[Processes], list[int]]:
    def choose(running: Processes) -> list[int]:
        return [number for number, words in running.items() if any(p in words for p in parts)]

    return choose


MAKE, SESSION, REFRAME, JOB = "make -f", "iogauge run", "/reframe ", "rfm_job.sh"
# How each kill is done: the signal, and whom it meets.
VICTIMS: dict[str, tuple[int, Callable[[Processes], list[int]]]] = {
    "make, TERM": (signal.SIGTERM, _of(MAKE)),
    "make, KILL": (signal.SIGKILL, _of(MAKE)),
    "run_session, KILL": (signal.SIGKILL, _of(SESSION)),
    "ReFrame, KILL": (signal.SIGKILL, _of(REFRAME)),
    "all but guards and jobs, KILL": (signal.SIGKILL, _of(MAKE, SESSION, REFRAME)),
    "the job's script, KILL": (signal.SIGKILL, _of(JOB)),
    "the whole tree, KILL": (signal.SIGKILL, _all),
}


@dataclass
class Tally:
    """One line of the table."""

    kills: int = 0
    too_late: int = 0  # all had ended, or what was to be killed had
    finished: int = 0
    stored: int = 0
    lost: list[str] = field(default_factory=list)
    processes: list[str] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)

    def row(self, name: str) -> list[object]:
        counts = (self.kills, self.too_late, self.finished, self.stored)
        return [name, *counts, *map(len, (self.lost, self.processes, self.folders))]

    def add(self, other: Tally) -> None:
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)

    def is_good(self) -> bool:
        return not (self.lost or self.processes or self.folders)


HEAD = ("killed", "kills", "too late", "finished", "stored", "lost", "processes", "folders")


class Soak:
    """One folder for all that is measured, and one in memory for the file system."""

    def __init__(self, work: Path, memory: Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.output, self.memory = work / "output", memory
        self.token = str(uuid.uuid4())
        self.lost: set[str] = set()
        kept = {name: text for name, text in os.environ.items() if not name.startswith("RFM_")}
        self.environment = {
            **kept, TOKEN: self.token, "IOGAUGE_OUTPUT": str(self.output), ESCAPE: MACHINE,
            "IOGAUGE_RAM": str(memory), "IOGAUGE_DISK": str(work / "disk"), "IOGAUGE_FS": "ram",
        }  # fmt: skip
        self.environment.pop("IOGAUGE_STORE", None)
        self.log = (work / "log").open("ab")
        self.makefile = work / "Makefile"
        rule = MAKEFILE.format(python=sys.executable, options=OPTIONS, cases=CASES)
        self.makefile.write_text(rule)

    def start(self, *command: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            command, cwd=ROOT, env=self.environment, stdin=subprocess.DEVNULL, stdout=self.log,
            stderr=self.log, start_new_session=True,
        )  # fmt: skip

    def make(self) -> subprocess.Popen[bytes]:
        return self.start("make", "-f", str(self.makefile), "run")

    def next_start(self) -> None:
        """Of a session that measures nothing itself."""
        words = [*OPTIONS.split(), "-n", "^none of them$"]
        process = self.start(sys.executable, "-m", "iogauge", "run", "--rounds", "0", "--", *words)
        if process.wait() != NOTHING_SELECTED:
            raise SystemExit(f"the next start failed: see {self.log.name}")

    def kill(self, victim: str, after: float) -> Tally:
        before = set(self.finished())
        process = self.make()
        time.sleep(after)
        number, choose = VICTIMS[victim]
        while not (chosen := choose(ours(self.token))) and process.poll() is None:
            time.sleep(0.01)  # the next job's script, say
        done = Tally(kills=1, too_late=not chosen)
        finished = set(self.finished())
        while chosen:  # of the whole tree, until nothing is born any more
            for one in chosen:
                with contextlib.suppress(OSError):
                    os.kill(one, number)
            if choose is not _all:
                break
            chosen = _all(ours(self.token))
        process.wait()
        deadline = time.monotonic() + PATIENCE + JOBS_PATIENCE + 120  # of a busy machine
        while (left := ours(self.token)) and time.monotonic() < deadline:
            time.sleep(0.1)
        for one in left:
            os.kill(one, signal.SIGKILL)
        self.next_start()
        there = stored(self.output)
        done.finished, done.stored = len(finished - before), len((finished - before) & there)
        done.lost = sorted(finished - there - self.lost)  # each once, also if it was there before
        self.lost |= set(done.lost)
        done.processes = list(left.values())
        done.folders = [str(path) for path in self.memory.iterdir()]
        return done

    def finished(self) -> Iterator[str]:
        """Cases with a result document: session and folder below it."""
        for place in (self.output, self.output / "stage"):
            for path in place.glob(f"2*/*/*/*/*/{DOCUMENT}"):
                with contextlib.suppress(AnalysisError):
                    read_document(path)
                    yield str(path.relative_to(place))

    def kill_ingest(self, number: int, after: float, folder: Path) -> Tally:
        """The store begins anew after every FRESH kills. The next ingest is the next kill's."""
        if number % FRESH == 0:
            shutil.rmtree(folder, ignore_errors=True)
        before = sessions(folder)
        process = self.ingest(folder)
        time.sleep(after)
        done = Tally(kills=1, too_late=process.poll() is not None)
        process.kill()
        process.wait()
        done.finished = len(before)
        done.lost = sorted(before - sessions(folder))
        done.stored = done.finished - len(done.lost)
        return done

    def ingest(self, folder: Path) -> subprocess.Popen[bytes]:
        words = ("--output", str(self.output), "--store", str(folder))
        return self.start(sys.executable, "-m", "iogauge", "store", "add", *words)


def stored(output: Path) -> set[str]:
    """The documents of the store, as `finished` names them."""
    connection = store.connect(output / "store", _refuse)
    rows = connection.execute("SELECT DISTINCT document FROM records WHERE document <> ''")
    return {str(path).removeprefix("stage/") for (path,) in rows.fetchall()}


def sessions(folder: Path) -> set[str]:
    if not (folder / store.MARK).exists():
        return set()
    try:
        rows = store.connect(folder, _refuse).execute("SELECT DISTINCT session FROM records")
    except NothingFoundError:
        return set()
    return {str(name) for (name,) in rows.fetchall()}


def _refuse(text: str) -> None:
    raise SystemExit(f"a damaged store: {text}")


def soak_runs(soak: Soak, kills: int, victims: list[str]) -> dict[str, Tally]:
    began = time.monotonic()
    if soak.make().wait():
        raise SystemExit(f"make run fails without a kill: see {soak.log.name}")
    seconds = time.monotonic() - began
    print(f"undisturbed: {seconds:.1f} s, {len(stored(soak.output))} cases", flush=True)
    tallies: dict[str, Tally] = {}
    for number in range(kills):
        victim = victims[number % len(victims)]
        tally = soak.kill(victim, soak.random.uniform(0, seconds))
        tallies.setdefault(victim, Tally()).add(tally)
        if not tally.is_good():
            print(f"kill {number + 1}: {victim}: {tally}", flush=True)
    return tallies


def soak_ingest(soak: Soak, kills: int) -> Tally:
    reports = soak.output / "reports"
    known = sorted(reports.glob("*.json"))
    for number in range(SESSIONS - len(known)):
        data = json.loads(known[0].read_text())
        data["session_info"]["uuid"] = str(uuid.UUID(int=number))
        (reports / f"run-report-{number}.json").write_text(json.dumps(data))
    folder = soak.output / "store of ingest"
    began = time.monotonic()
    soak.ingest(folder).wait()
    seconds = time.monotonic() - began
    everything = sessions(folder)
    print(f"undisturbed: {seconds:.1f} s, {len(everything)} sessions", flush=True)
    total = Tally()
    for number in range(kills):
        total.add(soak.kill_ingest(number, soak.random.uniform(0, seconds), folder))
    soak.ingest(folder).wait()
    total.lost += sorted(everything - sessions(folder))
    return total


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak_kills")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--ingest-kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="+", default=[""], metavar="WORD",
                        help=f"only those with such a word: {'; '.join(VICTIMS)}")  # fmt: skip
    parser.add_argument("--work", type=Path, help="a new folder for all of it, which stays")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # folders are removed
    with contextlib.ExitStack() as made:
        work = args.work or Path(made.enter_context(tempfile.TemporaryDirectory(prefix="soak-")))
        work.mkdir(parents=True, exist_ok=True)
        shm = Path("/dev/shm")
        where = shm if os.access(shm, os.W_OK) else work
        memory = Path(made.enter_context(tempfile.TemporaryDirectory(prefix="soak-", dir=where)))
        soak = Soak(work.absolute(), memory, args.seed)
        victims = [victim for victim in VICTIMS if any(word in victim for word in args.only)]
        tallies = soak_runs(soak, args.kills, victims)
        tallies["ingest, KILL (sessions)"] = soak_ingest(soak, args.ingest_kills)
        print(markdown.table(HEAD, (tally.row(victim) for victim, tally in tallies.items())))
        for victim, tally in tallies.items():
            for what in (*tally.lost, *tally.processes, *tally.folders):
                print(f"{victim}: {what}")
        print(f"seed {args.seed}")
        if all(tally.is_good() for tally in tallies.values()):
            return 0
        print(Path(soak.log.name).read_text(errors="replace")[-20000:], file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
