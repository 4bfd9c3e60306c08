# SPDX-License-Identifier: BSD-3-Clause
"""Many short runs, with other work on the machine: does any crash, hang, or say something wrong?

    python -m tests.soak [--runs 10000] [--seed 1] [--stacks openmpi,mpich] [--load 4] [--keep DIR]

Each run is one that CTest knows (tests/ctest/), drawn by the seed: stack, pattern, method, mode,
processes, options. It is checked as CTest checks it. What did not end well is counted by its kind,
and its command, output and, where it did not end, the place of each of its processes are kept.

Exit status: 0 all were right, 1 some were not, 2 the command line is wrong.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from iogauge.analysis.errors import UsageError
from iogauge.common.paths import output
from iogauge.common.processes import of_session
from iogauge.measure import iokernel, kernels
from iogauge.measure.iokernel import Stack
from tests import markdown
from tests.ctest import discover, mpi_end, run_case

SECONDS = 180  # a run takes less than one; a loaded machine may be slow
PATIENCE = "60"  # of the kernels' own guard, which then ends a job in which nothing moves
PROCESSES = "1,2,3,4"
BUSY = "import os\nwhile os.getppid() == {parent}: sum(range(100000))"
RIGHT = "right"
# What the output of a run holds that did not end well, the first that fits; else it is "wrong".
KINDS = {
    "no end": "no end after",
    "hung": "no progress for",
    "crashed": "crashed",
    "error": "iokernel: error",
    "launcher": "expected 0",
}


@dataclass(frozen=True)
class Drawn(Stack):
    """A stack with what is drawn from."""

    listed: dict[str, Any] = field(default_factory=dict)
    combinations: Sequence[tuple[str, str, str | None]] = ()


@dataclass
class Found:
    """What came of the runs."""

    kinds: Counter[tuple[str, str]] = field(default_factory=Counter)  # by stack and kind
    methods: Counter[tuple[str, str]] = field(default_factory=Counter)  # by stack and method
    kept: list[Path] = field(default_factory=list)

    @property
    def wrong(self) -> int:
        return sum(n for (_, kind), n in self.kinds.items() if kind != RIGHT)


def prepared(name: str) -> Drawn:
    """A stack's kernels, as CTest runs them."""
    stack = Stack.of(kernels.environ(name), kernels.build_for_tests(name) / "iokernel")
    listed = stack.listing()
    return Drawn(**vars(stack), listed=listed, combinations=discover.combinations(listed))


def kind_of(wrong: str) -> str:
    return next((kind for kind, words in KINDS.items() if words in wrong), "wrong")


def drawn(
    stack: Drawn, draw: random.Random, folder: str
) -> tuple[Namespace, run_case.Case, run_case.Through, int] | None:
    """One run; None: this many processes cannot do it."""
    pattern, method, mode = draw.choice(stack.combinations)
    counts = discover.process_counts(stack.listed, method, mode, PROCESSES).split(",")
    served = method in {m["name"] for m in stack.listed["methods"] if "inner" in m["options"]}
    options = Namespace(
        program=str(stack.program),
        pattern=pattern,
        method=method,
        mode=mode,
        inner=",".join(discover.inner_methods(stack.listed, pattern)) if served else None,
        own_files=discover.named(stack.listed, "file_per_process"),
        moves_nothing=discover.named(stack.listed, "moves_nothing"),
        compresses=any(m["name"] == mode and m["compresses"] for m in stack.listed["modes"]),
        dir=folder,
        launch=[*stack.launch],
    )
    processes = int(draw.choice(counts))
    ways = run_case.variants(options, processes)
    if not ways:
        return None
    way = draw.choice(ways)
    case = draw.choice(run_case.cases(pattern, way.own_files, processes - way.servers))
    return options, case, way, processes


def places(leader: int) -> str:
    """Where each process of a run is: its threads' system calls, and its calls where gdb is."""
    text = ""
    for number in of_session(leader):
        entry = Path("/proc") / str(number)
        try:
            text += f"\n{number}: {(entry / 'cmdline').read_bytes()[:120]!r}\n"
            for thread in (entry / "task").iterdir():
                text += f"  {thread.name} {(thread / 'wchan').read_text()}"
                text += f" {(thread / 'syscall').read_text()}"
        except OSError:
            continue
        if shutil.which("gdb"):
            command = ["gdb", "-p", entry.name, "-batch", "-ex", "thread apply all bt"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            text += done.stdout
    return text


def run(command: list[str], document: Path) -> dict[str, Any]:
    """As run_case.run, but one that does not end says where it stands."""
    stood: list[str] = []
    done = iokernel.execute(
        [*command, "--patience", PATIENCE], kernels.variables(), seconds=SECONDS,
        document=document, late=lambda leader: stood.append(places(leader)),
    )  # fmt: skip
    text = done.stdout + done.stderr
    if done.status is None:
        raise run_case.Wrong(f"no end after {SECONDS} s:{''.join(stood)}\nexpected 0:\n{text}")
    if mpi_end.kernel_blames_mpi(text):
        raise run_case.MpiCrashed(text)
    if done.status or "iokernel: error" in text:
        raise run_case.Wrong(f"exit status {done.status}; expected 0:\n{text}")
    if done.document is None:
        raise run_case.Wrong("no result document was written")
    return done.document


@contextmanager
def busy(count: int) -> Iterator[None]:
    """Other work: processes that compute, until this one is over."""
    program = BUSY.format(parent=os.getpid())
    with ExitStack() as stack:
        for _ in range(count):
            child = subprocess.Popen([sys.executable, "-c", program])
            stack.callback(child.wait)
            stack.callback(child.kill)
        yield


def soak(stacks: list[Drawn], runs: int, seed: int, keep: Path) -> Found:
    """`runs` runs; `keep` gets a text for each that was not right."""
    found, draw, began = Found(), random.Random(seed), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="iogauge-soak-") as folder:
        done = 0
        while done < runs:
            stack = draw.choice(stacks)
            one = drawn(stack, draw, folder)
            if one is None:
                continue
            done += 1
            found.methods[stack.name, one[0].method] += 1
            kind = RIGHT
            try:
                run_case.one_or_again(*one, run)
            except run_case.Wrong as wrong:
                kind = kind_of(str(wrong))
                found.kept.append(keep / f"seed-{seed}-run-{done}.txt")
                keep.mkdir(parents=True, exist_ok=True)
                found.kept[-1].write_text(f"{kind}\n{wrong}\n")
                print(f"run {done}: {kind}: {found.kept[-1]}", flush=True)
            found.kinds[stack.name, kind] += 1
            if done % 500 == 0:
                minutes = (time.monotonic() - began) / 60
                print(f"{done} runs in {minutes:.0f} min, {found.wrong} not right", flush=True)
    return found


def table(found: Found) -> str:
    kinds = [RIGHT, *KINDS, "wrong"]
    stacks = sorted({stack for stack, _ in found.kinds})
    counts = {stack: [found.kinds[stack, kind] for kind in kinds] for stack in stacks}
    rows = ([stack, sum(counts[stack]), *counts[stack]] for stack in stacks)
    lines = [markdown.table(("stack", "runs", *kinds), rows)]
    for stack in stacks:
        each = {method: n for (of, method), n in sorted(found.methods.items()) if of == stack}
        lines.append(f"\n{stack}: " + ", ".join(f"{method} {n}" for method, n in each.items()))
    return "\n".join(lines)


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="tests.soak", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--stacks", default="openmpi,mpich")
    parser.add_argument(
        "--load", type=int, default=4, help="processes that compute beside the runs"
    )
    parser.add_argument("--keep", type=Path, default=output() / "soak", metavar="DIR")
    options = parser.parse_args(words)
    try:
        stacks = [prepared(name) for name in options.stacks.split(",")]
    except UsageError as error:
        parser.error(str(error))
    with busy(options.load):
        found = soak(stacks, options.runs, options.seed, options.keep)
    print(table(found))
    return 1 if found.wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
