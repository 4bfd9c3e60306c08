# SPDX-License-Identifier: BSD-3-Clause
"""iokernel's cgns-unstructured beside the CGNS library's own benchmark_hdf5, phase by phase.

CGNS_BENCH names benchmark_hdf5 (src/ptests of the library's source), linked to the library that
iokernel is linked to. Both write and read the same mesh in one file with the same calls; who goes
first alternates. A ratio is upstream's seconds over ours: 1.2 is a fifth faster.
"""

from __future__ import annotations

import json
import statistics
import tempfile
from pathlib import Path
from typing import Any

from tools.bench import peers
from tools.bench import quiet as bench_quiet
from tools.bench import stats as bench_stats
from tools.bench.cases import CGNS, Choice
from tools.bench.parse import NotParsed
from tools.bench.run import DISTURBED, Bench, RunFailed, print_row

BYTES_PER_ELEMENT = 432  # 6 nodes of 72 bytes
# Upstream prints three decimals: what takes less than this cannot be compared.
LEAST_SECONDS = 0.010
MODES = {"collective": ("COLL", []), "independent": ("IND", ["-ind"])}

# The phases that both time: number in upstream's table, and where our document has it.
STRETCHES = ("coordinates", "elements", "fields", "arrays")
PHASES: dict[str, int] = {
    **{f"write {name}": 1 + i for i, name in enumerate(STRETCHES)},
    **{f"read {name}": 5 + i for i, name in enumerate(STRETCHES)},
    "write open": 9,
    "read open": 10,
    "write close": 11,
    "read close": 12,
}
OPENS = {"write": "create", "read": "open"}
PRINTED = 15  # times, each with its average, minimum and maximum over processes


def upstream_times(table: str) -> dict[str, float]:
    """Seconds of the slowest process, from timing_NNNNNN_MODE.dat: comments, then the number of
    processes, three figures for each time, and sizes."""
    words = [line.split() for line in table.splitlines() if line and not line.startswith("#")]
    if not words or len(words[0]) < 1 + 3 * PRINTED:
        raise NotParsed("no line of 15 times in benchmark_hdf5's table")
    numbers = [float(word) for word in words[0][1:]]
    return {name: numbers[3 * index + 2] for name, index in PHASES.items()}


def our_times(document: str) -> dict[str, float]:
    """The same from iokernel's result document, of its only repeat."""
    try:
        (sample,) = json.loads(document)["samples"]
        times = {}
        for direction, opening in OPENS.items():
            found: dict[str, Any] = sample[direction]
            times[f"{direction} open"] = float(found["phases"][opening]["max"])
            times[f"{direction} close"] = float(found["phases"]["close"]["max"])
            times |= {f"{direction} {s['name']}": float(s["max"]) for s in found["stretches"]}
        return times
    except (ValueError, KeyError, TypeError) as error:
        raise NotParsed(f"iokernel's result document: {error!r}") from error


def compare(bench: Bench, choice: Choice) -> None:
    """All stacks, process counts and modes, in memory (a mesh on disk compares the flush)."""
    print("\nCGNS: iokernel beside benchmark_hdf5, milliseconds of the slowest process")
    print_row("program", "phase", "stack", "procs", "fs", "mode", "mesh", "ours", "upstream",
              "ratio", "interval", "pairs", "verdict")  # fmt: skip
    for name, stack in bench.stacks.items():
        peer = peers.peers(CGNS, stack, bench.folders[name])
        if peer is None:
            print_row(CGNS, "", name, "", "", "", "", peers.how_to_give(CGNS, stack))
            continue
        for processes in choice.processes[name]:
            for mode in MODES:
                try:
                    _compare(bench, name, processes, mode, peer, choice.size)
                except (RunFailed, NotParsed, OSError) as error:
                    bench.failed = True
                    print_row(CGNS, "", name, str(processes), "ram", mode, "", f"failed: {error}")


def _compare(bench: Bench, stack: str, processes: int, mode: str, peer: Path, size: int) -> None:
    elements = size // BYTES_PER_ELEMENT // processes * processes
    found: dict[str, list[dict[str, float]]] = {"ours": [], "upstream": []}
    others = []
    for pair in range(bench.pairs):
        first = bench_stats.first_of_pair(pair)
        bench_quiet.wait_for_quiet(bench.cores, DISTURBED, bench.patience)
        before = bench_quiet.Clock.now()
        for side in sorted(found, key=lambda side: side != first):
            run = _ours if side == "ours" else _upstream
            found[side].append(run(bench, stack, processes, mode, elements, peer))
        others.append(bench_quiet.others_share(before, bench_quiet.Clock.now(), bench.cores))
    for phase in PHASES:
        ours = [times[phase] for times in found["ours"]]
        upstream = [times[phase] for times in found["upstream"]]
        head = (CGNS, phase, stack, str(processes), "ram", mode, f"{elements} el.")
        _conclude(bench, head, ours, upstream, others)


def _conclude(
    bench: Bench,
    head: tuple[str, ...],
    ours: list[float],
    upstream: list[float],
    others: list[float],
) -> None:
    middle = [f"{1000 * statistics.median(times):.1f}" for times in (ours, upstream)]
    row: dict[str, Any] = {"program": CGNS, "head": head, "ours": ours, "upstream": upstream}
    if statistics.median(upstream) < LEAST_SECONDS or min(upstream) <= 0:
        print_row(*head, *middle, "", "", "", "too short for upstream's three decimals")
        return
    # Rates, so that more is better as everywhere else.
    result = bench_stats.ratio([1 / t for t in ours], [1 / t for t in upstream])
    bench.cases.append({**row, "median": result.value, "others": others})
    noisy = sum(share >= DISTURBED for share in others)
    print_row(*head, *middle, f"{result.value:.2f}", bench_stats.ends(result), str(len(ours)),
              result.verdict + (f" ({noisy} disturbed)" if noisy else ""))  # fmt: skip


def _ours(
    bench: Bench, stack: str, processes: int, mode: str, elements: int, peer: Path
) -> dict[str, float]:
    del peer
    with _folder(bench) as name:
        command = [str(bench.folders[stack] / "iokernel"), "cgns-unstructured", "--method", "cgns"]
        command += ["--mode", mode, "--elements", str(elements), "--dir", name, "--json", "-"]
        return our_times(bench.run(bench.stacks[stack], processes, command))


def _upstream(
    bench: Bench, stack: str, processes: int, mode: str, elements: int, peer: Path
) -> dict[str, float]:
    word, options = MODES[mode]
    with _folder(bench) as name:
        # It writes where it stands.
        command = ["env", "-C", name, str(peer), "-nelem", str(elements), *options]
        bench.run(bench.stacks[stack], processes, command)
        return upstream_times((Path(name) / f"timing_{processes:06}_{word}.dat").read_text())


def _folder(bench: Bench) -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="iogauge-bench-", dir=bench.filesystems["ram"])
