# SPDX-License-Identifier: BSD-3-Clause
"""iokernel beside the programs that it can replace: IOR, S3D-IO, and the CGNS library's
benchmark_hdf5."""

from __future__ import annotations

import argparse
import itertools
import json
import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from iogauge.analysis.statistics.interval import of_pairs
from iogauge.measure import iokernel, kernels
from iogauge.measure.iokernel import Stack
from site_configs import local

from .ratio import ends

Figures = dict[str, float]
IOR_CALLS = (
    "-a POSIX", "-a POSIX -F", "-a MPIIO", "-a MPIIO -c", "-a HDF5", "-a HDF5 -c", "-a NCMPI -c",
)  # fmt: skip
S3D_METHODS = {"blocking": "0", "nonblocking": "1"}
CGNS_MODES = {"collective": ("COLL", []), "independent": ("IND", ["-ind"])}
POINT, ELEMENT = 128, 432  # bytes: of S3D at a grid point, of the mesh for each element
# The phases that iokernel and benchmark_hdf5 both time, by the number of upstream's column.
PHASES = {
    f"{way} {name}": first + i
    for way, first in (("write", 1), ("read", 5))
    for i, name in enumerate(("coordinates", "elements", "fields", "arrays"))
} | {"write open": 9, "read open": 10, "write close": 11, "read close": 12}
OPENS = {"write": "create", "read": "open"}  # in our document
LEAST = 0.010  # seconds of a phase: upstream prints three decimals
PRINTED = 15  # times in upstream's line, each with its average, minimum and maximum
S3D_LINE = re.compile(r"^\s*I/O\s+bandwidth\s*:\s*([\d.]+) MiB/s\s*$", re.MULTILINE)


class NotParsed(Exception):
    """A program's output is not what it should be; the text says what is missing."""


def of_samples(text: str) -> Figures:
    """MiB/s in iokernel's result document: the median of the repeats."""
    samples = json.loads(text)["samples"]
    ways = [way for way in ("write", "read") if samples[0][way]]
    return {way: median(float(s[way]["bandwidth"]) for s in samples) for way in ways}


def of_ior(text: str) -> Figures:
    """The same in IOR 4's JSON summary."""
    found = json.loads(text)["tests"][0]["Results"]
    both = {w: [float(r["bwMiB"]) for r in found if r["access"] == w] for w in ("write", "read")}
    return {way: median(values) for way, values in both.items() if values}


def of_s3d(text: str) -> Figures:
    """All bytes over the total I/O time, as both print it."""
    found = S3D_LINE.search(text)
    if not found:
        raise ValueError('no line "I/O bandwidth : ... MiB/s"')
    return {"total": float(found[1])}


def of_stretches(text: str) -> Figures:
    """Meshes per second in each phase of iokernel's only repeat, by its slowest process."""
    (sample,) = json.loads(text)["samples"]
    times = Figures()
    for way, opening in OPENS.items():
        found = sample[way]
        times |= {f"{way} {stretch['name']}": stretch["max"] for stretch in found["stretches"]}
        times[f"{way} open"] = found["phases"][opening]["max"]
        times[f"{way} close"] = found["phases"]["close"]["max"]
    return {name: 1 / float(times[name]) for name in PHASES if times[name] >= LEAST}


def of_cgns(text: str) -> Figures:
    """The same of benchmark_hdf5's file: the number of processes, then three figures for each."""
    (words,) = (line.split() for line in text.splitlines() if line and not line.startswith("#"))
    if len(words) < 1 + 3 * PRINTED:
        raise ValueError("no line of 15 times")
    times = {name: float(words[1 + 3 * column + 2]) for name, column in PHASES.items()}
    return {name: 1 / seconds for name, seconds in times.items() if seconds >= LEAST}


# What is in a file or on stdout, as numbers.
PARSERS: dict[str, Callable[[str], Figures]] = {
    "iokernel": of_samples,
    "ior": of_ior,
    "s3d_io.x": of_s3d,
    "cgns-unstructured": of_stretches,
    "benchmark_hdf5": of_cgns,
}


def parsed(by: str, text: str) -> Figures:
    try:
        return PARSERS[by](text)
    except (ValueError, KeyError, IndexError, TypeError, ZeroDivisionError) as error:
        raise NotParsed(f"{by}: {error!r}") from error


@dataclass(frozen=True)
class Side:
    """One program of a pair. `{}` in its words is the folder; `file`: there, with the figures, else
    they are on stdout. `prefix`: what starts the program."""

    by: str
    words: str
    file: str = ""
    prefix: str = ""

    def measure(self, stack: Stack, processes: int, place: Path) -> Figures:
        with tempfile.TemporaryDirectory(prefix="iogauge-bench-", dir=place) as folder:
            words, prefix = (
                text.replace("{}", folder).split() for text in (self.words, self.prefix)
            )
            done = iokernel.run(stack, processes, words, prefix=prefix, seconds=600)
            if done.status != 0:
                raise NotParsed(f"{self.by}: {done.why}: {' '.join(done.command)}")
            path = Path(folder) / self.file
            text = path.read_text() if self.file and path.is_file() else done.stdout
        return parsed(self.by, text)


@dataclass(frozen=True)
class Case:
    program: str
    variable: str
    label: str
    ours: Side
    upstream: Side


def cases(processes: int, size: int, fsync: bool) -> Iterator[Case]:
    """`size`: bytes of a file, or of all with -F."""
    block = size // processes // 2**20 * 2**20
    for call, transfer in itertools.product(IOR_CALLS, (block, 2**20)):
        words = f"{call} -b {block} -t {transfer} -i 3 -w -r -o {{}}/file{' -e' * fsync}"
        more = " --hdf5.noFill" * ("HDF5" in call)  # iokernel's data sets have no fill values
        more += " -O summaryFormat=JSON -O summaryFile={}/summary"
        ours = Side("iokernel", f"ior {words} --buffer reused --json {{}}/summary", "summary")
        label = f"{call[3:]}, {'block' if transfer == block else '1m'}"
        yield Case("ior", "IOR", label, ours, Side("ior", words + more, "summary"))
    procs = process_grid(processes)
    side = int((size / POINT) ** (1 / 3))
    grid = [max(1, side // p) * p for p in procs]
    for label, number in S3D_METHODS.items():
        words = " ".join(map(str, (*grid, *procs, number, "F", "{}")))
        yield Case("s3d_io.x", "S3D_IO", label, Side("s3d_io.x", words), Side("s3d_io.x", words))
    elements = size // ELEMENT // processes * processes
    for mode, (word, more_words) in CGNS_MODES.items():
        words = f"cgns-unstructured --method cgns --mode {mode} --elements {elements} --dir {{}}"
        ours = Side("cgns-unstructured", f"{words} --json {{}}/result", "result")
        upstream = Side(
            "benchmark_hdf5", " ".join(["-nelem", str(elements), *more_words]),
            f"timing_{processes:06}_{word}.dat", "env -C {}",
        )  # fmt: skip
        yield Case("benchmark_hdf5", "CGNS_BENCH", mode, ours, upstream)


def process_grid(processes: int) -> tuple[int, int, int]:
    """The three factors that differ least, the largest one along x."""
    sides = itertools.product(range(1, processes + 1), repeat=2)
    triples = [(a, b, processes // a // b) for a, b in sides if processes % (a * b) == 0]
    return min(triples, key=lambda t: (max(t) - min(t), -t[0], -t[1]))


def linked_to(program: Path, library: str) -> bool:
    done = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=False)
    return any(line.split()[:1] == [library] for line in done.stdout.splitlines())


def upstream(variable: str, library: str) -> Path | None:
    """The program that a variable names for this MPI library, of several with colons between."""
    given = [Path(one).expanduser().absolute() for one in os.environ.get(variable, "").split(":")]
    return next((one for one in given if one.is_file() and linked_to(one, library)), None)


def pairs(
    case: Case, stack: Stack, peer: Path, processes: int, place: Path, number: int
) -> list[tuple[Figures, Figures]]:
    """Upstream's figures and ours, of each pair."""
    own = stack.program.with_name("s3d_io.x") if case.program == "s3d_io.x" else stack.program
    stacks = {"upstream": replace(stack, program=peer), "ours": replace(stack, program=own)}
    found = []
    for pair in range(number):
        both: dict[str, Figures] = {}
        for name in list(stacks)[:: 1 if pair % 2 else -1]:
            side = case.ours if name == "ours" else case.upstream
            both[name] = side.measure(stacks[name], processes, place)
        found.append((both["upstream"], both["ours"]))
    return found


def rows(head: list[str], found: list[tuple[Figures, Figures]]) -> Iterator[str]:
    """A line of a Markdown table for each figure that both always have."""
    for name in found[0][1]:
        values = [(a[name], b[name]) for a, b in found if name in a and name in b]
        if len(values) < len(found):
            yield f"| {' | '.join([*head, name])} | too short to compare |"
            continue
        theirs, ours = (f"{median(side):.4g}" for side in zip(*values, strict=True))
        ratio = of_pairs(values)
        range_of = ends(ratio, "{:.2f} to {:.2f}")
        cells = [*head, name, ours, theirs, f"{ratio.value:.2f}", range_of, ratio.verdict]
        yield f"| {' | '.join(cells)} |"


def bench(stacks: Iterable[Stack], options: argparse.Namespace) -> Iterator[str]:
    """The lines of the table; what went wrong begins with "failed"."""
    yield "| program | call | stack | fs | figure | ours | upstream | ratio | interval | verdict |"
    yield "|" + " --- |" * 10
    places = {"ram": local.ram(), "disk": local.disk()}
    for stack, (place, entry) in itertools.product(stacks, places.items()):
        folder = Path(entry["path"])
        folder.mkdir(parents=True, exist_ok=True)
        for case in cases(options.processes, options.size * 2**20, place == "disk"):
            head = [case.program, case.label, stack.name, place]
            peer = upstream(case.variable, library(stack))
            if options.only not in " ".join(head) or peer is None:
                continue
            try:
                found = pairs(case, stack, peer, options.processes, folder, options.pairs)
                yield from rows(head, found)
            except (NotParsed, OSError) as error:
                yield f"failed: {' '.join(head)}: {error}"


def library(stack: Stack) -> str:
    """Of MPI."""
    return str(kernels.environ(stack.name)["extras"]["mpi_library"])
