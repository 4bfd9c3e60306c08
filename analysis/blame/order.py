# SPDX-License-Identifier: BSD-3-Clause
"""Which accesses are ordered: by barriers and, above MPI-IO, by sync, open and close around them.

POSIX: a call's effect is visible to all once it returns, so a barrier or message between two
calls orders them. Sends and receives are matched by processes, communicator, tag and order. MPI-IO
(MPI 4.1, 14.6.1): only if the first process synced or closed the file before it, and the second
synced or opened it after. If a trace has no barriers, pauses common to all processes stand in, and
the report says so.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..darshan import raw
from ..replay.phases import Phases
from .accesses import MPIIO, POSIX, Rows, Traced

Numbers = NDArray[np.int64]
Flags = NDArray[np.bool_]
ORDERING = (raw.MEET, raw.SEND, raw.RECEIVE)
BOTH = raw.SENT | raw.HEARD
SIDES = {raw.MEET: BOTH, raw.SEND: raw.SENT, raw.RECEIVE: BOTH}  # a synchronous send waits for it
FLUSHES, LOCKS = (raw.OPEN, raw.CLOSE, raw.SYNC), (raw.LOCK_READ, raw.LOCK_WRITE, raw.UNLOCK)
ANY = -1  # all that have a message's other half
MOST_CLOCKS = 50_000_000  # limit of the vector clocks' table
FREE, SHARED, ALONE = 0, 1, 2  # the last two by fcntl(); 2 more: by flock()
HOW, END = {raw.LOCK_READ: SHARED, raw.LOCK_WRITE: ALONE}, 2**63
Held = tuple[int, int, int, int]  # a range, SHARED or ALONE, and since which event


@dataclass
class Order:
    """For each access, in stretches between its process's ORDERING events: from which one it may
    take effect (`first`), in which its effect is visible (`last`); the same counted in
    meetings of all processes (`epoch_first`, `epoch_last`); `lock`: FREE, SHARED or ALONE; `hold`:
    which holding of a lock; `guard`: another file that its process has locked for itself, or -1;
    `atomic`. `sent`, `heard`: when its process first sent a message after its effect is visible,
    and last received one before it may take effect; None without messages. `among`: the number of a
    group of processes between which messages passed. `unsure`: of those times; `unmatched`: starts
    and ends of calls whose partner is not known, each sorted. `known`: for each stretch of each
    process, how many of each other process are over, and where its processes begin; None
    if only meetings of all count."""

    first: Numbers
    last: Numbers
    epoch_first: Numbers
    epoch_last: Numbers
    lock: NDArray[np.uint8]
    hold: Numbers
    guard: Numbers
    atomic: Flags
    known: tuple[NDArray[np.int32], Numbers] | None = None
    sent: NDArray[np.float64] | None = None
    heard: NDArray[np.float64] | None = None
    among: Numbers = field(default_factory=lambda: np.empty(0, np.int64))
    unsure: float = 0.0
    unmatched: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None

    def perhaps(self, a: Numbers, b: Numbers) -> Flags:
        """May messages order each pair of accesses? The process of the one sent something
        after it, then the other's process heard something before it, and not all is known of what
        passed in between."""
        return self._perhaps(a, b) | self._perhaps(b, a)

    def _perhaps(self, one: Numbers, other: Numbers) -> Flags:
        if self.sent is None or self.heard is None or self.unmatched is None:
            return np.zeros(len(one), bool)
        since, until = self.sent[one] - self.unsure, self.heard[other] + self.unsure
        starts, ends = self.unmatched
        between = np.searchsorted(starts, until, "right") - np.searchsorted(ends, since, "left")
        answer: Flags = (since <= until) & (between > 0)
        answer &= self.among[one] == self.among[other]
        return answer

    def between(self, process: Numbers, a: Numbers, b: Numbers) -> Flags:
        """For each pair of accesses (indices): is it ordered, or locked?"""
        found = (self.epoch_last[a] < self.epoch_first[b]) | (
            self.epoch_last[b] < self.epoch_first[a]
        )
        one, other = self.lock[a].astype(int), self.lock[b].astype(int)
        alone = (one % 2 == 0) | (other % 2 == 0)
        found |= (one > FREE) & ((one + 1) // 2 == (other + 1) // 2) & alone
        found |= (self.guard[a] >= 0) & (self.guard[a] == self.guard[b])
        found |= self.atomic[a] & self.atomic[b]
        if self.known is not None:
            found |= self._knew(process, a, b) | self._knew(process, b, a)
        return found

    def _knew(self, process: Numbers, one: Numbers, other: Numbers) -> Flags:
        """Was `one` over for all processes before `other` began?"""
        assert self.known is not None
        table, begins = self.known
        row = begins[process[other]] + self.first[other]
        there = row < begins[process[other] + 1]
        over = table[np.where(there, row, 0), process[one]]
        answer: Flags = there & (over > self.last[one])
        return answer


def of_phases(traced: Traced, phases: Phases) -> Order:
    """Each phase ends before the next begins."""
    phase = phases.of(traced.accesses)
    return _unlocked(phase, phase)


def _unlocked(first: Numbers, last: Numbers) -> Order:
    free, none = np.zeros(len(first), np.uint8), np.full(len(first), -1)
    return Order(first, last, first.copy(), last.copy(), free, none, none.copy(), free > FREE)


def of_events(traced: Traced) -> Order:
    assert traced.events is not None
    rows, n = traced.accesses, len(traced.accesses)
    first, last = np.zeros(n, np.int64), np.zeros(n, np.int64)
    order = _unlocked(first, last)
    for rank, events in enumerate(traced.events):
        mine = np.flatnonzero(rows["process"] == rank)
        met = events[np.isin(events["kind"], ORDERING)]
        stretch = np.searchsorted(met["sequence"], rows["sequence"][mine])
        first[mine] = last[mine] = stretch
        for file in np.unique(rows["file"][mine]):
            of = mine[rows["file"][mine] == file]
            above = of[rows["layer"][of] == MPIIO]
            _flushes(order, above, events[events["file"] == file], met, rows)
            _atomic_calls(order, of, rows)
        _locks(order, mine, events, rows)
        # The number of common meetings before each stretch, and one more at the end.
        all_met = np.concatenate(([0], np.cumsum((met["kind"] == raw.MEET) & (met["a"] == 0))))
        all_met = np.append(all_met, all_met[-1] + 1)
        order.epoch_first[mine] = all_met[first[mine]]
        order.epoch_last[mine] = all_met[np.minimum(last[mine], len(all_met) - 1)]
    _read_with_a_lock(order, traced)
    _waits_for_paths(traced.events)
    clocks = _Clocks(traced)
    order.known = clocks.run()
    unmatched = [traced.events[rank][[i]] for rank, i in clocks.unmatched]
    calls = np.concatenate([*unmatched, *(e[e["kind"] == raw.MESSAGE] for e in traced.events)])
    if len(calls):
        order.unmatched = np.sort(calls["start"]), np.sort(calls["end"])
        _messages(order, traced)
    return order


def _waits_for_paths(all_: list[Rows]) -> None:
    """A path that one process changed and another one looked up may be a message between them."""
    both = {raw.CHANGED: raw.SENT, raw.LOOKED: raw.HEARD}
    ranks: dict[int, dict[int, set[int]]] = {kind: defaultdict(set) for kind in both}
    for rank, events in enumerate(all_):
        for kind, of in ranks.items():
            for path in np.unique(events["b"][events["kind"] == kind]).tolist():
                of[path].add(rank)
    for (kind, side), other in zip(both.items(), reversed(both), strict=True):
        for rank, events in enumerate(all_):
            paths = [path for path, of in ranks[other].items() if of - {rank}]
            these = (events["kind"] == kind) & np.isin(events["b"], paths)
            events["kind"][these], events["a"][these] = raw.MESSAGE, side


def _read_with_a_lock(order: Order, traced: Traced) -> None:
    """Bytes that a process wrote with a lock and another one read with a lock, without changing
    them, may be a message too."""
    assert traced.events is not None
    rows, held = traced.accesses, np.flatnonzero(order.hold >= 0)
    of = np.stack([rows["process"], rows["file"], order.hold])[:, held]
    hold = np.unique(of, axis=1, return_inverse=True)[1].reshape(-1)
    wrote = rows["write"][held] > 0
    these = held[wrote | ~np.isin(hold, hold[wrote])]
    made = np.zeros(len(these), traced.events[0].dtype)
    made["file"], made["b"] = -1, -2 - rows["file"][these]
    made["kind"] = np.where(rows["write"][these] > 0, raw.CHANGED, raw.LOOKED)
    made[["start", "end", "sequence"]] = rows[["start", "end", "sequence"]][these]
    for rank, events in enumerate(traced.events):
        both = np.concatenate((events, made[rows["process"][these] == rank]))
        traced.events[rank] = both[np.argsort(both["sequence"], kind="stable")]


def _groups(all_: Sequence[Rows]) -> Numbers:
    """A number for each process, equal if messages may have come from one to the other: of calls
    that may pass them to any, or around a file or a path of both."""
    found = np.arange(len(all_))
    first: dict[int, int] = {}
    for rank, events in enumerate(all_):
        kind = events["kind"]
        about = set(events["b"][kind == raw.MESSAGE].tolist())
        passed = np.isin(kind, ORDERING) & ((kind != raw.MEET) | (events["a"] != 0))
        for key in about | ({0} if passed.any() else set()):
            found[found == found[rank]] = found[first.setdefault(key, rank)]
    return found


def _messages(order: Order, traced: Traced) -> None:
    """The nearest messages around each access. A meeting of some processes is both: it may be part
    of a chain. Out of a meeting of all, nothing comes before all have arrived."""
    assert traced.events is not None
    rows = traced.accesses
    order.unsure = np.inf if traced.unsure is None else traced.unsure
    order.sent, order.heard = np.full(len(rows), np.inf), np.full(len(rows), -np.inf)
    order.among = _groups(traced.events)[rows["process"]]
    for rank, events in enumerate(traced.events):
        sides = np.zeros(len(events), np.int64)
        for kind, side in SIDES.items():
            sides[(events["kind"] == kind) & ((kind != raw.MEET) | (events["a"] != 0))] = side
        sides = np.where(events["kind"] == raw.MESSAGE, events["a"], sides)
        sent, heard = events[sides & raw.SENT > 0], events[sides & raw.HEARD > 0]
        mine = np.flatnonzero(rows["process"] == rank)
        for file in np.unique(rows["file"][mine]):
            of = mine[rows["file"][mine] == file]
            flush = _flushed(events[events["file"] == file])
            above = rows["layer"][of] == MPIIO
            sequence = rows["sequence"][of].astype(np.int64)
            after = np.searchsorted(flush, sequence)
            never = np.iinfo(np.int64).max
            visible = np.where(above, np.append(flush, never)[after], sequence)
            begins = np.where(above, np.append(-1, flush)[after], sequence)
            at = np.searchsorted(sent["sequence"], visible, side="right")
            order.sent[of] = np.append(sent["start"], np.inf)[at]
            at = np.searchsorted(heard["sequence"], begins)
            ends = np.maximum.accumulate(heard["end"])  # a merged event may end after the next
            order.heard[of] = np.append(-np.inf, ends)[at]


def _flushed(about: Rows) -> Numbers:
    """The times when a file was opened, closed or synced through MPI-IO."""
    here = (about["module"] == MPIIO) & np.isin(about["kind"], FLUSHES)
    found: Numbers = about["sequence"][here].astype(np.int64)
    return found


def _flushes(order: Order, mine: Numbers, about: Rows, met: Rows, rows: Rows) -> None:
    """Extend accesses above MPI-IO to the surrounding syncs."""
    flush = _flushed(about)
    sequence = rows["sequence"][mine]
    after = np.searchsorted(flush, sequence)
    stretch = np.searchsorted(met["sequence"], flush)
    order.last[mine] = np.append(stretch, len(met) + 1)[after]  # never flushed: not before the end
    order.first[mine] = np.append(0, stretch)[after]
    atomic = about[about["kind"] == raw.ATOMIC]
    on = np.concatenate(([0], atomic["a"]))
    order.atomic[mine] = on[np.searchsorted(atomic["sequence"], sequence)] != 0


def _atomic_calls(order: Order, mine: Numbers, rows: Rows) -> None:
    """A call in atomic mode that is one POSIX call as a whole is atomic there, too."""
    above = mine[order.atomic[mine]]
    if len(above):
        call = ["write", "offset", "length"]
        whole = set(rows[call][above].tolist())
        below = mine[rows["layer"][mine] == POSIX]
        order.atomic[below] = [one in whole for one in rows[call][below].tolist()]


def _locks(order: Order, mine: Numbers, events: Rows, rows: Rows) -> None:
    """Locks of an access's own bytes, and of the whole of another file."""
    locks = events[np.isin(events["kind"], LOCKS)]
    for file in np.unique(locks["file"][locks["file"] >= 0]).tolist():
        of = locks[locks["file"] == file]
        held = _held(of)
        at = np.searchsorted(of["sequence"], rows["sequence"][mine])
        these = np.array([len(some) > 0 for some in held])[at]
        these &= (rows["file"][mine] != file) | (rows["layer"][mine] == POSIX)
        for i, place in zip(mine[these].tolist(), at[these].tolist(), strict=True):
            low, length = int(rows["offset"][i]), int(rows["length"][i])
            if rows["file"][i] == file:
                order.lock[i], order.hold[i] = _cover(held[place], low, low + length)
            elif (how := _cover(held[place], 0, END)[0]) in (ALONE, ALONE + 2):
                order.guard[i] = 2 * file + (how > ALONE)


def _held(locks: Rows) -> list[list[Held]]:
    """What its process holds of a file before its locks and unlocks, and after each. fcntl()
    and flock() do not know of each other."""
    found: list[list[Held]] = [[]]
    for kind, low, length, since in locks[["kind", "a", "b", "sequence"]].tolist():
        high, flocks = low + length if length > 0 else END, length < 0
        now: list[Held] = []
        for a, b, how, when in found[-1]:
            ends = (how > ALONE) == flocks
            left = ((a, min(b, low)), (max(a, high), b)) if ends else ((a, b),)
            now += [(x, y, how, when) for x, y in left if x < y]
        if kind != raw.UNLOCK:
            now.append((low, high, HOW[kind] + 2 * flocks, since))
        found.append(now)
    return found


def _cover(held: Sequence[Held], low: int, high: int) -> tuple[int, int]:
    """How all of a range is locked, and since which event."""
    for flocks in (False, True):
        some = [x for x in held if (x[2] > ALONE) == flocks and x[0] < high and low < x[1]]
        if some and sum(min(b, high) - max(a, low) for a, b, *_ in some) == high - low:
            return min(how for *_, how, _ in some), max(since for *_, since in some)
    return FREE, -1


class _Clocks:
    """Vector clocks over meetings and matched messages. `unmatched`: process and number of the
    events that have no other half: theirs is no order, but perhaps one."""

    def __init__(self, traced: Traced) -> None:
        assert traced.events is not None
        self.notes = traced.notes
        self.calls: list[list[tuple[int, int, int]]] = []
        self.wanted: dict[tuple[int, int], list[tuple[int, ...]]] = {}  # by process and number
        self.unmatched: list[tuple[int, int]] = []
        self.members: dict[int, list[int]] = defaultdict(list)
        self.sent: dict[tuple[int, ...], NDArray[np.int32]] = {}
        where = []
        for rank, events in enumerate(traced.events):
            at = np.flatnonzero(np.isin(events["kind"], ORDERING))
            rows = [events[name][at].tolist() for name in ("kind", "a", "b")]
            self.calls.append(list(zip(*rows, strict=True)))
            where.append(at.tolist())
            for group in {a for kind, a, _ in self.calls[-1] if kind == raw.MEET}:
                self.members[group].append(rank)
        self._match(where)

    def _match(self, where: Sequence[Sequence[int]]) -> None:
        """Gives each send a name, and each receive the names of its sends."""
        sends: dict[tuple[int, int, int], list[tuple[int, int]]] = defaultdict(list)
        to: dict[tuple[int, int], list[int]] = defaultdict(list)
        for rank in range(len(self.calls)):
            for (a, b), numbers in self._of(raw.SEND, rank).items():
                to[a, b].append(rank)
                sends[rank, a, b] = [(rank, i) for i in numbers]
        matched: set[tuple[int, int, int]] = set()
        for rank in range(len(self.calls)):
            for (a, b), mine in self._of(raw.RECEIVE, rank).items():
                of = [(one, rank, b) for one in (to[rank, b] if a == ANY else [a])]
                of = [key if sends[key] else (key[0], ANY, b) for key in of]
                if of and all(len(sends[key]) == len(mine) for key in of):
                    matched |= set(of)
                    for k, i in enumerate(mine):
                        self.wanted[rank, i] = [sends[key][k] for key in of]
                else:
                    self.unmatched += [(rank, where[rank][i]) for i in mine]
        for key, some in sends.items():
            if key not in matched:
                self.unmatched += [(rank, where[rank][i]) for rank, i in some]

    def _of(self, kind: int, rank: int) -> dict[tuple[int, int], list[int]]:
        """The numbers of a process's events of a kind, by what they name."""
        found: dict[tuple[int, int], list[int]] = defaultdict(list)
        for i, (its, a, b) in enumerate(self.calls[rank]):
            if its == kind:
                found[a, b].append(i)
        return found

    def run(self) -> tuple[NDArray[np.int32], Numbers] | None:
        """None if only all met."""
        n = len(self.calls)
        if all(kind == raw.MEET and a == 0 for calls in self.calls for kind, a, _ in calls):
            return None
        if sum(len(calls) + 1 for calls in self.calls) * n > MOST_CLOCKS:
            self.notes.append("too many messages and barriers among subsets of the processes")
            return None
        known = [np.zeros((len(calls) + 1, n), np.int32) for calls in self.calls]
        done, ready = [0] * n, set(range(n))
        waiting: dict[tuple[int, ...], set[int]] = defaultdict(set)
        while ready:
            rank = ready.pop()
            while done[rank] < len(self.calls[rank]):
                at = (rank, done[rank])
                kind, group, _ = self.calls[rank][at[1]]
                if kind == raw.MEET:
                    if not self._meet(group, known, done):
                        break
                    ready |= set(self.members[group])
                    continue
                wanted = self.wanted.get(at, ())
                missing = [one for one in wanted if one not in self.sent]
                if missing:
                    waiting[missing[0]].add(rank)
                    break
                now = np.maximum.reduce([known[rank][at[1]], *(self.sent[one] for one in wanted)])
                done[rank] += 1
                known[rank][done[rank]] = now
                if kind == raw.SEND:
                    self.sent[at] = now
                    self.sent[at][rank] = done[rank]
                    ready |= waiting.pop(at, set())
        begins = np.cumsum([0, *(len(some) for some in known)])
        return np.concatenate(known), begins

    def _meet(self, group: int, known: list[NDArray[np.int32]], done: list[int]) -> bool:
        """Complete a meeting if all have arrived."""
        some = self.members[group]
        for i in some:
            calls = self.calls[i]
            if done[i] >= len(calls) or calls[done[i]][:2] != (raw.MEET, group):
                return False
        now = np.maximum.reduce([known[i][done[i]] for i in some])
        now[some] = [done[i] + 1 for i in some]
        for i in some:
            done[i] += 1
            known[i][done[i]] = now
        return True
