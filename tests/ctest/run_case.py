# SPDX-License-Identifier: BSD-3-Clause
"""Runs one pattern x method x mode with several process counts, and checks the result document:
amounts are computed here from the options, not taken from the program's output."""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tests.ctest import mpi_end, mpi_settings

GRID = (13, 11, 7)
S3D_VALUES = 11 + 3 + 1 + 1  # float64 values per grid point
PROCESS_GRIDS = {6: "1x2x3", 4: "4x1x1"}  # otherwise chosen by the program
# Files with nothing but the payload; files of other methods are at least as large.
RAW = ("posix", "posix-shared", "master", "twophase", "mpiio")
SECONDS = 600  # for one run, on a machine however loaded


@dataclass(frozen=True)
class Case:
    """One run: options, and the elements it must move per step (None: from the data sets)."""

    options: tuple[str, ...]
    steps: int
    repeats: int
    elements: int | None
    element_size: int
    own_files: bool = False
    beside: int = 0  # text files per step, with a file per process
    records: bool = False  # data in Fortran records
    series: int = 1  # files per process and step


def s3d_cases(processes: int) -> list[Case]:
    options = ["--grid", "x".join(map(str, GRID)), "--steps", "2", "--repeat", "2"]
    if processes in PROCESS_GRIDS:
        options += ["--procs-grid", PROCESS_GRIDS[processes]]
    if processes % 2 == 0:
        options.append("--fsync")
    return [Case(tuple(options), 2, 2, math.prod(GRID) * S3D_VALUES, 8)]


def ior_cases(processes: int) -> list[Case]:
    """A shared file in odd pieces, and a file per process; -C and -Z alternate."""
    first, second = ("-C", "-Z") if processes % 2 else ("-Z", "-C")
    shared = ("-b", "1001", "-t", "77", "-s", "3", first, "--repeat", "2")
    own = ("-b", "20k", "-t", "10k", "-s", "2", "-F", second, "--steps", "2", "-e")
    return [
        Case(shared, 1, 2, processes * 1001 * 3, 1),
        Case(own, 2, 1, processes * 20 * 1024 * 2, 1, own_files=True),
    ]


def ramses_cases(pattern: str, own_files: bool, processes: int) -> list[Case]:
    """Uneven levels, some empty; both kinds of values; both layouts of a shared file."""
    small = ("--size", "8", "--steps", "2", "--refine")
    if own_files:
        more = ("--io-group", "2") if processes % 2 == 0 else ("--values", "physical")
        texts = 3 if pattern == "ramses-hydro" else 2
        return [Case((*small, *more), 2, 1, None, 0, beside=texts, records=True)]
    other: tuple[str, ...] = ("--size", "16", "--layout", "process-major", "--repeat", "2")
    other = (*other, "--values", "physical")
    if processes % 2:
        other = (*other, "--merge-levels")
    return [Case(small, 2, 1, None, 0), Case(other, 1, 2, None, 0)]


def structured_cases(processes: int) -> list[Case]:
    """A zone per process; one block with fewer planes than the largest process count."""
    each = ("--zone", "7x5x3", "--steps", "2", "--repeat", "2")
    block: tuple[str, ...] = ("--one-block", "9x8x4", "--real", "float64", "--fsync")
    if processes % 2:
        block = (*block, "--by-coordinate")
    return [Case(each, 2, 2, processes * 7 * 5 * 3 * 3, 4), Case(block, 1, 1, 9 * 8 * 4 * 3, 8)]


def unstructured_cases(processes: int) -> list[Case]:
    """Uneven, and with fewer elements than the largest process count."""
    per_element = 6 * (3 + 3 + 2) + 6  # coordinates, fields, arrays; connectivity
    many = ("--elements", "1001", "--steps", "2", "--repeat", "2")
    few = ("--elements", "5", *(("--fsync",) if processes % 2 else ()))
    return [Case(many, 2, 2, 1001 * per_element, 8), Case(few, 1, 1, 5 * per_element, 8)]


def metadata_cases(processes: int) -> list[Case]:
    """Three int64 per file; both directory layouts."""

    def case(files: int, *more: str, steps: int = 1, repeats: int = 1) -> Case:
        options = ("--files", str(files), "--steps", str(steps), "--repeat", str(repeats), *more)
        elements = processes * files * 3
        return Case(options, steps, repeats, elements, 8, own_files=True, series=files)

    return [case(5, "--unique-dir", steps=2), case(9, repeats=2), case(1, "--fsync")]


def weather_cases(processes: int) -> list[Case]:
    """An odd grid; all arrays in one call, or one call per array."""
    options = ["--grid", "13x11x3", "--arrays", "3", "--steps", "2", "--repeat", "2"]
    if processes % 2:
        options.append("--merge")
    return [Case(tuple(options), 2, 2, 13 * 11 * 3 * 3, 4)]


def cases(pattern: str, own_files: bool, processes: int) -> list[Case]:
    if pattern.startswith("ramses-"):
        return ramses_cases(pattern, own_files, processes)
    known = {
        "s3d": s3d_cases,
        "ior": ior_cases,
        "cgns-structured": structured_cases,
        "cgns-unstructured": unstructured_cases,
        "weather": weather_cases,
        "metadata": metadata_cases,
    }
    if pattern in known:
        return known[pattern](processes)
    return [Case(("--steps", "2", "--repeat", "2"), 2, 2, None, 0)]


@dataclass(frozen=True)
class Through:
    """How a case is run: the method, or the inner method and number of its servers."""

    method: str  # that writes the files
    own_files: bool  # file per process
    moves: bool
    options: tuple[str, ...] = ()
    servers: int = 0
    compresses: bool = False


def through(options: argparse.Namespace, name: str, *words: str, servers: int = 0) -> Through:
    own, nothing = options.own_files.split(","), options.moves_nothing.split(",")
    return Through(name, name in own, name not in nothing, words, servers, options.compresses)


def variants(options: argparse.Namespace, processes: int) -> list[Through]:
    """Every inner method with two processes, two of them with more; queues smaller than the data;
    as many servers as clients, fewer, and more."""
    if not options.inner:
        return [through(options, options.method)]
    inner = options.inner.split(",")
    if processes < 2:
        return []
    if processes > 2:
        inner = [inner[(processes + shift) % len(inner)] for shift in (0, 2)]
    found = []
    for turn, name in enumerate(inner):
        servers = max(1, processes - 2 if turn % 2 else processes // 3)
        words = ["--inner", name, "--io-processes", str(servers)]
        words += ["--queue-limit", ("4k", "64k")[turn % 2]]
        words += ["--send", ("zero-copy", "copy")[(turn + processes) % 2]]
        found.append(through(options, name, *words, servers=servers))
    return found


class Wrong(Exception):
    pass


class MpiCrashed(Wrong):
    """And not the kernel (mpi_end.py)."""


def expect(what: str, found: object, right: object) -> None:
    if found != right:
        raise Wrong(f"{what} is {found!r}; expected {right!r}")


def environment() -> dict[str, str]:
    """Root may run Open MPI."""
    names = ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM")
    return os.environ | dict.fromkeys(names if os.geteuid() == 0 else (), "1")


Run = Callable[[list[str], Path], dict[str, Any]]  # command and path of the document


def run(command: list[str], document: Path) -> dict[str, Any]:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, env=environment(), timeout=SECONDS
        )
    except subprocess.TimeoutExpired as expired:
        raise Wrong(f"no end after {SECONDS} s; stderr: {expired.stderr!r}") from None
    if mpi_end.kernel_blames_mpi(done.stderr):
        raise MpiCrashed(done.stderr)
    if done.returncode or "iokernel: error" in done.stderr or "Sanitizer" in done.stderr:
        raise Wrong(f"exit status {done.returncode}; expected 0; stderr:\n{done.stderr}")
    if not document.exists():
        raise Wrong("no result document was written")
    result: dict[str, Any] = json.loads(document.read_text())
    return result


KINDS = ("int", "uint", "float")
BYTES = {"byte": 1, "char": 1} | {f"{kind}{8 * n}": n for kind in KINDS for n in (1, 2, 4, 8)}


def check_facts(document: Any) -> None:
    """What the parts of any result document say of each other."""
    system, found, payload = (document[key] for key in ("system", "verification", "payload"))
    processes, nodes, most = (system[key] for key in ("processes", "nodes", "processes_per_node"))
    expect("number of hosts", len(system["hosts"]), nodes)
    expect("processes fit nodes", nodes <= processes <= nodes * most <= nodes * processes, True)
    expect("a first wrong element is there", found["first"] is not None, found["mismatches"] > 0)
    for one in payload["datasets"]:
        size = math.prod(one["shape"]) * BYTES[one["type"]]
        expect(f"bytes of {one['name']}", one["bytes"], size)
    files = document["files"]
    if files and len(files) == document["file_count"]:
        expect("file_bytes", document["file_bytes"], sum(one["bytes"] for one in files))
    moved = payload["bytes"] if document["asked"]["pattern"] != "replay" else None  # by direction
    for sample in document["samples"]:
        for side in filter(None, (sample.get(name) for name in ("write", "read", "direct"))):
            check_side(side, moved)


def check_side(side: Any, payload: int | None) -> None:
    phases, seconds = side["phases"].values(), side["seconds"]
    if any(phase["min"] is None for phase in phases):  # only the slowest is known
        return
    near = {"seconds": (seconds, sum(phase["max"] for phase in phases))}
    if payload and seconds:
        near["bandwidth"] = side["bandwidth"], payload / seconds / 2**20
    for what, (one, right) in near.items():
        if not math.isclose(one, right, rel_tol=1e-6):
            raise Wrong(f"{what} is {one}; expected {right}")
    for phase in phases:
        room = 1e-6 * phase["max"] + 1e-9
        ordered = 0 <= phase["min"] <= phase["mean"] + room <= phase["max"] + 2 * room
        expect("minimum, mean and maximum are in order", ordered, True)
    if latency := side.get("latency"):
        values = [latency[key] for key in ("p50", "p90", "p99", "p999", "max")]
        expect("percentiles", values, sorted(values))


def check_amounts(case: Case, variant: Through, processes: int, document: dict[str, Any]) -> None:
    payload, checked = document["payload"], document["verification"]
    moves = variant.moves
    if case.elements is None:
        elements = sum(math.prod(d["shape"]) for d in payload["datasets"])
        size = sum(d["bytes"] for d in payload["datasets"])
    else:
        elements, size = case.elements, case.elements * case.element_size
        if case.element_size == 1:  # IOR's files may store bytes as words
            first = payload["datasets"][0]
            elements = size * math.prod(first["shape"]) // first["bytes"]
    elements, size = elements * case.steps, size * case.steps
    expect("payload.bytes", payload["bytes"], size)
    expect("verification.verdict", checked["verdict"], "verified" if moves else "nothing moved")
    expect("verification.elements", checked["elements"], elements * case.repeats * moves)
    expect("verification.bytes", checked["bytes"], size * case.repeats * moves)
    expect("verification.mismatches", checked["mismatches"], 0)
    own = case.own_files or variant.own_files
    files = processes * case.series + case.beside if own else 1
    expect("file_count", document["file_count"], moves * case.steps * files)
    if variant.method in RAW and not case.records:
        expect("file_bytes", document["file_bytes"], size)
    stored = size if payload["stored"] is None else payload["stored"]
    expect("payload.stored is a number", payload["stored"] is not None, variant.compresses)
    if moves and not 0 < stored <= document["file_bytes"]:
        raise Wrong(f"file_bytes is {document['file_bytes']}: less than the data, {stored} bytes")


def check_answers(
    options: argparse.Namespace, case: Case, variant: Through, processes: int, found: Any
) -> None:
    asked = found["asked"]
    expect("status", found["status"], "ok")
    expect("asked.pattern", asked["pattern"], options.pattern)
    expect("asked.method", asked["method"], options.method)
    expect("asked.mode", asked["mode"], options.mode)
    expect("asked.fsync", asked["fsync"], "--fsync" in case.options or "-e" in case.options)
    expect("system.processes", found["system"]["processes"], processes)
    expect("system.io_processes", found["system"]["io_processes"], variant.servers)
    expect("samples", [s["repeat"] for s in found["samples"]], list(range(case.repeats)))
    for sample in found["samples"]:
        for direction in ("write", "read"):
            if not sample[direction] or sample[direction]["seconds"] <= 0:
                raise Wrong(f"samples[{sample['repeat']}].{direction} was not measured")


def one(
    options: argparse.Namespace, case: Case, variant: Through, processes: int, run: Run = run
) -> None:
    with tempfile.TemporaryDirectory(prefix="iokernel-", dir=options.dir) as temporary:
        place, document = Path(temporary) / "data", Path(temporary) / "result.json"
        place.mkdir()
        command = [*options.launch, "-n", str(processes), options.program, options.pattern]
        command += [*case.options, "--method", options.method, *variant.options]
        command += ["--dir", str(place)]
        command += ["--mode", options.mode] if options.mode else []
        command += ["--json", str(document)]
        try:
            found = run(command, document)
            check_facts(found)
            check_answers(options, case, variant, processes, found)
            check_amounts(case, variant, processes - variant.servers, found)
            expect("files left in --dir", sorted(p.name for p in place.iterdir()), [])
        except Wrong as wrong:
            raise type(wrong)(f"{' '.join(command)}\n  {wrong}") from None


def one_or_again(
    options: argparse.Namespace, case: Case, variant: Through, processes: int, run: Run = run
) -> None:
    try:
        one(options, case, variant, processes, run)
    except MpiCrashed as crash:
        print(f"repeated, because MPI crashed, not the kernel: {crash}", flush=True)
        one(options, case, variant, processes, run)
    except Wrong as wrong:
        if "Sanitizer" in str(wrong):
            print("repeated, with the names of functions", flush=True)
            os.environ["ASAN_OPTIONS"] = f"{os.environ.get('ASAN_OPTIONS', '')}:symbolize=1"
            one(options, case, variant, processes, run)
        raise


def check_refusal(options: argparse.Namespace) -> None:
    """Pairs that --list rules out are refused before anything runs, with the same reason."""
    command = [*options.launch, "-n", "2", options.program, options.pattern]
    command += ["--method", options.method, "--dir", options.dir]
    start = partial(subprocess.run, command, capture_output=True, text=True, env=environment(),
                    timeout=SECONDS)  # fmt: skip
    done = mpi_end.twice_at_most(start, lambda one: mpi_end.kernel_blames_mpi(one.stderr))
    expect("exit status", done.returncode, 2)
    if options.refused not in done.stderr:
        raise Wrong(f"stderr is {done.stderr!r}; expected {options.refused!r}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--pattern", required=True)
    parser.add_argument("--method", required=True)
    parser.add_argument("--mode")
    parser.add_argument("--refused", help="the reason in --list why the pair is not supported")
    parser.add_argument("--inner", help="inner methods, such as posix,mpiio")
    parser.add_argument("--own-files", default="", help="methods with a file per process")
    parser.add_argument("--compresses", action="store_true", help="the mode has filters")
    parser.add_argument("--moves-nothing", default="", help="methods that move no data")
    parser.add_argument("--processes", required=True, help="such as 1,2,4")
    parser.add_argument("--dir", required=True)
    parser.add_argument("launch", nargs="+")
    options = parser.parse_args()
    with mpi_settings.session_folder() as folder:
        os.environ |= mpi_settings.settings(folder)
        failed = run_all(options)
    raise SystemExit(1 if failed else 0)


def run_all(options: argparse.Namespace) -> int:
    failed = 0
    counts = [int(n) for n in options.processes.split(",")]
    if options.refused:
        counts = []
        check_refusal(options)
    for processes in counts:
        for variant in variants(options, processes):
            for case in cases(options.pattern, variant.own_files, processes - variant.servers):
                words = " ".join((*case.options, *variant.options))
                try:
                    one_or_again(options, case, variant, processes)
                    print(f"verified: {processes} processes, {words}", flush=True)
                except Wrong as wrong:
                    failed += 1
                    print(f"FAILED: {wrong}", flush=True)
    return failed


if __name__ == "__main__":
    main()
