# SPDX-License-Identifier: BSD-3-Clause
"""What recording costs: the share that the embedded recorder takes of the time of writing.

The same writes of one process with it and without, one after the other; the ratio is of interest,
and not the times. On a file system in memory, where a share is largest.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import median

from iogauge.analysis.statistics.interval import of_pairs
from iogauge.measure import iokernel
from iogauge.measure.iokernel import Stack

from .ratio import ends

# Bytes of a call and in all, and the share that recording may cost.
CASES = ((2**20, 256 * 2**20, 0.03), (4096, 64 * 2**20, 0.05))


class Failed(Exception):
    """A run did not do what is measured; the text says how."""


def write_seconds(stack: Stack, call: int, size: int, place: Path, traced: bool) -> float:
    """The fastest of five repeats in one run."""
    with tempfile.TemporaryDirectory(dir=place) as folder:
        words = ["ior", "-t", str(call), "-b", str(size), "--method", "posix-shared"]
        words += ["--dir", folder, "--repeat", "5", "--write-only"]
        prefix = stack.recorded(Path(folder), Path(folder)) if traced else []
        document = Path(folder) / "result.json"
        done = iokernel.run(stack, 1, words, prefix=prefix, document=document)
        if done.status or not done.document:
            raise Failed(done.why)
        if traced and not list(Path(folder).glob("*.trace")):
            raise Failed(f"{stack.recorder} recorded nothing")
    return min(float(s["write"]["phases"]["write"]["max"]) for s in done.document["samples"])


def bench(stacks: Iterable[Stack], pairs: int, place: Path) -> Iterator[str]:
    """A line for each stack and case; what went wrong begins with "failed"."""
    for stack in stacks:
        try:
            for call, size, most in CASES:
                yield overhead(stack, call, size, most, pairs, place)
        except Failed as error:
            yield f"failed: {stack.name}: {error}"


def overhead(stack: Stack, call: int, size: int, most: float, pairs: int, place: Path) -> str:
    found = []
    for pair in range(pairs):
        order = (True, False) if pair % 2 else (False, True)
        both = {traced: write_seconds(stack, call, size, place, traced) for traced in order}
        found.append((both[False], both[True]))
    share = of_pairs(found)
    each = median(b - a for a, b in found) / (size // call) * 1e9
    return (
        f"{stack.name:8} {call:8} bytes: {share.value - 1:+.1%} of the write time "
        f"(ratio {ends(share, '{:.3f} to {:.3f}')}, {pairs} pairs; {each:+.0f} ns a call); "
        f"aim: below {most:.0%}{'   ABOVE THE AIM' if share.value - 1 >= most else ''}"
    )
