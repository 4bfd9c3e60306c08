# SPDX-License-Identifier: BSD-3-Clause
"""Several processes' records of one file merged into one, as Darshan's runtime does. Pure. Rules go
by the counters' names without their module's prefix."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import pvariance

COMMON = 4  # sizes and strides that a record names

_FIRST = {
    "MODE",
    "RENAMED_FROM",
    "MEM_ALIGNMENT",
    "FILE_ALIGNMENT",
    "DATATYPE_SIZE",
    "NDIMS",
    "NPOINTS",
}
_LARGEST = {"MAX_BYTE_READ", "MAX_BYTE_WRITTEN", "IS_RECORD_VAR"}
_WITH_TIME = {"MAX_READ_TIME_SIZE": "F_MAX_READ_TIME", "MAX_WRITE_TIME_SIZE": "F_MAX_WRITE_TIME"}
_TABLES = {"ACCESS": "sizes", "STRIDE": "strides"}
_OF_FIRST = ("FASTEST_RANK", "SLOWEST_RANK", "DATASPACE_", "CHUNK_SIZE_")


@dataclass
class Record:
    """One process's counters of a file, by name without the module's prefix: counts and bytes as
    int, seconds as float (names that begin with `F_`). Rank -1: of all processes.

    `sizes`, `strides`: everything seen, if the recorder kept it; else what the record names.
    """

    rank: int
    values: dict[str, float]
    sizes: Mapping[int, int] | None = None
    strides: Mapping[int, int] | None = None

    def table(self, what: str) -> Mapping[int, int]:
        """How often each size (`ACCESS`) or stride (`STRIDE`) was seen."""
        kept: Mapping[int, int] | None = getattr(self, _TABLES[what])
        return named(self.values, what) if kept is None else kept

    @property
    def moved(self) -> int:
        get = self.values.get
        return int(get("BYTES_READ", 0) + get("BYTES_WRITTEN", 0))

    @property
    def seconds(self) -> float:
        """The seconds, without negative times: old runtimes (3.1, 3.2) left some, from a clock set
        back or from overlapping calls."""
        names = (f"F_{what}_TIME" for what in ("READ", "WRITE", "META"))
        return sum(max(0.0, self.values.get(name, 0.0)) for name in names)


def named(values: Mapping[str, float], what: str) -> dict[int, int]:
    """The common sizes or strides that a record names, with their counts."""
    found = {}
    for i in range(1, COMMON + 1):
        count = int(values.get(f"{what}{i}_COUNT", 0))
        if count > 0:
            found[int(values[f"{what}{i}_{what}"])] = count
    return found


def commonest(table: Mapping[int, int]) -> list[tuple[int, int]]:
    """The most frequent (value, count); ties go to the larger value; zero is none."""
    ranked = sorted(((count, value) for value, count in table.items() if value), reverse=True)
    return [(value, count) for count, value in ranked[:COMMON]]


def reduce(records: Sequence[Record], rank: int = -1) -> Record:
    """One record of several processes. What cannot be summed is taken from the first record."""
    values = {name: _value(name, [r.values for r in records]) for name in records[0].values}
    tables: dict[str, Counter[int]] = {}
    for what in _TABLES:
        if f"{what}1_{what}" not in values:
            continue
        total: Counter[int] = Counter()
        for record in records:
            total.update(record.table(what))
        tables[_TABLES[what]] = total
        top = [*commonest(total), *[(0, 0)] * COMMON]
        for i in range(1, COMMON + 1):
            values[f"{what}{i}_{what}"], values[f"{what}{i}_COUNT"] = top[i - 1]
    if rank < 0 and "FASTEST_RANK" in values:
        values |= _extremes(records)
    return Record(rank, values, tables.get("sizes"), tables.get("strides"))


def _value(name: str, all_values: Sequence[Mapping[str, float]]) -> float:
    column = [values[name] for values in all_values]
    if name in _FIRST or name.startswith(_OF_FIRST):
        return column[0]
    if name in _LARGEST or name.endswith("_END_TIMESTAMP") or name.startswith(("F_MAX_", "USE_")):
        return max(column)
    if name in _WITH_TIME:
        return max(all_values, key=lambda values: values[_WITH_TIME[name]])[name]
    if name.endswith("_START_TIMESTAMP"):
        return min((value for value in column if value > 0), default=0.0)
    if name.startswith(("F_FASTEST", "F_SLOWEST", "F_VARIANCE")):
        return 0.0
    if name.startswith("F_"):
        return sum(max(0.0, value) for value in column)
    return -1 if min(column) < 0 else sum(column)  # a negative count means unknown


def _extremes(records: Sequence[Record]) -> dict[str, float]:
    slowest = max(records, key=lambda r: r.seconds)
    fastest = min(records, key=lambda r: r.seconds)
    found: dict[str, float] = {
        "F_VARIANCE_RANK_TIME": pvariance([r.seconds for r in records]),
        "F_VARIANCE_RANK_BYTES": pvariance([float(r.moved) for r in records]),
    }
    for word, record in (("FASTEST", fastest), ("SLOWEST", slowest)):
        found[f"{word}_RANK"] = record.rank
        found[f"{word}_RANK_BYTES"] = record.moved
        found[f"F_{word}_RANK_TIME"] = record.seconds
    return found
