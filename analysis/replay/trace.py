# SPDX-License-Identifier: BSD-3-Clause
"""A trace as what each process did, in order, at a level at which it can be repeated."""

import re
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..darshan import dxt
from ..darshan.header import BrokenLogError, read_header
from ..darshan.log import ROOM, VARIABLES, FileTrace, Log, read_log
from ..darshan.raw import RawView
from ..darshan.views import WHOLE
from ..errors import AnalysisError
from . import own, recorder_text, synthesise, turns
from .own import ACCESS, ALONE, STEP, TOGETHER, Moves, Own

POSIX = "posix"
MODULE_OF = {POSIX: "POSIX", TOGETHER: "MPI-IO", ALONE: "MPI-IO"}
READ, WRITE = 0, 1
NUMBER_OF = {"write": WRITE, "read": READ}
# Not program data: what Darshan's runtime leaves out by default, and helper files of libraries.
NOT_DATA = ("/dev/", "/proc/", "/sys/", "/etc/", "/usr/", "/lib", "/bin/", "/boot/", "/sbin/")
HELPERS = re.compile(r"\.locktest\.|_cid-\d+-\d+\.sm$|\.shfp\.[\d.]+$")
DATA_SETS = "data sets, replayed by the calls below them: "
STREAMS = ("<STDIN>", "<STDOUT>", "<STDERR>")
# What makes each recorder keep single accesses.
DARSHANS = "DARSHAN_MOD_ENABLE=DXT_POSIX,DXT_MPIIO, or DXT_ENABLE_IO_TRACE=1 for older runtimes"
EMBEDDED = "-S dxt=true, or IOGAUGE_TRACE_SEGMENTS=0 in its processes' environment"
MOST_FILES = 65536  # of a schedule (kernels/base/schedule.c)


class CannotReplayError(AnalysisError):
    """The trace does not say enough, or something impossible."""


@dataclass
class TracedFile:
    """`together`: whether its calls of a direction (READ, WRITE) are collective. `by_library`:
    POSIX reads that an MPI library made from the program's calls, into its own memory. `own`: the
    program's own calls, all of them known. `below`: the MPI library's calls in place of those."""

    path: str
    level: str
    counters: FileTrace | None
    by_library: bool = False
    own: bool = False
    below: bool = False
    together: list[bool] = field(default_factory=lambda: [False, False])

    def count(self, *names: str) -> int:
        return self.counters.count(*names) if self.counters else 0


@dataclass
class Trace:
    """`accesses`: of each process, by time. `notes`: missing or inferred. `meetings`,
    `moves`: as in Own. `hosts`: by process, if the log has them."""

    path: Path
    log: Log
    files: list[TracedFile]
    accesses: list[NDArray[np.void]]
    notes: list[str]
    synthesised: bool = False
    steps: list[NDArray[np.void]] = field(default_factory=list)
    views: list[RawView] = field(default_factory=lambda: [WHOLE])
    meetings: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    hosts: dict[int, str] = field(default_factory=dict)
    moves: dict[str, list[Moves]] = field(default_factory=dict)

    @property
    def processes(self) -> int:
        return len(self.accesses)

    def steps_of(self, rank: int) -> NDArray[np.void]:
        """A process's calls that move nothing, in files whose `own` calls are known."""
        return self.steps[rank] if self.steps else np.empty(0, STEP)

    def held(self, rank: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The times between which a process, or others on its behalf, was in calls."""
        both = (self.accesses[rank], self.steps_of(rank))
        start = np.concatenate([some["start"] - some["early"] for some in both])
        return start, np.concatenate([some["end"] + some["late"] for some in both])

    def pieces(self, rank: int) -> tuple[NDArray[np.void], NDArray[np.int64]]:
        """A process's accesses as pieces of bytes of the files, and which access each is of."""
        found = own.expand(self.accesses[rank], self.views)
        if found is None:
            raise CannotReplayError(
                f"{self.path}: process {rank} has more than {own.MOST_PIECES} pieces in its views"
            )
        return found


@dataclass(frozen=True)
class Choice:
    """`only`: folders whose files count. `posix`: POSIX calls even if the log has MPI-IO's.
    `paths`: only these files, in this order (a name without a folder matches in any), at these
    `levels`."""

    only: Sequence[str] = ()
    posix: bool = False
    paths: Sequence[str] = ()
    levels: Sequence[str] = ()
    synthesise: bool = False


def load(source: Path, choice: Choice | None = None) -> Trace:
    """Read a Darshan log, a folder of raw traces, or one of Recorder's text."""
    choice = choice or Choice()
    folder = recorder_text.folder_of(source)
    if folder:
        return _of_blocks(source, *recorder_text.read(source, folder), choice)
    if source.is_dir():
        with tempfile.TemporaryDirectory() as made:
            log = Path(made) / "trace.darshan"
            try:
                return _load(source, log, source, choice, own.read(source))
            except (BrokenLogError, CannotReplayError) as error:
                raise CannotReplayError(str(error).replace(str(log), str(source))) from None
    return _load(source, source, None, choice)


def _load(
    source: Path, path: Path, folder: Path | None, choice: Choice, calls: Own | None = None
) -> Trace:
    log = read_log(path, convert=folder, ids=True)
    made_up = choice.synthesise and not any(name in log.modules for name in dxt.DXT)
    if choice.synthesise and not made_up:
        raise CannotReplayError(f"{source}: the log has single accesses; omit --synthesise")
    if made_up:
        names = choice.paths or [name for name in log.ids.values() if _wanted(name, choice.only)]
        blocks = synthesise.blocks(source, log, set(names))
    else:
        blocks = _blocks(source, path, log)
    notes = [synthesise.NOTE] if made_up else dxt.notes(sum(block.set_back for block in blocks))
    notes += [f"the log is truncated: {name} is not whole" for name in read_header(path).cut]
    return _of_blocks(source, log, blocks, notes, choice, made_up, calls)


def _of_blocks(
    source: Path,
    log: Log,
    blocks: list[dxt.Block],
    notes: list[str],
    choice: Choice,
    made_up: bool = False,
    calls: Own | None = None,
) -> Trace:
    hosts = {block.rank: block.host for block in blocks}
    if choice.paths:
        order = _named(source, log, choice.paths)
        levels = dict(zip(order, choice.levels, strict=True))
    else:
        wanted = {i for i, name in log.ids.items() if _wanted(name, choice.only)}
        if lost := sum(len(block.segments) for block in blocks if block.file not in log.ids):
            notes.append(f"left out: {lost} accesses to files whose names the log lacks")
        blocks = [block for block in blocks if block.file in wanted and len(block.segments)]
        if not blocks:
            where = ", ".join(choice.only) or "data"
            raise CannotReplayError(f"{source}: no access to a file of {where}")
        notes += _missing(log, blocks)
        levels = _levels(log, blocks, choice.posix, notes, calls or Own())
        order = sorted(levels, key=lambda i: log.ids[i])
        if len(order) > MOST_FILES:
            raise CannotReplayError(f"{source}: {len(order)} files; expected at most {MOST_FILES}")
    by_library = _read_by_library(log, blocks)
    known = {i for i, one in (calls or Own()).files.items() if levels.get(i) == one.level}
    through_mpi = {entry.path for entry in log.files if entry.module == "MPI-IO"}
    blocks = [
        b
        for b in blocks
        if b.file in levels and b.module == MODULE_OF[levels[b.file]] and b.file not in known
    ]
    counters = {(entry.module, entry.path): entry for entry in log.files}
    files = [
        TracedFile(
            log.ids[i],
            levels[i],
            counters.get((MODULE_OF[levels[i]], log.ids[i])),
            levels[i] == POSIX and i in by_library,
            i in known,
            levels[i] == POSIX and log.ids[i] in through_mpi,
        )
        for i in order
    ]
    for one in files:
        _find_collective(one, notes)
    number = {identity: at for at, identity in enumerate(order)}
    accesses = _by_process(blocks, number, log)
    trace = Trace(source, log, files, accesses, notes, made_up, hosts=hosts)
    if calls:
        trace.meetings, trace.moves = calls.meetings, calls.moves
        sets = {(one[1].file, one[1].name) for f in files for one in calls.moves.get(f.path, ())}
        if sets:
            trace.notes.append(f"{DATA_SETS}{len(sets)}; other methods get their arrays and owners")
    if calls and known:
        _add_own(trace, calls, {i: at for i, at in number.items() if i in known})
    moved = turns.align(accesses) if log.by_runtime else 0.0
    if moved:
        notes.append(
            f"inferred: clocks of processes differ by up to {moved:.3g} s (each begins "
            "when it starts), from where all turn between writing and reading"
        )
    return trace


def _add_own(trace: Trace, calls: Own, number: dict[int, int]) -> None:
    trace.views = calls.views
    for rank, rows in enumerate(trace.accesses):
        mine, steps = own.of_process(calls, rank, number)
        both = np.concatenate((rows, mine))
        trace.accesses[rank] = both[np.lexsort((both["end"], both["start"]))]
        trace.steps.append(steps)
    for identity in number:
        if calls.files[identity].without_pointer:
            trace.notes.append(
                "inferred: calls at a shared pointer are made at the places of their bytes, as "
                f"nobody can repeat who comes first: {calls.files[identity].path}"
            )


def _wanted(path: str, only: Sequence[str]) -> bool:
    if HELPERS.search(path):
        return False
    if only:
        return any(path.startswith(folder.rstrip("/") + "/") for folder in only)
    return path.startswith("/dev/shm/") or not path.startswith(NOT_DATA)


def only_counters(source: Path, counted: bool, by_runtime: bool) -> CannotReplayError:
    """A trace without single accesses. `counted`: it counts some."""
    what = "no read or write through POSIX or MPI-IO; stdio and mapped memory are not looked at"
    if counted:
        what = (
            "only counters, no single access (DXT); trace a run with "
            f"{DARSHANS if by_runtime else EMBEDDED}; replay --synthesise makes accesses up from "
            "the counters"
        )
    return CannotReplayError(f"{source}: {what}")


def _blocks(source: Path, path: Path, log: Log) -> list[dxt.Block]:
    modules = [name for name in dxt.DXT if name in log.modules]
    if not modules:
        raise only_counters(source, any(map(_calls, log.files)), log.by_runtime)
    header = read_header(path)
    versions = [(name, log.modules[name]) for name in modules]
    return [block for both in versions for block in dxt.blocks(header, *both, log.processes)]


def _missing(log: Log, blocks: Sequence[dxt.Block]) -> list[str]:
    """Counters without single accesses: not replayed."""
    notes = [*log.notes]
    if sets := [entry for entry in log.files if entry.module in VARIABLES]:
        notes.append(
            f"{DATA_SETS}{len(sets)}, of which the log has counters and no call (iogauge trace "
            "lists them)"
        )
    kept: dict[tuple[str, str], int] = defaultdict(int)
    for block in blocks:
        kept[block.module, log.ids[block.file]] += len(block.segments)
    for entry in log.files:
        if entry.path in STREAMS:
            continue
        if entry.module == "STDIO" and entry.count("BYTES_READ", "BYTES_WRITTEN"):
            moved = entry.count("BYTES_READ", "BYTES_WRITTEN")
            notes.append(f"not replayed: {moved} bytes through stdio: {entry.path}")
        calls = _calls(entry)
        lost = calls - kept.get((entry.module, entry.path), calls)
        if lost > 0:
            notes.append(
                f"not replayed: {lost} of {calls} calls of {entry.module}, which DXT lacks: "
                f"{entry.path}"
            )
    return notes


def _calls(entry: FileTrace) -> int:
    if entry.module == "POSIX":
        return entry.count("READS", "WRITES")
    kinds = ("INDEP", "COLL", "SPLIT", "NB")
    return entry.count(*(f"{kind}_{d}" for kind in kinds for d in ("READS", "WRITES")))


def _levels(
    log: Log, blocks: Sequence[dxt.Block], posix: bool, notes: list[str], calls: Own
) -> dict[int, str]:
    """MPI-IO if the log says which bytes its calls moved; else the POSIX calls below it."""
    counters = {entry.path: entry for entry in log.files if entry.module == "MPI-IO"}
    by_module: dict[str, set[int]] = defaultdict(set)
    unknown = set()
    for block in blocks:
        by_module[block.module].add(block.file)
        if block.segments["offset"].min() < 0:
            unknown.add(block.file)
    found = {}
    for i in by_module["POSIX"] | by_module["MPI-IO"]:
        path = log.ids[i]
        entry = counters.get(path)
        found[i], why = POSIX, ""
        if i in by_module["MPI-IO"] and not posix:
            alone = entry and entry.count("INDEP_OPENS") and not entry.count("COLL_OPENS")
            level = ALONE if alone else TOGETHER
            if i in calls.files:
                why, level = calls.files[i].why, calls.files[i].level
            elif i in unknown:
                why = "the log does not say where its MPI-IO calls begin"
            elif entry is None or entry.count("VIEWS"):
                why = "its MPI-IO calls went through file views, whose bytes no log has"
            elif entry.count("NB_READS", "NB_WRITES", "SPLIT_READS", "SPLIT_WRITES"):
                why = "some of its MPI-IO calls were nonblocking"
            if not why:
                found[i] = level
                continue
        if i in by_module["MPI-IO"] and i not in by_module["POSIX"]:
            room = (
                f"; the log lost POSIX calls because DXT had no room for them; set {ROOM}"
                if "DXT_POSIX" in log.partial and log.by_runtime
                else ""
            )
            raise CannotReplayError(
                f"{log.path}: {why or 'the log has no POSIX call'}: {path}{room}"
            )
        if why:
            notes.append(f"replayed as the POSIX calls of its MPI library: {why}: {path}")
    return found


def _read_by_library(log: Log, blocks: Sequence[dxt.Block]) -> set[int]:
    """Files that an MPI library read differently from the calls it got. If each of its POSIX reads
    has the length of a call, in the same order, it passed the program's own memory on."""
    through_mpi = {entry.path for entry in log.files if entry.module == "MPI-IO"}
    lengths: dict[tuple[int, int], dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for block in blocks:
        if log.ids[block.file] in through_mpi:
            reads = block.segments[block.writes :]
            in_order = reads["length"][np.argsort(reads["start"], kind="stable")]
            lengths[block.file, block.rank][block.module] += in_order.tolist()
    return {file for (file, _), of in lengths.items() if of["POSIX"] != of["MPI-IO"]}


def _find_collective(one: TracedFile, notes: list[str]) -> None:
    """A log counts collective calls, but does not say which they were."""
    if one.level != TOGETHER or one.own:
        return
    for direction, word in ((READ, "READS"), (WRITE, "WRITES")):
        together, each = one.count(f"COLL_{word}"), one.count(f"INDEP_{word}")
        one.together[direction] = together > 0 and not each
        if together and each:
            notes.append(
                f"inferred: all {word.lower()} as independent calls, as the log does not say which "
                f"{together} of {together + each} were collective: {one.path}"
            )


def _named(source: Path, log: Log, paths: Sequence[str]) -> list[int]:
    by_path = {name: i for i, name in log.ids.items()}
    by_path |= {name.rsplit("/", 1)[-1]: i for i, name in log.ids.items()}
    missing = [name for name in paths if name not in by_path]
    if missing:
        raise CannotReplayError(
            f"{source}: no call to {missing[0]} is in it; expected a log of a program that used it"
        )
    return [by_path[name] for name in paths]


def _by_process(
    blocks: list[dxt.Block], number: dict[int, int], log: Log
) -> list[NDArray[np.void]]:
    """Each process's accesses, by time. Blocks are freed one by one."""
    of: dict[int, list[dxt.Block]] = defaultdict(list)
    while blocks:
        block = blocks.pop()
        if block.file in number:
            of[block.rank].append(block)
    found = []
    for rank in range(log.processes):
        mine = of.pop(rank, [])
        rows = np.zeros(sum(len(block.segments) for block in mine), ACCESS)
        at = 0
        for block in mine:
            some = rows[at : at + len(block.segments)]
            some["file"] = number[block.file]
            some["write"][: block.writes] = WRITE
            some["write"][block.writes :] = READ
            for name, _ in dxt.FIELDS:
                some[name] = block.segments[name]
            at += len(block.segments)
        found.append(rows[np.lexsort((rows["end"], rows["start"]))])
    return found
