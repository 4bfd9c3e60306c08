# SPDX-License-Identifier: BSD-3-Clause
"""Programs in order and programs that only look so: none is accused, and no race is missed."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import pytest
from iokernel_stacks import Stack
from recorder_runs import compiled, launched, preload, traces_in

from iogauge.analysis.blame.races import Blame, find
from iogauge.analysis.darshan.raw import EVENT, FORKED, LOOKED, MESSAGE

# Of each program: kinds in which all accesses are ordered, in which there is a race, and in which
# there is none that `blame` could tell: what completes is not matched, or whether a path was there
# before.
KINDS: dict[str, dict[str, tuple[str, ...]]] = {
    "mpi_ordered.c": {
        "ordered": (
            "send", "wildcard", "isend", "waited", "waited-all", "sendrecv", "duplicate", "split",
            "chain", "broadcast", "reduce", "gather", "scatter", "allgatherv", "gather-scatter",
            "flock", "lock-file", "record-lock", "ofd-lock", "tested", "tested-all", "waited-any",
            "waited-some", "probed", "taken", "taken-later", "on-grid", "ring", "reduce-scatter",
            "cancelled", "lockf", "lock-from-here", "lock-from-end", "flock-and-close",
            "ftruncate-locked", "ftruncate-by-both",
        ),
        "racy": (
            "none", "other-tag", "other-communicator", "early-send", "late-wait", "answer",
            "broadcast-from-1", "reduce-to-0", "gather-to-0", "scatter-from-1", "shared-locks",
            "other-waited", "wrong-ring", "barrier-of-others", "early-ibarrier", "early-file",
            "own-files", "mixed-locks", "lock-of-half", "asked-by-turns", "lock-and-close",
            "unlock-from-here", "ftruncate", "truncate", "truncate-by-open", "truncate-by-creat",
        ),
        "unseen": (
            "ibarrier", "ibarrier-tested", "iallgather", "neighbors", "scan", "barrier-between",
            "fence", "sent-between", "posted", "flushed", "file", "moved-file",
            "lock-by-file", "file-by-turns", "made-by-mkdirat", "made-by-linkat",
            "made-by-symlinkat", "made-by-renameat", "made-by-renameat2", "made-by-mpi",
            "gone-by-remove", "gone-by-unlinkat", "gone-by-mpi",
        ),
    },
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


Built = Callable[[str], Path]
Counted = Callable[[str], dict[str, tuple[int, int]]]
Raced = Callable[..., Blame]

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


def program_of(stack: Stack, source: str, folder: Path, *words: str) -> Path:
    path = Path(__file__).with_name(source)
    return compiled(stack, path, folder / path.stem, "-pthread", "-w", *words)


@pytest.fixture(scope="module")
def built(stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> Built:
    """The program of a source file, which the tests share."""
    folder = tmp_path_factory.mktemp(stack.name)
    return cache(lambda source: program_of(stack, source, folder))


def run_of_kinds(
    stack: Stack, folder: Path, program: Path, kinds: Sequence[str], *libraries: Path
) -> Blame:
    """What `blame` finds in a run of a program that goes through these kinds, each in a folder of
    its name, with these libraries preloaded."""
    traces, data = folder / "traces", folder / "data"
    for kind in kinds:
        (data / kind).mkdir(parents=True)
    variables = preload(stack, traces, data, dxt=True)
    variables["LD_PRELOAD"] = ":".join([variables["LD_PRELOAD"], *map(str, libraries)])
    done = launched(stack, 3, [program, data, *kinds], variables)
    assert done.returncode == 0, done.stderr
    whole = [one.whole for one in traces_in(traces) if not one.flags & FORKED]
    assert whole == [True] * 3, done.stderr
    return find(traces)


def races_by_kind(found: Blame) -> dict[str, tuple[int, int]]:
    """How many races there are in each kind that has any, and how many of them are certain."""
    files = found.traced.accesses["file"]
    races, certain = (
        Counter(Path(found.traced.files[i]).parent.name for i in files[some.a])
        for some in (found.races, found.certain)
    )
    return {kind: (races[kind], certain[kind]) for kind in races}


@pytest.fixture(scope="module")
def counted(stack: Stack, built: Built, tmp_path_factory: pytest.TempPathFactory) -> Counted:
    """`races_by_kind` of a program, with all its kinds in one run."""

    @cache
    def of(source: str) -> dict[str, tuple[int, int]]:
        kinds = sum(KINDS[source].values(), ())
        folder = tmp_path_factory.mktemp(Path(source).stem)
        return races_by_kind(run_of_kinds(stack, folder, built(source), kinds))

    return of


@pytest.fixture
def raced(stack: Stack, built: Built, tmp_path: Path) -> Raced:
    """A run of one kind of mpi_ordered.c alone, with libraries preloaded."""
    return lambda kind, *libraries: run_of_kinds(
        stack, tmp_path, built("mpi_ordered.c"), [kind], *libraries
    )


@pytest.mark.parametrize(
    ("source", "how", "kind"),
    [(source, how, kind) for source, of in KINDS.items() for how in of for kind in of[how]],
)
def test_a_kind_of_order(counted: Counted, source: str, how: str, kind: str) -> None:
    races, certain = counted(source).get(kind, (0, 0))
    if how == "unseen":
        assert races and not certain
    else:
        assert races == certain and bool(races) == (how == "racy")


@pytest.mark.slow
def test_what_a_persistent_request_received_is_unknown(raced: Raced) -> None:
    """And so are all messages of the same processes and tag: no other kind is in its run."""
    found = raced("persistent")
    assert len(found.races) and not len(found.certain)


@pytest.mark.slow
def test_opening_a_file_together_may_order(raced: Raced) -> None:
    """MPI does not say that it does, or that setting its size does. Messages inside MPICH are seen,
    those inside Open MPI not."""
    assert not len(raced("opened").certain)


def test_on_nfs_both_kinds_of_lock_exclude_each_other(raced: Raced, tmp_path: Path) -> None:
    source, library = tmp_path / "nfs.c", tmp_path / "nfs.so"
    source.write_text(NFS)
    subprocess.run(["cc", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    assert not len(raced("mixed-locks", library).races)


def test_asking_for_several_things_by_turns_does_not_fill_the_trace(
    raced: Raced, tmp_path: Path
) -> None:
    raced("asked-by-turns")
    for process in traces_in(tmp_path / "traces"):
        kinds = Counter(kind for *_, kind, _ in EVENT.iter_unpack(process.events))
        if process.rank == 1:
            assert kinds[LOOKED] == 2, "both paths"
        assert kinds[MESSAGE] <= 12, "what the program calls besides"
