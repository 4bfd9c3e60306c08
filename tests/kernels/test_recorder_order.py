# SPDX-License-Identifier: BSD-3-Clause
"""Programs in order and programs that only look so: none is accused, and no race is missed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from iokernel_stacks import Stack
from recorder_runs import preload, traced

from iogauge.analysis.blame.races import find

ORDERED = (
    "send", "wildcard", "isend", "waited", "waited-all", "sendrecv", "duplicate", "split", "chain",
    "broadcast", "reduce", "gather", "scatter", "allgatherv", "gather-scatter", "flock",
    "lock-file", "record-lock", "ofd-lock", "tested", "tested-all", "waited-any", "waited-some",
    "probed", "taken", "taken-later", "on-grid", "ring", "reduce-scatter", "cancelled",
)  # fmt: skip
RACY = (
    "none", "other-tag", "other-communicator", "early-send", "late-wait", "answer",
    "broadcast-from-1", "reduce-to-0", "gather-to-0", "scatter-from-1", "shared-locks",
    "other-waited", "wrong-ring", "barrier-of-others", "early-ibarrier", "early-file", "own-files",
    "mixed-locks", "lock-of-half",
)  # fmt: skip
UNSEEN = (  # what completes is not matched, or whether a path was there before
    "ibarrier", "ibarrier-tested", "iallgather", "neighbors", "scan", "barrier-between", "fence",
    "sent-between", "posted", "flushed", "persistent", "file", "moved-file", "lock-by-file",
    "made-by-mkdirat", "made-by-linkat", "made-by-symlinkat", "made-by-renameat",
    "made-by-renameat2", "made-by-mpi", "gone-by-remove", "gone-by-unlinkat", "gone-by-mpi",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("kind", (*ORDERED, *RACY, *UNSEEN))
def test_a_kind_of_order(stack: Stack, tmp_path: Path, kind: str) -> None:
    program, traces, data = (tmp_path / name for name in ("program", "traces", "data"))
    data.mkdir()
    source = Path(__file__).with_name("mpi_ordered.c")
    words = [f"mpicc.{stack.name}", "-D_GNU_SOURCE", "-w", str(source), "-o", str(program)]
    subprocess.run(words, check=True)
    variables = preload(stack, traces, data, dxt=True)
    start = ["env", *(f"{name}={value}" for name, value in variables.items()), str(program)]
    own = {key: value for key, value in stack.environment().items() if key.startswith("OMPI_")}
    done = traced([*stack.launch, "-n", "3", *start, str(data / "f"), kind], own)
    assert done.returncode == 0, done.stderr
    found = find(traces)
    assert bool(len(found.certain)) == (kind in RACY)
    assert bool(len(found.races)) == (kind in RACY + UNSEEN)
