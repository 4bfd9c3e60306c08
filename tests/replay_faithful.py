# SPDX-License-Identifier: BSD-3-Clause
"""Real programs beside their replays, and `iogauge replay`'s advice beside the changed programs.

    python -m tests.replay_faithful --stack openmpi --dir /dev/shm [--only NAME] [--turns N]
        [--darshan libdarshan.so] [--json FILE]

The programs are tests/kernels/mpi_ways.c. Each is traced once and goes through `iogauge replay`
with the one way that it is then changed to. Program, replay, changed program and what `iogauge
replay` compares the replay with then run without a recorder, in turns of random order: the load of
the machine is another one minutes later. Times are seconds from opening to closing, of the process
that takes longest in each dump; ratios are of one turn: their median, least and most. Exit status
1: a replay was not exact, or advice was wrong.
"""

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import NamedTuple

from iogauge.analysis.judge import faster_alternative
from iogauge.analysis.judge.faster_alternative import READING, UNLIKE, WRITING, Alternative
from iogauge.analysis.replay import schedule
from iogauge.analysis.statistics.interval import Interval
from iogauge.common.text import three
from iogauge.measure import kernels
from iogauge.measure import replay as measured
from iogauge.measure.iokernel import Stack
from iogauge.measure.replay import Runner
from reframe_tests.framework.recorders import LOG_HINTS
from tests.ctest import mpi_end

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "tests" / "kernels" / "mpi_ways.c"
CONFIG_SUFFIX = ".conf"
CONFIG = f"""MODMEM 256
MAX_RECORDS 100000 DXT_POSIX,DXT_MPIIO
NAME_INCLUDE ^/dev/shm/ *
{LOG_HINTS}
"""
WITHIN = 2.0  # the advised factor, of the true one
PROGRAM, REPLAY, CHANGED, ADVISED = "program", "replay", "changed", "advised"


@dataclass(frozen=True)
class Case:
    """`words`: of mpi_ways. `method`, `changed`: what `iogauge replay` is asked for, and the same
    in the program. `hint`: of both."""

    layer: str
    name: str
    words: str
    method: str = ""
    changed: str = ""
    hint: str = ""

    reads: bool = False

    @property
    def way(self) -> str:
        return READING if self.reads or self.words.endswith(" read") else WRITING


CALLS = measured.POSIX_CALLS
CASES = (
    Case("POSIX", "file per process", "line own 4194304 2 write", "posix-shared",
         "line posix 4194304 2 write"),
    Case("POSIX", "file per process, other way", "line own 4194304 2 write", "mpiio:collective",
         "line at_all 4194304 2 write"),
    Case("POSIX", "records of 4 KiB", "records posix 8192 2 write", "posix",
         "records own 8192 2 write"),
    Case("POSIX", "restart, file per process", "line own 4194304 2 read", "posix-shared",
         "line posix 4194304 2 read"),
    Case("MPI-IO", "subarray view, write_all", "plane view_all 3072 2 write", CALLS,
         "plane posix 3072 2 write"),
    Case("MPI-IO", "subarray view, write_all, other way", "plane view_all 3072 2 write", "posix",
         "plane own 3072 2 write"),
    Case("MPI-IO", "subarray view, write_all, hint", "plane view_all 3072 2 write",
         "mpiio:collective", "plane view_all 3072 2 write", "romio_cb_write=disable"),
    Case("MPI-IO", "subarray view, write", "plane view 3072 2 write", "mpiio:collective",
         "plane view_all 3072 2 write"),
    Case("MPI-IO", "individual pointer", "records pointer 2048 2 write", CALLS,
         "records posix 2048 2 write"),
    Case("MPI-IO", "shared pointer", "records shared 64 2 write", CALLS,
         "records posix 64 2 write"),
    Case("MPI-IO", "write_ordered", "records ordered 16 2 write", CALLS,
         "records posix 16 2 write"),
    Case("MPI-IO", "write_at", "records at 2048 2 write", "mpiio:collective",
         "records view_all 2048 2 write"),
    Case("MPI-IO", "write_at_all, seven lists", "lists at_all 524288 2 write", CALLS,
         "lists posix 524288 2 write"),
    Case("MPI-IO", "split collective", "plane split 3072 2 write", CALLS,
         "plane posix 3072 2 write"),
    Case("MPI-IO", "nonblocking, iwrite_at", "records later 2048 2 write", CALLS,
         "records posix 2048 2 write"),
    Case("MPI-IO", "restart, view, read_all", "plane view_all 3072 2 read", CALLS,
         "plane posix 3072 2 read"),
    Case("MPI-IO", "written, and read in the middle", "records at 2048 2 middle", CALLS,
         "records posix 2048 2 middle"),
    Case("MPI-IO", "in the middle, its reads", "records at 2048 2 middle", CALLS,
         "records posix 2048 2 middle", reads=True),
    Case("HDF5", "independent", "plane hdf5 3072 2 write", "hdf5:collective",
         "plane hdf5_all 3072 2 write"),
    Case("HDF5", "collective", "plane hdf5_all 3072 2 write", CALLS, "plane posix 3072 2 write"),
    Case("HDF5", "restart, collective", "plane hdf5_all 3072 2 read", CALLS,
         "plane posix 3072 2 read"),
    Case("PnetCDF", "blocking", "plane pnetcdf 3072 2 write", CALLS, "plane posix 3072 2 write"),
    Case("PnetCDF", "nonblocking", "plane pnetcdf_later 3072 2 write", CALLS,
         "plane posix 3072 2 write"),
)  # fmt: skip


class Ratio(NamedTuple):
    value: float
    low: float
    high: float


@dataclass
class Found:
    """`seconds`: of PROGRAM, REPLAY, CHANGED and ADVISED, by turn. `traced`: by the trace, of the
    traced run. `notes`: what `iogauge replay` prints in the end."""

    case: Case
    exact: bool = False
    traced: float = 0.0
    notes: list[str] = field(default_factory=list)
    seconds: dict[str, list[float]] = field(default_factory=dict)

    def ratio(self, above: str, below: str) -> Ratio | None:
        """Of the turns: median, least and most."""
        pairs = zip(self.seconds.get(above, []), self.seconds.get(below, []), strict=False)
        found = [a / b for a, b in pairs]
        return Ratio(statistics.median(found), min(found), max(found)) if found else None

    @property
    def advice(self) -> Interval | None:
        """As `iogauge replay` has it."""
        replay, advised = (
            Alternative(one, [], 2, seconds=dict(enumerate(self.seconds.get(one, []), 1)))
            for one in (REPLAY, ADVISED)
        )
        return faster_alternative.ratio(replay, advised)

    @property
    def truth(self) -> Ratio | None:
        """How many times as fast the changed program is."""
        return self.ratio(PROGRAM, CHANGED)

    @property
    def warned(self) -> bool:
        return any("the replay took" in line for line in self.notes)

    @property
    def wrong(self) -> str:
        """What is wrong with the advice."""
        if not (advice := self.advice) or not (truth := self.truth):
            return ""
        value, low, high = advice.value, advice.low, advice.high
        if low is None or high is None:
            return ""
        if (low > 1 and truth.high < 1) or (high < 1 and truth.low > 1):
            return "direction"
        decided = not low <= 1 <= high and not truth.low <= 1 <= truth.high
        return "factor" if decided and not 1 / WITHIN <= value / truth.value <= WITHIN else ""


class Bench:
    """One stack's programs, with their data in one folder."""

    def __init__(self, args: argparse.Namespace, scratch: Path) -> None:
        environ = kernels.environ(args.stack)
        self.args, self.scratch = args, scratch
        self.stack = Stack.of(environ, kernels.build_for_runs(environ))
        self.environment = {**os.environ, **self.stack.variables}
        self.data = Path(args.dir).absolute() / f"replay-faithful-{os.getpid()}"
        self.program = scratch / "mpi_ways"
        root = dict(w[2:].split("=") for w in environ["extras"]["cmake"]["pnetcdf"])
        pnetcdf = Path(root["IOKERNEL_PNETCDF_ROOT"])
        flags = ["pkg-config", "--cflags", "--libs", f"hdf5-{args.stack}"]
        hdf5 = subprocess.run(flags, capture_output=True, text=True, check=True).stdout.split()
        compile_ = [environ["cc"], "-O2", "-DWITH_HDF5", "-DWITH_PNETCDF", str(SOURCE)]
        if pnetcdf != Path("/usr"):
            lib = pnetcdf / "lib"
            compile_ += [f"-I{pnetcdf}/include", f"-L{lib}", f"-Wl,-rpath,{lib}"]
        subprocess.run([*compile_, *hdf5, "-lpnetcdf", "-o", self.program], check=True)

    def run(
        self, words: str, prefix: Sequence[str] = (), hint: str = "", traces: Path | None = None
    ) -> tuple[float, float]:
        """Seconds of writing and of reading. `traces`: the folder that gets them."""
        os.sync()  # or the pages of one would be written while the other runs
        command = [*self.stack.launch, "-n", "2", *prefix, str(self.program), str(self.data)]
        command += [*words.split(), *([hint] if hint else [])]

        def once() -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                command, env=self.environment, capture_output=True, text=True, check=False
            )

        def renew() -> None:
            self.empty(words)
            for one in traces.iterdir() if traces else ():
                if one.suffix != CONFIG_SUFFIX:
                    one.unlink()

        done = mpi_end.twice_at_most(once, mpi_end.may_be_of_mpi, renew)
        if done.returncode:
            raise SystemExit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
        writing, reading = map(float, done.stdout.split())
        return writing, reading

    def empty(self, words: str) -> None:
        """What a restart reads is there."""
        shutil.rmtree(self.data, ignore_errors=True)
        self.data.mkdir(parents=True)
        if words.endswith(" read"):
            self.run(words.removesuffix("read") + "write")

    def timed(self, words: str, way: str, hint: str = "") -> float:
        self.empty(words)
        return self.run(words, (), hint)[way == READING]

    def trace(self, words: str, into: Path) -> Path:
        self.empty(words)
        into.mkdir()
        if not self.args.darshan:
            self.run(words, self.stack.recorded(into, self.data), traces=into)
            return into
        config = into / f"darshan{CONFIG_SUFFIX}"
        config.write_text(CONFIG)
        self.run(words, [
            "env", f"LD_PRELOAD={self.args.darshan}", f"DARSHAN_LOGDIR={into}",
            "DXT_ENABLE_IO_TRACE=1", f"DARSHAN_CONFIG_PATH={config}",
        ], traces=into)  # fmt: skip
        (log,) = into.glob("*.darshan")
        return log

    def iokernel(self, other: Alternative, way: str) -> float:
        self.empty("")
        document = Runner(self.stack, self.data, self.scratch).run(other)
        if not document:
            raise SystemExit(f"{other.title}: {other.why}")
        return measured.seconds(document, way)

    def ways(self, case: Case, out: Path) -> dict[str, Alternative]:
        """The replay, and what is compared with it, as `iogauge replay` runs them."""
        words = ["replay", "--schedule", str(out / "app.schedule"), "--think", "0"]
        found = {REPLAY: Alternative(REPLAY, words, 2)}
        if case.hint:
            return found | {ADVISED: Alternative(ADVISED, words, 2, (case.hint,))}
        if case.method == CALLS:
            words = [*words[:2], str(out / "posix-calls.schedule"), *words[3:]]
        elif case.method:
            extents = out / f"app.{case.way}.extents"
            end = schedule.LENGTH.size + 8
            data = extents.read_bytes()
            (length,) = schedule.LENGTH.unpack(data[-end:-8])
            steps = json.loads(data[-end - length : -end])["steps"]
            words = ["extents", "--extents", str(extents), "--steps", str(steps)]
            words += measured.methods(self.stack.listing())[case.method][0]
        return found | ({ADVISED: Alternative(ADVISED, words, 2)} if case.method else {})

    def advised(self, case: Case, number: int) -> tuple[Found, dict[str, Alternative]]:
        found = Found(case)
        traces = self.trace(case.words, self.scratch / f"trace-{number}")
        self.empty("")
        out = self.scratch / f"replay-{number}"
        rounds = str(int(bool(case.method)))
        words = ["--dir", str(self.data), "-o", str(out), "--stack", self.args.stack]
        words += ["--rounds", rounds, "--only", str(self.data)]
        words += ["--method", case.method] if case.method else []
        words += ["--hint", case.hint] if case.hint else []
        done = subprocess.run(
            [sys.executable, "-m", "iogauge", "replay", str(traces), *words],
            env=self.environment, capture_output=True, text=True, check=False, cwd=ROOT,
        )  # fmt: skip
        if not (out / "answer.json").is_file():
            raise SystemExit(f"iogauge replay {traces}: {done.stdout}{done.stderr}")
        answer = json.loads((out / "answer.json").read_text())
        found.exact = bool(answer["replay"]) and not answer["replay"]["wrong"] and answer["good"]
        found.traced = answer["program_seconds"][case.way]
        found.notes = [*answer["notes"], *answer["replay"]["notes"], *answer["answer"]]
        return found, self.ways(case, out) if answer["alternatives"] or not case.method else {}

    def measure(self, case: Case, number: int) -> Found:
        found, ways = self.advised(case, number)
        order = random.Random(number)
        who = [PROGRAM, *ways, *([CHANGED] if case.changed else [])]
        found.seconds = {one: [] for one in who}
        for _ in range(self.args.turns):
            order.shuffle(who)
            for one in who:
                if one in ways:
                    took = self.iokernel(ways[one], case.way)
                else:
                    changed = one == CHANGED
                    words = case.changed if changed else case.words
                    took = self.timed(words, case.way, case.hint if changed else "")
                found.seconds[one].append(took)
        shutil.rmtree(self.data)
        return found


def span(found: Ratio | None) -> str:
    return f"{three(found.value)} ({three(found.low)} to {three(found.high)})" if found else "-"


def rows(found: Found) -> tuple[str, str]:
    """Of the two tables."""
    case = found.case
    of_replay = found.ratio(REPLAY, PROGRAM)
    like = of_replay and UNLIKE[0] <= of_replay.value <= UNLIKE[1]
    first = (
        f"| {case.layer} | {case.name} | {'exact' if found.exact else 'DIFFERS'} "
        f"| {span(of_replay)} | {'warned' if found.warned else '-'}{' ' if like else ' unlike'} |"
    )
    if not case.method:
        return first, ""
    says = "none"
    if (advice := found.advice) and advice.low is not None and advice.high is not None:
        says = span(Ratio(advice.value, advice.low, advice.high))
    what = case.hint or case.method
    second = f"| {case.layer}, {case.name} | {what} | {says} | {span(found.truth)} |"
    return first, f"{second} {found.wrong}"


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--stack", default="openmpi")
    parser.add_argument("--dir", required=True, help="where all of them write")
    parser.add_argument("--turns", type=int, default=6)
    parser.add_argument("--only", action="append", default=[], metavar="NAME")
    parser.add_argument("--darshan", metavar="LIB", help="trace with Darshan's runtime")
    parser.add_argument("--json", type=Path, help="append each case to this file")
    args = parser.parse_args(words)
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="replay-faithful-") as scratch:
        bench = Bench(args, Path(scratch))
        for number, case in enumerate(CASES):
            if args.only and not any(one in f"{case.layer} {case.name}" for one in args.only):
                continue
            if case.hint and "romio" not in kernels.environ(args.stack)["features"]:
                print(f"| {case.layer} | {case.name} | left out: {args.stack} has no ROMIO |")
                continue
            try:
                found = bench.measure(case, number)
            finally:
                shutil.rmtree(bench.data, ignore_errors=True)
            wrong += bool(found.wrong) or not found.exact
            print(*filter(None, rows(found)), sep="\n", flush=True)
            if args.json:
                with args.json.open("a") as out:
                    print(json.dumps({"stack": args.stack, **asdict(found)}), file=out)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
