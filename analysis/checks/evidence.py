# SPDX-License-Identifier: BSD-3-Clause
"""A result document against what the kernel did not say: the clock outside, and the storage.
(The trace: evidence_of_trace.py.)

Pure. All comparisons of times are one-sided: on a loaded machine more time may go by between two
looks at a clock, never less; so an honest run passes whatever else the machine does.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from iogauge.common.mounts import IN_MEMORY

from ..ledger.ledger import stored_bytes
from .arithmetic import MIB, clients

# Two clocks of one machine: what they may differ by in a time, and in rate; and in the length of
# what lies wholly within something else.
SECONDS, RATE, WITHIN = 0.02, 0.01, 0.002
# Clocks of two machines.
SKEW = 300.0
# File systems whose reads from the device the kernel of the operating system counts for a process.
COUNTED = ("ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs")
# Below, so much may lie within inodes, or in blocks that were read for something else.
LEAST_READ = 2**20

Json = dict[str, Any]
Side = tuple[str, str]  # direction in the document, and in Darshan's counters
SIDES: tuple[Side, ...] = (("write", "WRITTEN"), ("read", "READ"))


@dataclass(frozen=True)
class Outside:
    """What the harness saw of a job. `begin`, `end`: Unix time before it was started, and after it
    was found to have ended; `seconds`: between them, by a clock that nobody sets. `local`: on this
    machine, else its clock may be another. `storage_read`: bytes that its processes had read from
    storage, where that is known."""

    begin: float
    end: float
    seconds: float
    local: bool = True
    storage_read: int | None = None

    @property
    def clock_was_set(self) -> bool:
        """Then no time of the day can be compared."""
        return abs(self.end - self.begin - self.seconds) > SECONDS + RATE * self.seconds


def fits(seconds: float, room: float, slack: float = SECONDS) -> bool:
    return seconds <= room * (1 + RATE) + slack


# ---------------------------------------------------------------- the clock outside


def against_the_clock(document: Json, outside: Outside) -> Iterator[str]:
    """Times that are longer than the job was, or of another day."""
    total = sum(_all_seconds(document, sample) for sample in document["samples"])
    if not fits(total, outside.seconds):
        yield (
            f"the result's times add up to {total:.6g} s, "
            f"but the job ended within {outside.seconds:.6g} s"
        )
    if outside.clock_was_set:
        return
    slack = SECONDS if outside.local else SKEW
    written = datetime.strptime(document["system"]["time"], "%Y-%m-%dT%H:%M:%SZ")
    when = written.replace(tzinfo=timezone.utc).timestamp()
    if not outside.begin - slack - 1 <= when <= outside.end + slack:
        yield f"system.time {document['system']['time']} is not within the time of the job"
    for place, entry in spans(document):
        if entry["begin"] < outside.begin - slack or entry["end"] > outside.end + slack:
            yield f"{place}: phase {entry['phase']} was not within the time of the job"
            return


def spans(document: Json) -> Iterator[tuple[str, Json]]:
    for sample in document["samples"]:
        for direction, _ in SIDES:
            for entry in (sample[direction] or {}).get("spans") or []:
                yield f"repeat {sample['repeat']}, {direction}", entry


def _all_seconds(document: Json, sample: Json) -> float:
    """What a repeat took one after the other, at least."""
    series = sample.get("series") or {}
    return sum(
        (
            *(sample[side]["seconds"] for side, _ in SIDES if sample[side]),
            float(sample.get("compute_seconds") or 0),
            *(series[one]["seconds"]["max"] for one in ("stat", "remove") if series.get(one)),
            _beside_seconds(document, sample),
        )
    )


def _beside_seconds(document: Json, sample: Json) -> float:
    """Of the ceilings and of direct writing, which stand between the repeats."""
    direct: float = sample["direct"]["seconds"] if sample.get("direct") else 0.0
    amount = ceiling_bytes(document)
    bandwidths = [b for kind in (sample["ceilings"] or {}).values() for b in kind.values() if b]
    return direct + sum(float(amount / bandwidth / MIB) for bandwidth in bandwidths)


def ceiling_bytes(document: Json) -> int:
    """Of one direction of one kind: as many for each process as the largest has in a step."""
    return int(document["memory"]["data"] * clients(document))


def spans_and_seconds(document: Json) -> Iterator[str]:
    """Phases that took longer than from their beginning to their end; what stands between two
    repeats and does not fit there."""
    found: dict[tuple[int, str], list[Json]] = defaultdict(list)
    for number, sample in enumerate(document["samples"]):
        for direction, _ in SIDES:
            spans = found[number, direction] = (sample[direction] or {}).get("spans") or []
            # Processes handle a series alone: one creates while another closes.
            if not spans or any(entry["phase"] == "series" for entry in spans):
                continue
            room = sum(entry["end"] - entry["begin"] for entry in spans)
            if not fits(sample[direction]["seconds"], room):
                yield (
                    f"repeat {number}, {direction}: {sample[direction]['seconds']:.6g} s, "
                    f"but its phases were {room:.6g} s from beginning to end"
                )
    for number, sample in enumerate(document["samples"][:-1]):
        ends = [entry["end"] for side, _ in SIDES for entry in found[number, side]]
        begins = [entry["begin"] for side, _ in SIDES for entry in found[number + 1, side]]
        between = _beside_seconds(document, sample)
        if ends and begins and not fits(between, min(begins) - max(ends)):
            yield (
                f"repeat {number}: the ceilings (and direct writing) would have taken "
                f"{between:.6g} s, but the next repeat began {min(begins) - max(ends):.6g} s later"
            )


# ---------------------------------------------------------------- the storage


def against_the_caches(document: Json, outside: Outside | None) -> Iterator[str]:
    """`dropped` is cold: no page in memory, and the data came from the device."""
    used, kind = document["used"], document["system"]["filesystem"]["type"]
    if used["caches"] is None:
        return
    if (used["caches"] == "memory") != (kind in IN_MEMORY):
        yield f"caches are said to be {used['caches']!r}, but the file system is {kind}"
    if used["caches"] != "dropped":
        return
    if used["resident_fraction"]:
        share = f"{used['resident_fraction']:.0%}"
        yield f"caches are said to be 'dropped', but {share} of the files' pages were in memory"
    wanted = sum(stored_bytes(document) for sample in document["samples"] if sample["read"])
    found = outside.storage_read if outside else None
    if kind in COUNTED and found is not None and wanted >= LEAST_READ and found < wanted / 2:
        yield (
            f"caches are said to be 'dropped', but of {wanted} bytes only {found} were read "
            "from storage"
        )
