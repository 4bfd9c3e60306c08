# SPDX-License-Identifier: BSD-3-Clause
"""What must hold of every trace: its counters agree with its segments, and its events fit each
other. Calculated here from the segments alone."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from iogauge.analysis.darshan import raw
from iogauge.analysis.darshan.convert import short_names
from iogauge.analysis.darshan.raw import RawProcess, RawRecord

ENDS = (100, 1 << 10, 10 << 10, 100 << 10, 1 << 20, 4 << 20, 10 << 20, 100 << 20, 1 << 30)
WAYS = (("READ", "READ"), ("WRITE", "WRITTEN"))  # a call, its bytes
NAMED = 4  # common sizes of a record
KEPT = 32  # distinct sizes that a record counts: the first
LATE = 0.01  # seconds by which two clocks of a process may differ
OF_FILE = (
    raw.OPEN, raw.CLOSE, raw.SYNC, raw.LOCK_READ, raw.LOCK_WRITE, raw.UNLOCK, raw.VIEW, raw.ATOMIC,
    raw.WAIT, raw.CUT,
)  # fmt: skip
# Number, way, offset, length, start, end.
Access = tuple[int, int, int, int, float, float]
Values = dict[str, Any]


def check_traces(processes: Sequence[RawProcess]) -> None:
    for process in processes:
        _events(process)
        _heat(process)
        for record in process.records:
            values = dict(
                zip(short_names(record.module), [*record.counters, *record.times], strict=True)
            )
            _calls(record, values)
            if process.whole and _has_segments(process):
                _segments(record, values)


def _has_segments(process: RawProcess) -> bool:
    return any(part for record in process.records for part in record.segments)


def _accesses(record: RawRecord) -> list[Access]:
    """In the order in which they were counted."""
    found = [
        (number, way, *segment)
        for way in (raw.READ, raw.WRITE)
        for segment, (_, number, _) in zip(
            raw.SEGMENT.iter_unpack(record.segments[way]),
            raw.MARK.iter_unpack(record.marks[way]),
            strict=True,
        )
    ]
    return sorted(found)


def _events(process: RawProcess) -> None:
    ids = {record.id for record in process.records}
    rows = list(raw.EVENT.iter_unpack(process.events))
    for file, a, b, start, end, number, kind, module in rows:
        event = (process.rank, kind, a, b, start, end)
        assert 0 <= start <= end <= process.seconds + LATE, event
        assert module < len(raw.MODULES), event
        assert file in ids if kind in OF_FILE else not file, event
        if kind in (raw.OPEN, raw.MEET):
            assert 1 <= b <= process.processes, event
        elif kind == raw.MESSAGE:
            assert a in (raw.SENT, raw.HEARD, raw.SENT | raw.HEARD), event
        elif kind in (raw.LOCK_READ, raw.LOCK_WRITE, raw.UNLOCK):
            assert a >= 0, event
        elif kind == raw.CUT:
            assert a >= 0 and b == 0, event
        elif kind in (raw.ATOMIC, raw.WAIT):
            assert a in (0, 1), event
        assert number >= 0, event
    assert [row[1] for row in rows if row[6] == raw.VIEW] == list(range(len(process.views)))
    numbers = [row[5] for row in rows]
    numbers += [one[0] for record in process.records for one in _accesses(record)]
    assert len(set(numbers)) == len(numbers), "two accesses or events have one number"
    if process.whole and not process.flags & raw.FORKED:
        assert sorted(numbers) == list(range(len(numbers))), "a number is missing"


def _heat(process: RawProcess) -> None:
    for module in raw.MODULES:
        mine = [record for record in process.records if record.module == module]
        for way, (_, past) in enumerate(WAYS):
            at = short_names(module).index(f"BYTES_{past}")
            moved = sum(record.counters[at] for record in mine)
            assert sum(process.heat[module].bins[way]) == moved, (module, past)


def _calls(record: RawRecord, values: Values) -> None:
    """Each access is in one class of sizes, and is one call."""
    posix = record.module == "POSIX"
    for name, _ in WAYS:
        sizes = sum(n for key, n in values.items() if key.startswith(f"SIZE_{name}_"))
        kinds = ("",) if posix else ("INDEP_", "COLL_", "SPLIT_", "NB_")
        assert sum(values[f"{kind}{name}S"] for kind in kinds) == sizes, (record.path, name)
        if posix:
            consecutive, sequential = values[f"CONSEC_{name}S"], values[f"SEQ_{name}S"]
            assert consecutive <= sequential <= sizes, (record.path, name)
    for name in ("OPEN", "CLOSE"):
        start, end = values[f"F_{name}_START_TIMESTAMP"], values[f"F_{name}_END_TIMESTAMP"]
        assert 0 <= start <= end, (record.path, name)


def _segments(record: RawRecord, values: Values) -> None:
    every = _accesses(record)
    for way, (name, past) in enumerate(WAYS):
        mine = [one for one in every if one[1] == way]
        syncs = [key for key in values if key.endswith("SYNCS")] if way == raw.WRITE else []
        synced = any(values[key] for key in syncs)
        wanted = _figures(mine, name, past, record.module, synced)
        found = {key: values[key] for key in wanted}
        unlike = {
            key: (found[key], right)
            for key, right in wanted.items()
            if not math.isclose(found[key], right, rel_tol=1e-9, abs_tol=1e-12)
        }
        assert not unlike, (record.path, record.module, unlike)
    turns = sum(one[1] != other[1] for one, other in pairwise(every))
    assert values["RW_SWITCHES"] == turns, record.path
    first = list(Counter(one[3] for one in every).items())[:KEPT]
    sizes = dict(first)
    assert record.sizes == sizes, record.path
    common = sorted(((n, size) for size, n in sizes.items() if size), reverse=True)[:NAMED]
    common += [(0, 0)] * (NAMED - len(common))
    for i, (count, size) in enumerate(common, 1):
        assert values[f"ACCESS{i}_ACCESS"] == size, (record.path, common)
        assert values[f"ACCESS{i}_COUNT"] == count, (record.path, common)


def _figures(mine: list[Access], name: str, past: str, module: str, synced: bool) -> Values:
    """The counters and times of one direction."""
    lengths = [one[3] for one in mine]
    bins = Counter(sum(length > end for end in ENDS) for length in lengths)
    keys = [key for key in short_names(module) if key.startswith(f"SIZE_{name}_")]
    wanted: Values = {key: bins[i] for i, key in enumerate(keys)}
    wanted[f"BYTES_{past}"] = sum(lengths)
    if module == "POSIX":
        last = [offset + length - 1 for _, _, offset, length, *_ in mine]
        wanted[f"MAX_BYTE_{past}"] = max([0, *last])
    times = [(start, end) for *_, start, end in mine]
    wanted[f"F_{name}_START_TIMESTAMP"] = min((start for start, _ in times), default=0.0)
    wanted[f"F_{name}_END_TIMESTAMP"] = times[-1][1] if times else 0.0
    took = [end - start for start, end in times]
    wanted[f"F_MAX_{name}_TIME"] = max(took, default=0.0)
    if max(took, default=0.0) > 0:
        wanted[f"MAX_{name}_TIME_SIZE"] = lengths[took.index(max(took))]
    if synced:  # which counts as writing, and leaves no segment
        return wanted
    total = until = 0.0
    for start, end in times:  # what overlaps is counted once
        total += end - max(start, until)
        until = max(until, end)
    wanted[f"F_{name}_TIME"] = total
    return wanted
