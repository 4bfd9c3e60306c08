# SPDX-License-Identifier: BSD-3-Clause
"""Inside the namespaces of tests/mounted_fs: mount, run ReFrame, unmount, report. As their first
process it takes all others, and the mounts, with it when it ends."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from iogauge.analysis.errors import AnalysisError
from iogauge.analysis.judge import claims
from iogauge.analysis.session.loader import last_report, load_session
from iogauge.common.mounts import mount_of
from iogauge.common.paths import ROOT
from iogauge.common.text import one_line
from tests.ctest import mpi_end
from tests.mounted_fs import report as fs_report
from tests.mounted_fs.kinds import IMAGE_BYTES, Kind, Machine, Place
from tests.mounted_fs.processes import CannotMount, Servers, end, run
from tests.mounted_fs.report import Row
from tests.mounted_fs.site import VARIABLE
from tests.mounted_fs.table import KINDS

SITE = Path(__file__).with_name("site.py")

# A file system's cases, by test name; `quick`: each call, and a file per process. Left out:
# `null`, and of RAMSES the hint sets, `hydro` and the other order of bytes.
# `few`: one call of each library, and no sweep, for a guest whose processors are emulated.
TESTS = {
    "quick": "^S3d%|^Ior%.*call=posix%",
    "few": "^(S3d|Ior|RamsesOwnFiles|RamsesShared)%"
    ".*call=(posix|posix-shared|(mpiio|hdf5|pnetcdf):collective)",
    "all": "^(S3d|Ior|Ramses)",
}
# The bytes are the point, not their speed: one dump, once. It can be slow all the same: a dump's
# short rows, one write each, take GlusterFS (disperse) a minute.
ONCE = ("-S", "repeats=1", "-S", "steps=1", "-S", "ceilings=0")
NOT = "call=null|^RamsesHints|contents=hydro|layout=process-major"


class Stopped(BaseException):
    """A signal asked to stop."""


@dataclass(frozen=True)
class Options:
    """The command line. `claim`: judged, in place of running `tests`; `more`: ReFrame's; `guest`:
    all in a guest, also what this machine's kernel has. `work`: an empty folder for all that is
    made; `output`: for what is kept."""

    names: list[str]
    scale: str = "smoke"
    tests: str = ""
    guest: bool = False
    claim: str = ""
    more: list[str] = field(default_factory=list)
    work: str = ""
    output: str = ""

    def words(self, names: list[str]) -> list[str]:
        claim = ["--claim", self.claim] if self.claim else []
        words = ["--scale", self.scale, "--tests", self.tests or "few", *claim, *names]
        return [*words, *(["--", *self.more] if self.more else [])]


class Session:
    def __init__(self, options: Options) -> None:
        self.options = options
        self.work = Path(options.work)
        self.output = Path(options.output)
        size = IMAGE_BYTES[options.scale]
        self.servers = Servers(self.work, 4 * size)
        self.kinds = [kind for kind in KINDS if kind.name in options.names]
        self.rows = {kind.name: Row(kind.name, kind.type) for kind in self.kinds}
        self.mounted: list[Kind] = []
        self.problems: list[str] = []

    def place(self, kind: Kind) -> Place:
        mount = self.work / "mnt" / kind.name
        image = self.work / f"{kind.name}.img"
        return Place(kind.name, mount, image, IMAGE_BYTES[self.options.scale], self.servers)

    def mount_all(self) -> None:
        machine = Machine()
        for kind in self.kinds:
            start = time.monotonic()
            reason = kind.how.needs.lacking(machine) or self.mount(kind)
            self.rows[kind.name].reason = reason
            seconds = time.monotonic() - start
            print(f"{kind.name}: " + (reason or f"mounted in {seconds:.1f} s"), flush=True)

    def mount(self, kind: Kind) -> str | None:
        place = self.place(kind)
        place.mount.mkdir(parents=True)
        try:
            kind.how.mount(place)
        except (CannotMount, OSError) as reason:
            if place.mount.is_mount():
                self.unmount(kind)
            return one_line(str(reason))
        self.mounted.append(kind)
        found = mount_of(place.mount)
        if found["mount"] != str(place.mount.resolve()) or found["type"] != kind.type:
            self.rows[kind.name].trouble.append(
                f"/proc/mounts has {found['type']} at {found['mount']}, not {kind.type}"
            )
        return None

    def unmount(self, kind: Kind) -> None:
        """Unmount it. A busy mount is detached; the end of this session ends its users."""
        place = self.place(kind)
        for chance in range(5):
            try:
                return kind.how.unmount(place)
            except CannotMount as reason:
                if not place.mount.is_mount():
                    return self.rows[kind.name].trouble.append(f"after unmounting: {reason}")
                if chance == 4:
                    self.rows[kind.name].trouble.append(f"had to be detached: {reason}")
                time.sleep(0.5)
        run("umount", "--lazy", place.mount)
        return None

    def unmount_all(self) -> None:
        while self.mounted:
            kind = self.mounted.pop()
            try:
                self.unmount(kind)
            except (CannotMount, OSError) as reason:
                self.rows[kind.name].trouble.append(f"unmounting: {reason}")
        try:
            self.servers.stop()
        except (CannotMount, OSError) as reason:
            self.problems.append(f"stopping the servers: {reason}")

    def entries(self) -> dict[str, dict[str, Any]]:
        return {
            kind.name: {
                **dict(kind.entry), "path": str(self.place(kind).mount), "mounted_as": kind.type
            }
            for kind in self.mounted
        }  # fmt: skip

    def command(self) -> list[str]:
        asked = self.options
        chosen = ["-t", f"{asked.scale}$", "-n", TESTS[asked.tests or "all"], "-x", NOT, *ONCE]
        if asked.claim:
            chosen = of_claim(asked.claim, asked.scale)
        return [
            str(Path(sys.executable).parent / "reframe"),
            *("-C", str(SITE), "--system", "testfs", "-c", str(ROOT / "reframe_tests"), "-R"),
            *(*chosen, *asked.more, "--exec-policy=serial", "-r"),
        ]

    def run_tests(self) -> None:
        file = self.work / "testfs.json"
        file.write_text(json.dumps(self.entries()))
        log = self.output / "session.log"
        print(f"running the tests; ReFrame's own words are in {log}", flush=True)
        env = {key: text for key, text in os.environ.items() if not key.startswith("RFM_")}
        env |= {VARIABLE: str(file), "IOGAUGE_OUTPUT": str(self.output)}
        mpi_end.twice_at_most(lambda: self.run_reframe(log, env), mpi_end.kernel_blames_mpi)
        try:
            report = last_report(self.output)
            runs = load_session(report).runs
        except AnalysisError as reason:
            last = log.read_text(errors="replace").strip().splitlines()[-1:]
            self.problems.append(f"{reason}: {''.join(last)}")
        else:
            self.problems += fs_report.add_runs(list(self.rows.values()), runs)
            if self.options.claim:
                self.judge(report, env)

    def run_reframe(self, log: Path, env: dict[str, str]) -> str:
        """What it said."""
        for old in (self.output / "reports").glob("*.json"):
            old.unlink()
        with log.open("wb") as stream:
            reframe = subprocess.Popen(
                self.command(), cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=stream,
                stderr=subprocess.STDOUT,
            )  # fmt: skip
            try:
                reframe.wait()
            except Stopped:
                end(reframe)
                raise
        return log.read_text(errors="replace")

    def judge(self, report: Path, env: dict[str, str]) -> None:
        """Judge the claim by this session. The verdict is printed, and is no failure."""
        for words in (["store", "add", str(report)], ["claims", self.options.claim]):
            subprocess.run(
                [sys.executable, "-m", "iogauge", *words], cwd=ROOT, env=env, check=False
            )

    def __call__(self) -> int:
        """Run; returns the exit status. After a first signal others are ignored, so that unmounting
        completes."""
        status = 0
        try:
            self.mount_all()
            if self.mounted:
                self.run_tests()
        except Stopped as signal_name:
            status = 1
            self.problems.append(f"stopped by {signal_name}; unmounting")
        finally:
            deafen()
            self.unmount_all()
        rows = list(self.rows.values())
        print("", fs_report.table(rows), *self.problems, sep="\n", flush=True)
        return status or fs_report.exit_status(rows) or (1 if self.problems else 0)


def of_claim(claim: str, scale: str) -> list[str]:
    """ReFrame's options for what a claim asks for, at another scale than its own `laptop`."""
    (wanted,) = claims.load(wanted=[claim])
    return [word.replace("laptop", scale) for run in wanted.run for word in shlex.split(run)]


SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def listen() -> None:
    def stop(number: int, _: object) -> None:
        deafen()
        raise Stopped(signal.Signals(number).name)

    for number in SIGNALS:
        signal.signal(number, stop)


def deafen() -> None:
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def main(words: list[str]) -> int:
    if len(words) != 1 or os.getpid() != 1:
        print("tests.mounted_fs.session: tests.mounted_fs starts this", file=sys.stderr)
        return 2
    session = Session(Options(**json.loads(words[0])))
    listen()
    return session()


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
