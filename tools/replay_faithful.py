# SPDX-License-Identifier: BSD-3-Clause
"""How like a program its replay is: both are traced by one recorder, turn by turn.

    python -m tools.replay_faithful NAME --preload LIB --iokernel PROGRAM --dir DIR [-n N]
        [--repeats N] [--table FILE] -- PROGRAM ARGS...

`{dir}` in ARGS is the folder of the data. LIB is Darshan's runtime (libdarshan.so, whose set-up
must take DARSHAN_LOGDIR as the folder of its logs) or the embedded recorder. The first trace of the
program is planned and replayed; each further one is compared with it too, which shows a program
that does not repeat itself. Times are seconds in calls that move data, of the process that
takes longest in each phase; the ratio is of each replay and the program beside it.
Exit status 1: bytes, calls or order differ.
"""

import argparse
import json
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from iogauge.analysis.replay import check, plan, schedule, trace
from iogauge.analysis.statistics.interval import of_pairs
from iogauge.common.text import three
from reframe_tests.framework.recorders import LOG_HINTS

# Darshan's runtime has room for some 60,000 calls of a process, unless it is told otherwise.
CONFIG = f"MODMEM 256\nMAX_RECORDS 100000 DXT_POSIX,DXT_MPIIO\n{LOG_HINTS}\n"
PROGRAM = "program"
LAUNCH = "mpiexec.openmpi --allow-run-as-root --oversubscribe"


@dataclass
class Found:
    """`program`, `replays`: seconds by turn; of a replay by its options. A turn that was not like
    the log has none."""

    calls: int
    bytes: int
    phases: int
    said: list[str]
    program: dict[int, float] = field(default_factory=dict)
    replays: dict[str, dict[int, float]] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    undefined: int = 0


class Bench:
    def __init__(self, args: argparse.Namespace, scratch: Path) -> None:
        self.args, self.scratch = args, scratch
        Path(args.dir).mkdir(parents=True, exist_ok=True)
        self.data = Path(tempfile.mkdtemp(prefix="replay-faithful-", dir=args.dir)).absolute()
        self.planned = scratch / "schedule"
        self.config = scratch / "darshan.conf"
        self.config.write_text(CONFIG)

    def variables(self, traces: Path) -> dict[str, str]:
        preload = str(Path(self.args.preload).absolute())
        if "darshan" in Path(preload).name:
            return {
                "LD_PRELOAD": preload,
                "DARSHAN_LOGDIR": str(traces),
                "DXT_ENABLE_IO_TRACE": "1",
                "DARSHAN_CONFIG_PATH": str(self.config),
            }
        return {
            "LD_PRELOAD": preload, "IOGAUGE_TRACE_DIR": str(traces), "IOGAUGE_TRACE_SEGMENTS": "0",
            "IOGAUGE_TRACE_INCLUDE": str(self.data),
        }  # fmt: skip

    def run(self, name: str, words: Sequence[str]) -> Path:
        """Traced, with an empty folder for its data. The trace."""
        shutil.rmtree(self.data, ignore_errors=True)
        self.data.mkdir(parents=True)
        traces = self.scratch / name
        traces.mkdir()
        os.sync()  # or the pages of one would be written while the other runs
        env = [f"{key}={value}" for key, value in self.variables(traces).items()]
        launch = [*shlex.split(self.args.launch), "-n", str(self.args.processes)]
        command = [*launch, "env", *env, *words]
        done = subprocess.run(command, cwd=self.data, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{shlex.join(command)}\n{done.stdout}{done.stderr}")
        logs = sorted(traces.glob("*.darshan"))
        if "darshan" in Path(self.args.preload).name and len(logs) != 1:
            raise SystemExit(f"expected one log in {traces}, found {len(logs)}: {done.stderr}")
        return logs[0] if logs else traces

    def program(self, number: int) -> Path:
        words = [word.replace("{dir}", str(self.data)) for word in self.args.command]
        return self.run(f"program-{number}", words)

    def replay(self, number: int, options: str) -> Path:
        more = shlex.split(options)
        return self.run(
            f"replay-{number}-{self.args.options.index(options)}",
            [str(Path(self.args.iokernel).absolute()), "replay", "--schedule", str(self.planned),
             "--dir", str(self.data), *more],
        )  # fmt: skip


def measure(bench: Bench, repeats: int) -> Found:
    first = bench.program(0)
    loaded = trace.load(first, trace.Choice(only=[str(bench.data)]))
    made = plan.make(loaded, bench.planned)
    sums = [check.sums(made.trace, way) for way in (trace.READ, trace.WRITE)]
    found = Found(
        sum(one.calls for one in sums), sum(one.bytes for one in sums), len(made.phases), made.said,
        undefined=made.undefined, replays={options: {} for options in bench.args.options},
    )  # fmt: skip
    for number in range(1, repeats + 1):
        for who in [PROGRAM, *found.replays][:: 1 if number % 2 else -1]:
            program = who is PROGRAM
            own = bench.program(number) if program else bench.replay(number, who)
            one = compared(bench.planned, first, own, "path" if program else "name")
            if one.wrong:
                (found.changed if program else found.wrong).extend(one.wrong[:3])
            if one.phases:
                (found.program if program else found.replays[who])[number] = one.replay_seconds
            called = who if program else f"replay {who}"
            print(f"{number} {called} {one.replay_seconds:.6f} s", *one.wrong[:3], file=sys.stderr)
    return found


def compared(planned: Path, log: Path, other: Path, key: str) -> check.Comparison:
    """Another run of the program has the names of the log, a replay its own."""
    both = check.load(planned, log, other, key)
    return check.compare(*both, float(schedule.read_header(planned)["gap"]))


def row(name: str, found: Found, options: str) -> str:
    replay = found.replays[options]
    pairs = [(found.program[n], replay[n]) for n in replay if n in found.program]
    ratio, range_of = "-", ""
    if pairs:
        ratios = [b / a for a, b in pairs]
        interval = of_pairs(pairs)
        ratio = three(interval.value)
        if interval.low is not None and interval.high is not None:
            range_of = f" ({three(interval.low)} to {three(interval.high)})"
        else:
            range_of = f" (of {len(ratios)}: {three(min(ratios))} to {three(max(ratios))})"
    seconds = [
        f"{statistics.median(some.values()):.4g}" if some else "-"
        for some in (found.program, replay)
    ]
    name += f" {options}" if options else ""
    exact = "exact" if not found.wrong else "differs"
    return (
        f"| {name} | {found.calls} | {found.bytes} | {found.phases} | {exact} | {seconds[0]} "
        f"| {seconds[1]} | {ratio}{range_of} |"
    )


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("name", help="of the program, in the table")
    parser.add_argument("--preload", required=True, help="libdarshan.so, or the embedded recorder")
    parser.add_argument("--iokernel", required=True)
    parser.add_argument("--dir", required=True, help="where both write")
    parser.add_argument("--launch", default=LAUNCH, help="(default: %(default)s)")
    parser.add_argument("-n", "--processes", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument(
        "--options", action="append", default=[], metavar="WORDS",
        help="more options of the replay, as '--think 0'; again: another replay in each turn",
    )  # fmt: skip
    parser.add_argument("--table", type=Path, help="append the row to this file")
    parser.add_argument("command", nargs="+", help="the program, after --")
    args = parser.parse_args(words)
    args.options = list(dict.fromkeys(args.options)) or [""]
    with tempfile.TemporaryDirectory(prefix="replay-faithful-") as scratch:
        bench = Bench(args, Path(scratch))
        try:
            found = measure(bench, args.repeats)
        finally:
            shutil.rmtree(bench.data, ignore_errors=True)
    lines = "\n".join(row(args.name, found, options) for options in found.replays)
    print(lines)
    for said in (*found.said, *dict.fromkeys(f"the program itself: {c}" for c in found.changed)):
        print(f"  {said}")
    if args.table:
        with args.table.open("a") as out:
            print(lines, file=out)
            print(json.dumps(vars(found)), file=out)
    return int(bool(found.wrong))


if __name__ == "__main__":
    sys.exit(main())
