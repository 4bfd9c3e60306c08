# SPDX-License-Identifier: BSD-3-Clause
"""Whose pages `--drop-caches` drops: the run's own, and the node's only where those stay. And whose
data a process reads: another node's, which its own has no pages of.

In a mount name space, a plain file stands for /proc/sys/vm/drop_caches, and shows what was asked
of it."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

import pytest
from iokernel_stacks import Stack, missing, prepared, stacks
from recorder_runs import counters, kernel
from test_kernel_metadata import library

from reframe_tests.framework.recorders import RECORDER

ASKED = "/proc/sys/vm/drop_caches"
SPACE = ["unshare", "--mount", "bash", "-c", f'mount --bind "$1" {ASKED} && exec "${{@:2}}"', "-"]
S3D = ["s3d", "--grid", "16x16x16", "--procs-grid", "2x1x1", "--ceilings", "--fsync"]


@pytest.fixture(scope="module")
def any_stack() -> Stack:
    return next(prepared(name) for name, stack in stacks().items() if not missing(stack))


def run(stack: Stack, words: list[str], place: Path, data: Path) -> tuple[str, str]:
    """What was asked of the kernel, and what the document says."""
    asked = place / "asked"
    asked.touch()
    before = (*SPACE, str(asked))
    if os.geteuid() or subprocess.run([*before, "true"], check=False).returncode:
        pytest.skip("unshare, mount: only root has a mount name space here")
    words = [*words, "--drop-caches", "--dir", str(data)]
    document = stack.run(*words, before=before, document=place / "r.json").good()
    return asked.read_text(), document["used"]["caches"]


@pytest.mark.parametrize("method", ["posix", "posix-shared"])
def test_only_the_runs_own_pages_are_dropped(any_stack: Stack, method: str, tmp_path: Path) -> None:
    asked, caches = run(any_stack, [*S3D, "--method", method], tmp_path, tmp_path)
    assert caches != "cached"
    assert asked == ""


def test_of_a_series_nobody_may_look_at_all_files(any_stack: Stack, tmp_path: Path) -> None:
    words = ["metadata", "--files", "4", "--method", "posix"]
    asked, caches = run(any_stack, words, tmp_path, tmp_path)
    assert asked == "3" or caches == "memory"


def test_files_in_memory_stay_and_so_does_the_rest(any_stack: Stack, tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as shm:
        asked, caches = run(any_stack, [*S3D, "--method", "posix"], tmp_path, Path(shm))
    assert (asked, caches) == ("", "memory")


# Each process of MPI_COMM_WORLD is on the node that NODES names.
NODES = """
#include <mpi.h>
#include <stdlib.h>
int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *made) {
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return PMPI_Comm_split(comm, getenv("NODES")[rank] - '0', key, made);
}
"""
IOR = ["ior", "-b", "4k", "-t", "4k", "-C"]


@pytest.mark.parametrize(
    ("words", "nodes"),
    [
        (IOR, "0011"),
        (IOR, "0101"),
        (IOR, "0001"),
        (IOR, "102220"),
        (S3D, "011010"),
        (S3D, "0100"),
        (S3D, "000"),
    ],
    ids=str,
)
def test_as_many_as_possible_read_another_nodes_data(
    openmpi: Stack, words: list[str], nodes: str, tmp_path: Path
) -> None:
    """Any number of nodes, of any sizes, and ranks in any order; nobody reads what it wrote."""
    n = len(nodes)
    if words is S3D:
        words = ["s3d", "--grid", "12x2x2", "--procs-grid", f"{n}x1x1"]
    shim = library(tmp_path, NODES, "mpicc.openmpi")
    more = {"LD_PRELOAD": f"{shim}:{openmpi.build / RECORDER}", "NODES": nodes}
    run, traces = kernel(openmpi, tmp_path, *words, "--method", "posix", processes=n, more=more)
    run.good()
    reads = {
        trace.rank: int(record.path[-8:])
        for trace in traces
        for record in trace.records
        if record.module == "POSIX" and counters(record).get("BYTES_READ")
    }
    assert sorted(reads) == sorted(reads.values()) == list(range(n))
    assert all(rank != owner for rank, owner in reads.items())
    most = n - max(map(nodes.count, nodes))
    assert sum(nodes[a] != nodes[b] for a, b in reads.items()) == min(n, 2 * most)
