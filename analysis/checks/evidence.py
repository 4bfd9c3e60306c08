# SPDX-License-Identifier: BSD-3-Clause
"""A result document checked against the harness's clock and the storage. Pure. All comparisons of
times are one-sided: load can lengthen the time between two readings, never shorten it."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from itertools import pairwise

from iogauge.common.mounts import IN_MEMORY
from iogauge.common.text import percent

from ..ledger.ledger import stored_bytes
from .arithmetic import MIB, RATE, READING, Json, clients
from .result_file import Check, failures, first

# How much two clocks of one machine may differ; and by how much a contained interval may seem too
# long.
SECONDS, WITHIN = 0.02, 0.002
# For clocks of two machines.
SKEW = 300.0
# File systems for which the operating system counts a process's reads from the device.
COUNTED = ("ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs")
# Smaller files may be inside inodes, or in blocks read for something else.
LEAST_READ = 2**20
LARGE = ("fpp", "shared")  # ceilings
COLD = 0.9  # at least this part of what is read cold comes from storage
IN_NO_PHASE = ("readdir", "stat", "remove")

Side = tuple[str, str]  # direction in the document, and in Darshan's counters
SIDES: tuple[Side, ...] = (("write", "WRITTEN"), ("read", "READ"))


@dataclass(frozen=True)
class Outside:
    """What the harness saw of a job. `begin`, `end`: Unix time before its start and after its end;
    `seconds`: between them, on a monotonic clock. `local`: on this machine alone. `storage_read`:
    bytes that it read from storage, if known; of all files, unless `ceilings_read` is known."""

    begin: float
    end: float
    seconds: float
    local: bool = True
    storage_read: int | None = None
    ceilings_read: int | None = None

    @property
    def clock_was_set(self) -> bool:
        """Whether the clock was set during the job: times of day then mean nothing."""
        return abs(self.end - self.begin - self.seconds) > SECONDS + RATE * self.seconds

    def holds(self, begin: float, end: float) -> bool:
        """Whether times of day were within the job, as far as clocks agree."""
        slack = SECONDS if self.local else SKEW
        return self.begin - slack <= begin and end <= self.end + slack


def fits(seconds: float, room: float, slack: float = SECONDS) -> bool:
    return seconds <= room * (1 + RATE) + slack


def against_the_clock(doc: Json, outside: Outside) -> Iterator[str]:
    """Complain of times longer than the job, or from another day."""
    yield from failures(_seconds_and_nodes(doc, outside))
    if not outside.clock_was_set:
        yield from failures(_times_of_day(doc, outside))


def _seconds_and_nodes(doc: Json, outside: Outside) -> Iterator[Check]:
    total = sum(_all_seconds(doc, sample) for sample in doc["samples"])
    ended = f"the job ended within {outside.seconds:.6g} s"
    yield (
        not fits(total, outside.seconds),
        f"the result's times add up to {total:.6g} s, but {ended}",
    )
    nodes = doc["system"]["nodes"]
    yield (
        outside.local and nodes != 1,
        f"system.nodes is {nodes}, but the job ran on this machine",
    )


def _times_of_day(doc: Json, outside: Outside) -> Iterator[Check]:
    written = datetime.strptime(doc["system"]["time"], "%Y-%m-%dT%H:%M:%SZ")
    when = written.replace(tzinfo=timezone.utc).timestamp()
    yield (
        not outside.holds(when + 1, when),  # it leaves out parts of a second
        f"system.time {doc['system']['time']} is not within the time of the job",
    )
    yield from first(
        (
            not outside.holds(entry["begin"], entry["end"]),
            f"{place}: phase {entry['phase']} was not within the time of the job",
        )
        for place, entry in spans(doc)
    )


def spans(doc: Json) -> Iterator[tuple[str, Json]]:
    for sample in doc["samples"]:
        for direction, _ in SIDES:
            for entry in _spans_of(sample, direction):
                yield f"repeat {sample['repeat']}, {direction}", entry


def _spans_of(sample: Json, *directions: str) -> list[Json]:
    sides = (sample[direction] or {} for direction in directions)
    return [entry for side in sides for entry in side.get("spans") or []]


def _all_seconds(doc: Json, sample: Json) -> float:
    """The least time that a repeat's sequential parts take."""
    series = sample.get("series") or {}
    return sum(
        (
            *(sample[side]["seconds"] for side, _ in SIDES if sample[side]),
            float(sample.get("compute_seconds") or 0),
            *(series[one]["seconds"]["max"] for one in IN_NO_PHASE if series.get(one)),
            _beside_seconds(doc, sample),
        )
    )


def _beside_seconds(doc: Json, sample: Json) -> float:
    """The time of ceilings and direct writing, which run between repeats."""
    direct: float = sample["direct"]["seconds"] if sample.get("direct") else 0.0
    amount = ceiling_bytes(doc)
    large = ((kind[side], passes) for kind, passes in large_ceilings(sample) for side, _ in SIDES)
    return direct + sum(float(passes * amount / b / MIB) for b, passes in large if b)


def large_ceilings(sample: Json) -> list[tuple[Json, int]]:
    """The ceilings of large transfers: what was measured, and the number of passes."""
    found = sample["ceilings"] or {}
    return [(found[kind], found[kind].get("passes", 1)) for kind in LARGE if kind in found]


def ceiling_bytes(doc: Json) -> int:
    """For a pass of one direction and kind: each process's share as large as a step's largest."""
    return int(doc["memory"]["data"] * clients(doc))


def spans_and_seconds(doc: Json) -> Iterator[str]:
    """Phases longer than from begin to end, and measurements that do not fit between repeats."""
    yield from failures(_phases_from_begin_to_end(doc))
    yield from failures(_between_repeats(doc))


def _phases_from_begin_to_end(doc: Json) -> Iterator[Check]:
    for number, sample in enumerate(doc["samples"]):
        for direction in (direction for direction, _ in SIDES if sample[direction]):
            seconds, entries = sample[direction]["seconds"], _spans_of(sample, direction)
            room = sum(entry["end"] - entry["begin"] for entry in entries)
            # Processes handle a series independently: one creates while another closes.
            together = not any(entry["phase"] == "series" for entry in entries)
            text = f"{seconds:.6g} s, but its phases were {room:.6g} s from beginning to end"
            yield (
                entries and together and not fits(seconds, room, READING * len(entries)),
                f"repeat {number}, {direction}: {text}",
            )


def _between_repeats(doc: Json) -> Iterator[Check]:
    for number, (sample, after) in enumerate(pairwise(doc["samples"])):
        ends, begins = (
            [entry[name] for entry in _spans_of(one, "write", "read")]
            for one, name in ((sample, "end"), (after, "begin"))
        )
        took = _beside_seconds(doc, sample)
        between = min(begins) - max(ends) if begins and ends else math.inf
        text = f"the ceilings (and direct writing) would have taken {took:.6g} s"
        yield (
            not fits(took, between),
            f"repeat {number}: {text}, but the next repeat began {between:.6g} s later",
        )


def against_the_caches(doc: Json, outside: Outside | None) -> Iterator[str]:
    """`dropped` means cold: no page in memory, and the data came from the device."""
    used, mount = doc["used"], doc["system"]["filesystem"]
    if used["caches"] is None:
        return
    yield from failures(_in_memory(used, mount["type"]))
    compressed = "compress" in (mount.get("options") or "")
    if outside and mount["type"] in COUNTED and not compressed:
        yield from failures(_from_storage(doc, outside))


def _in_memory(used: Json, kind: str) -> Iterator[Check]:
    caches, resident = used["caches"], used["resident_fraction"]
    yield (
        (caches == "memory") != (kind in IN_MEMORY),
        f"caches are said to be {caches!r}, but the file system is {kind}",
    )
    share = percent(resident or 0)
    yield (
        caches == "dropped" and resident,
        f"caches are said to be 'dropped', but {share} of the files' pages were in memory",
    )


def _from_storage(doc: Json, outside: Outside) -> Iterator[Check]:
    cold = doc["used"]["caches"] == "dropped"
    own = sum(stored_bytes(doc) for sample in doc["samples"] if sample["read"])
    ceilings = [one for sample in doc["samples"] for one in large_ceilings(sample)]
    beside = ceiling_bytes(doc) * sum(passes for kind, passes in ceilings if kind["read"])
    for what, wanted, found in (
        ("", own, outside.storage_read),
        (" of the ceilings", beside, outside.ceilings_read),
    ):
        few = cold and found is not None and wanted >= LEAST_READ and found < COLD * wanted
        text = f"of {wanted} bytes{what} only {found} were read from storage"
        yield few, f"caches are said to be 'dropped', but {text}"
    compared = doc["summary"].get("read_fraction_fpp") and min(own, beside) >= LEAST_READ
    warm = (outside.storage_read or 0) < own / 10
    yield (
        compared and warm and (outside.ceilings_read or 0) > COLD * beside,
        "the ceilings were read from storage, and the run's files from memory",
    )
