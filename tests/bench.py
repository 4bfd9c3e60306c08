# SPDX-License-Identifier: BSD-3-Clause
"""iokernel beside upstream's IOR, S3D-IO and benchmark_hdf5, and with its recorder beside without.

    IOR=PATH[:PATH] S3D_IO=PATH[:PATH] CGNS_BENCH=PATH[:PATH] python -m tests.bench [OPTION ...]

docs/benchmarks.md has the method. Exit status: 1 if a run failed.
"""

import argparse
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from iogauge.analysis.statistics.interval import of_pairs
from iogauge.measure import iokernel, kernels
from iogauge.measure.iokernel import Stack
from reframe_tests.machine.scales import near_cubic
from site_configs import local

Figures = dict[str, float]
MIB = 2**20
IOR_CALLS = (
    "-a POSIX", "-a POSIX -F", "-a MPIIO", "-a MPIIO -c", "-a HDF5", "-a HDF5 -c", "-a NCMPI -c",
)  # fmt: skip
S3D_METHODS = {"blocking": "0", "nonblocking": "1"}
CGNS_MODES = {"collective": ("COLL", ""), "independent": ("IND", "-ind")}
POINT, ELEMENT = 128, 432  # bytes: of S3D at a grid point, of the mesh for each element
S3D_LINE = re.compile(r"^\s*I/O\s+bandwidth\s*:\s*([\d.]+) MiB/s\s*$", re.MULTILINE)
OPENS = {"write": "create", "read": "open"}  # in our document
STRETCHES = ("coordinates", "elements", "fields", "arrays")
# The phases that iokernel and benchmark_hdf5 both time, in the order of upstream's columns.
PHASES = (
    *(f"{direction} {name}" for direction in OPENS for name in STRETCHES),
    *("write open", "read open", "write close", "read close"),
)
PRINTED = 15  # times in upstream's line, each with its average, minimum and maximum
LEAST = 0.010  # seconds of a phase: upstream prints three decimals
UNREADABLE = (ValueError, KeyError, IndexError, TypeError, OSError)


class NoFigures(Exception):
    """A program failed, or its output lacks what is read; the text says which."""


def of_iokernel(text: str) -> Figures:
    """MiB/s in iokernel's result document: the median of the repeats."""
    samples = json.loads(text)["samples"]
    there = [direction for direction in OPENS if samples[0][direction]]
    return {name: median(float(one[name]["bandwidth"]) for one in samples) for name in there}


def of_fastest(text: str) -> Figures:
    """Files per second in the write phase of the fastest repeat."""
    samples = json.loads(text)["samples"]
    return {"write": 1 / min(float(one["write"]["phases"]["write"]["max"]) for one in samples)}


def of_ior(text: str) -> Figures:
    found = json.loads(text)["tests"][0]["Results"]
    return {
        name: median(float(one["bwMiB"]) for one in found if one["access"] == name)
        for name in OPENS
    }


def of_s3d(text: str) -> Figures:
    """All bytes over the total I/O time, as both print it."""
    found = S3D_LINE.search(text)
    if not found:
        raise ValueError('no line "I/O bandwidth : ... MiB/s"')
    return {"total": float(found[1])}


def of_mesh(text: str) -> Figures:
    """Meshes per second in each phase of iokernel's only repeat, by its slowest process."""
    (sample,) = json.loads(text)["samples"]
    times = Figures()
    for direction, opening in OPENS.items():
        phases, stretches = sample[direction]["phases"], sample[direction]["stretches"]
        times |= {f"{direction} {one['name']}": one["max"] for one in stretches}
        times[f"{direction} open"] = phases[opening]["max"]
        times[f"{direction} close"] = phases["close"]["max"]
    return rates(times)


def of_benchmark_hdf5(text: str) -> Figures:
    """The same of its file: the number of processes, the total, then three figures for each."""
    (words,) = (line.split() for line in text.splitlines() if line and not line.startswith("#"))
    if len(words) < 1 + 3 * PRINTED:
        raise ValueError(f"no line of {PRINTED} times")
    return rates({name: float(words[3 + 3 * i]) for i, name in enumerate(PHASES, 1)})


def rates(times: Mapping[str, float]) -> Figures:
    return {name: 1 / float(times[name]) for name in PHASES if times[name] >= LEAST}


@dataclass(frozen=True)
class Side:
    """One program of a pair. `{}` in its words and in `prefix`, which starts it, is the folder.
    `figures` reads `file` there, else stdout. `leaves`: a file that the run must leave there."""

    program: Path
    figures: Callable[[str], Figures]
    words: str
    file: str = ""
    prefix: str = ""
    leaves: str = ""

    def measure(self, stack: Stack, processes: int, place: Path) -> Figures:
        with tempfile.TemporaryDirectory(prefix="iogauge-bench-", dir=place) as name:
            folder = Path(name)
            words, prefix = (text.replace("{}", name).split() for text in (self.words, self.prefix))
            own = replace(stack, program=self.program)
            done = iokernel.run(own, processes, words, prefix=prefix, seconds=600)
            command = " ".join(done.command)
            if done.status != 0:
                raise NoFigures(f"{done.why}: {command}")
            if self.leaves and not list(folder.glob(self.leaves)):
                raise NoFigures(f"no {self.leaves} was written by {command}")
            try:
                return self.figures((folder / self.file).read_text() if self.file else done.stdout)
            except UNREADABLE as error:
                raise NoFigures(f"{error!r} in what is printed by {command}") from error


@dataclass(frozen=True)
class Comparison:
    program: str
    label: str
    ours: Side
    other: Side

    def pairs(self, stack: Stack, processes: int, place: Path, count: int) -> list[list[Figures]]:
        found = []
        for pair in range(count):
            turn = -1 if pair % 2 else 1
            both = [one.measure(stack, processes, place) for one in (self.ours, self.other)[::turn]]
            found.append(both[::turn])
        return found


def cases(stack: Stack, processes: int, size: int, on_disk: bool) -> Iterator[Comparison]:
    """Of the programs that are there. `size`: bytes of a file, or of all with -F."""
    program, library = stack.program, kernels.environ(stack.name)["extras"]["mpi_library"]
    block = size // processes // MIB * MIB
    if ior := upstream("IOR", library):
        for call, transfer in itertools.product(IOR_CALLS, (block, MIB)):
            words = f"{call} -b {block} -t {transfer} -i 3 -w -r -o {{}}/file{' -e' * on_disk}"
            more = " --hdf5.noFill" * ("HDF5" in call)  # iokernel's data sets have no fill values
            more += " -O summaryFormat=JSON -O summaryFile={}/summary"
            own = f"ior {words} --buffer reused --json {{}}/summary"
            yield Comparison(
                "ior",
                f"{call[3:]}, {'block' if transfer == block else '1m'}",
                Side(program, of_iokernel, own, "summary"),
                Side(ior, of_ior, words + more, "summary"),
            )
    if s3d_io := upstream("S3D_IO", library):
        procs = near_cubic(processes)
        side = int((size / POINT) ** (1 / 3))
        grid = [max(1, side // p) * p for p in procs]
        for label, number in S3D_METHODS.items():
            theirs = Side(s3d_io, of_s3d, " ".join(map(str, (*grid, *procs, number, "F", "{}"))))
            ours = replace(theirs, program=program.with_name("s3d_io.x"))
            yield Comparison("s3d_io.x", label, ours, theirs)
    if benchmark := upstream("CGNS_BENCH", library):
        elements = size // ELEMENT // processes * processes
        for mode, (name, option) in CGNS_MODES.items():
            words = f"cgns-unstructured --method cgns --mode {mode} --elements {elements}"
            file = f"timing_{processes:06}_{name}.dat"
            yield Comparison(
                "benchmark_hdf5",
                mode,
                Side(program, of_mesh, f"{words} --dir {{}} --json {{}}/result", "result"),
                Side(
                    benchmark, of_benchmark_hdf5, f"-nelem {elements} {option}", file, "env -C {}"
                ),
            )
    # In memory, where its share of a call is largest.
    for transfer, total in () if on_disk else ((MIB, 2 * size), (4096, size // 2)):
        words = f"ior -t {transfer} -b {total // processes // MIB * MIB} --method posix-shared"
        words += " --dir {} --repeat 5 --write-only --json {}/result"
        without = Side(program, of_fastest, words, "result")
        prefix = " ".join(stack.recorded(Path("{}"), Path("{}")))
        recorded = replace(without, prefix=prefix, leaves="*.trace")
        yield Comparison("recorder", f"{transfer} bytes", recorded, without)


def linked_to(program: Path, library: str) -> bool:
    done = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=False)
    return any(line.split()[:1] == [library] for line in done.stdout.splitlines())


def upstream(variable: str, library: str) -> Path | None:
    """The program that a variable names for this MPI library, of several with colons between."""
    given = [Path(one).expanduser().absolute() for one in os.environ.get(variable, "").split(":")]
    return next((one for one in given if one.is_file() and linked_to(one, library)), None)


def rows(head: list[str], found: list[list[Figures]]) -> Iterator[str]:
    """A line of a Markdown table for each figure that both always have."""
    for name in found[0][0]:
        values = [(other[name], own[name]) for own, other in found if name in own and name in other]
        if len(values) < len(found):
            yield f"| {' | '.join([*head, name])} | too short to compare |"
            continue
        other, ours = (f"{median(side):.4g}" for side in zip(*values, strict=True))
        ratio = of_pairs(values)
        ends = "too few pairs"
        if ratio.low is not None and ratio.high is not None:
            ends = f"{ratio.low:.3g} to {ratio.high:.3g}"
        cells = [*head, name, ours, other, f"{ratio.value:.3g}", ends, ratio.verdict]
        yield f"| {' | '.join(cells)} |"


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--pairs", type=int, default=7, help="of each row (7)")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--size", type=int, default=128, metavar="MIB", help="in all (128)")
    parser.add_argument("--only", default="", help="rows that have this text, such as recorder")
    options = parser.parse_args(words)
    print(
        f"{options.processes} processes, {options.size} MiB, {options.pairs} pairs, "
        f"load {os.getloadavg()[0]:.2f}"
    )
    print("| program | call | stack | fs | figure | ours | other | ratio | interval | verdict |")
    print("|" + " --- |" * 10)
    failed = False
    places = {"ram": local.ram(), "disk": local.disk()}
    for environ, place in itertools.product(local.ENVIRONS, places):
        if reason := kernels.lacking(environ["name"]):
            print(reason, file=sys.stderr)
            continue
        stack = Stack.of(environ, kernels.build_for_runs(environ))
        folder = Path(places[place]["path"])
        folder.mkdir(parents=True, exist_ok=True)
        for case in cases(stack, options.processes, options.size * MIB, place == "disk"):
            head = [case.program, case.label, stack.name, place]
            if options.only not in " ".join(head):
                continue
            try:
                for row in rows(head, case.pairs(stack, options.processes, folder, options.pairs)):
                    print(row, flush=True)
            except (NoFigures, OSError) as error:
                failed = True
                print(f"failed: {' '.join(head)}: {error}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
