# SPDX-License-Identifier: BSD-3-Clause
"""What recording costs: the embedded recorder's share of the write time, and reading a large log.

    python -m tools.bench_recorder [--pairs N] [--directory DIR] [--only small]

Each round runs the same writes without a recorder, with the embedded one and, where DARSHAN_PREFIX
names runtimes, with Darshan's of this MPI, back to back; the ratio of their times is of interest,
and not the times. On a file system in memory, where a share is largest.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from iogauge.analysis.darshan.convert import write_log
from iogauge.analysis.darshan.log import read_log
from iogauge.analysis.darshan.raw import COMPLETE, MPI, RawHeat, RawProcess, RawRecord
from iogauge.measure.programs import CannotBuild, Stack, build, linked_to
from reframe_tests.framework import recorders
from site_configs import local
from tools.bench import quiet as bench_quiet
from tools.bench import stats as bench_stats
from tools.bench.run import DISTURBED

PATIENCE = 5.0  # seconds to wait for others to be quiet, before each pair
LOG_PROCESSES = 4096
LOG_SECONDS, LOG_MEMORY = 10.0, 2**30
POSIX_COUNTERS, MPIIO_COUNTERS, TIMES = 69, 51, 17


@dataclass(frozen=True)
class Case:
    """`transfer`: bytes of a write call; `most`: the share that recording may cost."""

    transfer: int
    block: int
    most: float


CASES = {
    "large": Case(2**20, 256 * 2**20, 0.03),
    "small": Case(4096, 64 * 2**20, 0.05),
}
NOBODY, OURS, THEIRS = "nobody", "embedded", "Darshan"


def runtime(stack: Stack) -> Path | None:
    """Darshan's library for the stack's MPI, of the prefixes that the user names, or None."""
    for prefix in filter(None, os.environ.get("DARSHAN_PREFIX", "").split(":")):
        library = Path(prefix) / "lib" / recorders.RUNTIME
        if library.is_file() and linked_to(library, stack):
            return library
    return None


def environment(library: Path, data: Path, *, real: bool) -> dict[str, str]:
    """What makes a program record, below `data` alone. `real`: it is Darshan's runtime."""
    if not real:
        where = {"IOGAUGE_TRACE_DIR": str(data), "IOGAUGE_TRACE_INCLUDE": str(data)}
        return {"LD_PRELOAD": str(library), **where}
    config = data / recorders.CONFIG
    config.write_text(f"NAME_EXCLUDE . *\nNAME_INCLUDE ^{data} *\nNAME_INCLUDE ^heatmap: *\n")
    where = {"DARSHAN_CONFIG_PATH": str(config), "DARSHAN_LOGFILE": str(data / "one.trace")}
    return {"LD_PRELOAD": str(library), **where}


def write_seconds(
    stack: Stack, program: Path, case: Case, folder: Path, recorder: tuple[str, Path | None]
) -> float:
    """The fastest of five repeats in one run: one process, so that no other's turn is measured.
    `recorder`: whose, and its library, or None."""
    who, library = recorder
    with tempfile.TemporaryDirectory(dir=folder) as name:
        data = Path(name)
        variables = environment(library, data, real=who == THEIRS) if library else {}
        words = ["env", *(f"{key}={value}" for key, value in variables.items())]
        words += [str(program), "ior", "-t", str(case.transfer), "-b", str(case.block)]
        words += ["--method", "posix-shared", "--dir", name, "--repeat", "5", "--write-only"]
        document = data / "result.json"
        subprocess.run(
            stack.launch(1, [*words, "--json", str(document)]), check=True, capture_output=True
        )
        if library and not list(data.glob("*.trace")):
            raise CannotBuild(f"{library} recorded nothing")
        samples = json.loads(document.read_text())["samples"]
    return min(float(sample["write"]["phases"]["write"]["max"]) for sample in samples)


def overhead(stack: Stack, program: Path, case: Case, rounds: int, folder: Path) -> None:
    """Prints a line for each recorder, which says where recording costs more than it may."""
    ways: dict[str, Path | None] = {NOBODY: None, OURS: program.parent / recorders.RECORDER}
    if library := runtime(stack):
        ways[THEIRS] = library
    found: dict[str, list[float]] = {who: [] for who in ways}
    for turn in range(rounds):
        bench_quiet.wait_for_quiet(local.CORES, DISTURBED, PATIENCE)
        order = list(ways.items())
        first = turn % len(order)
        for way in order[first:] + order[:first]:
            found[way[0]].append(write_seconds(stack, program, case, folder, way))
    for who in ways:
        if who != NOBODY:
            print_share(stack, case, who, found[who], found[NOBODY])


def print_share(
    stack: Stack, case: Case, who: str, with_it: list[float], without: list[float]
) -> None:
    share = bench_stats.ratio(with_it, without)
    calls = case.block // case.transfer
    each = (median(with_it) - median(without)) / calls * 1e9
    good = who != OURS or share.value - 1 < case.most
    ends = "too few rounds"
    if share.low is not None and share.high is not None:
        ends = f"{100 * (share.low - 1):+.1f} .. {100 * (share.high - 1):+.1f}"
    aim = f"; aim: below {100 * case.most:.0f} %" if who == OURS else ""
    print(
        f"  {stack.name:8} {case.transfer:8} bytes, {who:8}: {100 * (share.value - 1):+.1f} % of "
        f"the write time ({ends}, {len(without)} rounds; {each:+.0f} ns a call){aim}"
        f"{'' if good else '   ABOVE THE AIM'}",
        flush=True,
    )


def synthetic(rank: int) -> RawProcess:
    """One of many processes that share a file through MPI-IO."""
    made = RawProcess(
        rank, LOG_PROCESSES, rank + 1, 0, 10**18, 60.0, COMPLETE | MPI, "node", "synthetic", "none"
    )
    for module, counters in (("POSIX", POSIX_COUNTERS), ("MPI-IO", MPIIO_COUNTERS)):
        values = [(rank * 31 + i) % 1000 for i in range(counters)]
        made.records.append(
            RawRecord(7, module, "/fs/shared", values, [1.0] * TIMES, {4096: 10, 100: 2}, {})
        )
        bins = ([rank % 97] * 200, [rank % 89] * 200)
        made.heat[module] = RawHeat(8 + counters, 0.64, bins)
    return made


def large_log(folder: Path) -> None:
    """Prints one line, which says where reading takes longer, or more memory, than it may."""
    path = folder / "large.darshan"
    write_log([synthetic(rank) for rank in range(LOG_PROCESSES)], path)
    began = time.monotonic()
    log = read_log(path)
    seconds = time.monotonic() - began
    # The largest child so far: launchers and compilers are smaller.
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    here = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    good = seconds < LOG_SECONDS and max(memory, here) < LOG_MEMORY
    print(
        f"  log of {log.processes} processes ({path.stat().st_size / 2**20:.1f} MiB): read and "
        f"summed in {seconds:.1f} s, {memory / 2**20:.0f} MiB in the reader; aim: below "
        f"{LOG_SECONDS:.0f} s and {LOG_MEMORY / 2**20:.0f} MiB{'' if good else '   ABOVE THE AIM'}"
    )


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.bench_recorder")
    parser.add_argument("--pairs", type=int, default=15, help="rounds (15)")
    parser.add_argument("--directory", type=Path, default=Path("/dev/shm"))
    parser.add_argument("--only", choices=CASES, help="of the calls; no log is read")
    args = parser.parse_args(words)
    print("\nThe embedded recorder (posix-shared, one process)")
    failed = False
    if not args.only:
        with tempfile.TemporaryDirectory() as folder:
            large_log(Path(folder))
    for environ in local.site_configuration["environments"]:
        stack = Stack.of(environ)
        lacking = stack.lacking()
        if lacking:
            print(f"  {stack.name}: skipped, {lacking} is missing")
            continue
        try:
            program = build(stack) / "iokernel"
            for case in [CASES[args.only]] if args.only else CASES.values():
                overhead(stack, program, case, args.pairs, args.directory)
        except (CannotBuild, subprocess.CalledProcessError) as error:
            print(f"  {stack.name}: failed: {error}", file=sys.stderr)
            failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
