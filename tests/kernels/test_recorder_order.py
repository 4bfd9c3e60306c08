# SPDX-License-Identifier: BSD-3-Clause
"""Programs in order and programs that only look so: none is accused, and no race is missed."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path

import pytest
from iokernel_stacks import Stack
from recorder_runs import launched, preload, traces_in

from iogauge.analysis.blame.races import Blame, find
from iogauge.analysis.darshan.raw import EVENT, FORKED, LOOKED, MESSAGE

ORDERED = (
    "send", "wildcard", "isend", "waited", "waited-all", "sendrecv", "duplicate", "split", "chain",
    "broadcast", "reduce", "gather", "scatter", "allgatherv", "gather-scatter", "flock",
    "lock-file", "record-lock", "ofd-lock", "tested", "tested-all", "waited-any", "waited-some",
    "probed", "taken", "taken-later", "on-grid", "ring", "reduce-scatter", "cancelled",
    "lockf", "lock-from-here", "lock-from-end", "flock-and-close", "ftruncate-locked",
    "ftruncate-by-both",
)  # fmt: skip
RACY = (
    "none", "other-tag", "other-communicator", "early-send", "late-wait", "answer",
    "broadcast-from-1", "reduce-to-0", "gather-to-0", "scatter-from-1", "shared-locks",
    "other-waited", "wrong-ring", "barrier-of-others", "early-ibarrier", "early-file", "own-files",
    "mixed-locks", "lock-of-half", "asked-by-turns", "lock-and-close", "unlock-from-here",
    "ftruncate", "truncate", "truncate-by-open", "truncate-by-creat",
)  # fmt: skip
UNSEEN = (  # what completes is not matched, or whether a path was there before
    "ibarrier", "ibarrier-tested", "iallgather", "neighbors", "scan", "barrier-between", "fence",
    "sent-between", "posted", "flushed", "persistent", "file", "moved-file", "lock-by-file",
    "file-by-turns",
    "made-by-mkdirat", "made-by-linkat", "made-by-symlinkat", "made-by-renameat",
    "made-by-renameat2", "made-by-mpi", "gone-by-remove", "gone-by-unlinkat", "gone-by-mpi",
)  # fmt: skip
# Of mpi_by_messages.c and mpi_by_others.c, in the same way.
MORE = {
    "mpi_by_messages.c": {
        "ordered": ("ssend", "ready", "of_nothing", "from_any", "turns", "subgroups_meet",
                    "reversed", "freed_and_made"),
        "racy": ("sent_only", "issend_early", "to_nobody", "first_only", "turns_late",
                 "persistent_early", "cancelled_probe", "subgroups_late", "other_twin",
                 "intercommunicator_early"),
        "unseen": ("received_first", "issend_received", "second_first", "probed_only", "persistent",
                   "duplicated", "intercommunicator", "intercommunicator_root", "merged"),
    },
    "mpi_by_others.c": {
        "ordered": ("gathered_in_place", "sync_barrier_sync", "forked", "started",
                    "threads"),
        "racy": ("reduced_too_early", "pscw_early", "sync_barrier", "barrier_sync",
                 "token_file_early", "by_fifo_early", "forked_late", "started_late",
                 "threads_early"),
        "unseen": ("neighbors", "neighbors_later", "reduced_later", "gathered_by_counts",
                   "summed_before", "flush_all", "pscw", "shared_window", "token_file", "by_fifo"),
    },
}  # fmt: skip


# Says that every file is on NFS.
NFS = """
#include <linux/magic.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>
int statfs(const char *path, struct statfs *s) {
    int result = syscall(SYS_statfs, path, s);
    s->f_type = NFS_SUPER_MAGIC;
    return result;
}
"""


def compiled(stack: Stack, folder: Path, source: str, words: tuple[str, ...]) -> Path:
    """A program, made in this folder if it is not there."""
    program = folder / f"{Path(source).stem}-{stack.name}"
    if not program.exists():
        compiler = [f"mpicc.{stack.name}", "-D_GNU_SOURCE", "-pthread", "-w", *words]
        path = Path(__file__).with_name(source)
        subprocess.run([*compiler, str(path), "-o", str(program)], check=True)
    return program


def raced(
    stack: Stack, folder: Path, kind: str, *libraries: Path, program_of: str = "mpi_ordered.c",
    words: tuple[str, ...] = (),
) -> Blame:  # fmt: skip
    """What `blame` finds in a run of a program, with these libraries preloaded. `words`: for its
    compiler; without them the tests of a worker share the program."""
    traces, data = folder / "traces", folder / "data"
    data.mkdir()
    program = compiled(stack, folder if words else folder.parent, program_of, words)
    variables = preload(stack, traces, data, dxt=True)
    variables["LD_PRELOAD"] = ":".join([variables["LD_PRELOAD"], *map(str, libraries)])
    done = launched(stack, 3, [program, data / "f", kind], variables)
    assert done.returncode == 0, done.stderr
    whole = [one.whole for one in traces_in(traces) if not one.flags & FORKED]
    assert whole == [True] * 3, done.stderr
    return find(traces)


@pytest.mark.slow
@pytest.mark.parametrize("kind", (*ORDERED, *RACY, *UNSEEN))
def test_a_kind_of_order(stack: Stack, tmp_path: Path, kind: str) -> None:
    found = raced(stack, tmp_path, kind)
    assert bool(len(found.certain)) == (kind in RACY)
    assert bool(len(found.races)) == (kind in RACY + UNSEEN)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "how", "kind"),
    [(source, how, kind) for source, of in MORE.items() for how in of for kind in of[how]],
)
def test_another_kind_of_order(
    stack: Stack, tmp_path: Path, source: str, how: str, kind: str
) -> None:
    found = raced(stack, tmp_path, kind, program_of=source)
    if how == "unseen":
        assert len(found.races) and not len(found.certain)
    else:
        assert len(found.certain) == len(found.races) and bool(len(found.races)) == (how == "racy")


@pytest.mark.slow
def test_opening_a_file_together_may_order(stack: Stack, tmp_path: Path) -> None:
    """MPI does not say that it does, or that setting its size does. Messages inside MPICH are seen,
    those inside Open MPI not."""
    assert not len(raced(stack, tmp_path, "opened").certain)


def test_on_nfs_both_kinds_of_lock_exclude_each_other(stack: Stack, tmp_path: Path) -> None:
    source, library = tmp_path / "nfs.c", tmp_path / "nfs.so"
    source.write_text(NFS)
    subprocess.run(["cc", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    assert not len(raced(stack, tmp_path, "mixed-locks", library).races)


def test_asking_for_several_things_by_turns_does_not_fill_the_trace(
    stack: Stack, tmp_path: Path
) -> None:
    raced(stack, tmp_path, "asked-by-turns")
    for process in traces_in(tmp_path / "traces"):
        kinds = Counter(kind for *_, kind, _ in EVENT.iter_unpack(process.events))
        if process.rank == 1:
            assert kinds[LOOKED] == 2, "both paths"
        assert kinds[MESSAGE] <= 12, "what the program calls besides"
