# SPDX-License-Identifier: BSD-3-Clause
"""Recorded runs in which one statement was changed are refused, each by name; others pass."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from iogauge.analysis.checks.evidence import Outside
from iogauge.analysis.darshan.log import Log, Segments
from iogauge.analysis.ledger.ledger import make_ledger
from iogauge.analysis.ledger.verdict import Judgement, judge
from tests.recorded_runs import (
    DOCUMENTS,
    MANY,
    TRACED,
    Run,
    document_of,
    judged,
    recorded,
    refusal,
    traced,
)


@pytest.mark.parametrize("name", TRACED)
def test_an_honest_run_with_its_trace_passes(name: str, tmp_path: Path) -> None:
    judged(traced(name), tmp_path)


@pytest.mark.parametrize("folder", DOCUMENTS, ids=lambda folder: "-".join(folder.parts[-2:]))
def test_an_honest_document_passes(folder: Path, tmp_path: Path) -> None:
    judged(recorded(folder), tmp_path)


def test_a_loaded_machine_and_a_clock_that_was_set_fail_nobody(tmp_path: Path) -> None:
    """An hour between the kernel's end and the harness's look; the clock went back a day, between
    the recorder's start and the kernel's."""
    run = traced("mpich-holes")
    begin, end = run.outside.begin, run.outside.end
    run.outside = Outside(begin, end + 3600, 3600 + end - begin)
    judged(run, tmp_path)
    run.outside = Outside(begin + 86400, end, 120)
    for sample in run.document["samples"]:
        for entry in (one for side in ("write", "read") for one in sample[side]["spans"]):
            entry |= {edge: entry[edge] - 86400 for edge in ("begin", "end")}
    judged(run, tmp_path)


Lie = Callable[[Run], None]
LIES: dict[str, tuple[Callable[[], Run], Lie, str]] = {}


def lie(source: Callable[[], Run], message: str) -> Callable[[Lie], Lie]:
    def add(change: Lie) -> Lie:
        LIES[change.__name__] = (source, change, message)
        return change

    return add


def posix() -> Run:
    return traced("openmpi-posix-ceilings")


def each_access() -> Run:
    return traced("mpich-collective-dxt")


def faster(run: Run, factor: float) -> None:
    """Every time of every repeat, and all that follows from them: it adds up."""
    for sample in run.document["samples"]:
        for side in ("write", "read"):
            sample[side]["seconds"] /= factor
            sample[side]["bandwidth"] *= factor
            for phase in sample[side]["phases"].values():
                phase.update({key: value / factor for key, value in phase.items()})
    for name, value in run.document["summary"].items():
        if value is not None:
            run.document["summary"][name] = value * factor if "bw" in name else value / factor
            if "fraction" in name:
                run.document["summary"][name] = value * factor


@lie(posix, "bytes were verified (2 repeats")
def one_repeat_verified(run: Run) -> None:
    run.document["verification"]["bytes"] = run.document["payload"]["bytes"]


@lie(posix, "only 0 of")
def verification_off(run: Run) -> None:
    run.document["verification"] |= {"bytes": 0, "elements": 0}


@lie(posix, "'not asked', not 'verified'")
def verification_not_asked(run: Run) -> None:
    run.document["verification"]["verdict"] = "not asked"


@lie(posix, "more than")
def more_verified_than_read(run: Run) -> None:
    run.document["verification"]["bytes"] *= 2


@lie(posix, "repeat 0, write: the bandwidth is")
def bandwidth_of_a_sample(run: Run) -> None:
    run.sample["write"]["bandwidth"] *= 2


@lie(posix, "summary.read_bw")
def bandwidth_of_the_summary(run: Run) -> None:
    run.document["summary"]["read_bw"] *= 2


@lie(posix, "summary.write_fraction_fpp")
def fraction_of_the_summary(run: Run) -> None:
    run.document["summary"]["write_fraction_fpp"] *= 2


@lie(posix, "its phases take")
def seconds_without_phases(run: Run) -> None:
    payload, side = run.document["payload"]["bytes"], run.sample["read"]
    side["seconds"] /= 2
    side["bandwidth"] = payload / side["seconds"] / 2**20


@lie(each_access, "a process spent")
def seconds_shorter_than_the_calls(run: Run) -> None:
    faster(run, MANY)


@lie(posix, "the result's times add up to")
def seconds_longer_than_the_job(run: Run) -> None:
    faster(run, 1e-7)


@lie(lambda: traced("mpich-holes"), "from beginning to end")
def seconds_longer_than_the_phases_were(run: Run) -> None:
    faster(run, 1 / MANY)


@lie(lambda: traced("mpich-holes"), "was not within the time of the trace")
def phases_before_the_trace(run: Run) -> None:
    for entry in run.sample["write"]["spans"]:
        entry["begin"] -= 5
        entry["end"] -= 5


@lie(lambda: traced("mpich-holes"), "was not within the time of the job")
def phases_of_another_day(run: Run) -> None:
    for entry in run.sample["write"]["spans"]:
        entry["begin"] -= 86400
        entry["end"] -= 86400


@lie(posix, "system.time")
def written_on_another_day(run: Run) -> None:
    run.document["system"]["time"] = "2025-01-01T00:00:00Z"


@lie(posix, "another run's")
def trace_of_another_day(run: Run) -> None:
    run.log = replace(run.trace, start=run.trace.start - 86400)


@lie(posix, "the trace is of 3 processes")
def trace_of_other_processes(run: Run) -> None:
    run.log = replace(run.trace, processes=3)


@lie(posix, "fsync is claimed for 2 repeats")
def fsync_without_a_call(run: Run) -> None:
    run.document["asked"]["fsync"] = True
    run.expected = replace(run.expected, fsync=True)


@lie(each_access, "fsync is claimed for 2 repeats")
def fsync_without_a_call_of_mpi_io(run: Run) -> None:
    fsync_without_a_call(run)


@lie(posix, "asked.fsync is False, not True")
def fsync_not_done_as_asked(run: Run) -> None:
    run.expected = replace(run.expected, fsync=True)


def cold() -> Run:
    run = document_of("posix", caches="dropped")
    run.document["system"]["filesystem"]["type"] = "ext4"
    return run


@lie(cold, "40 % of the files' pages were in memory")
def dropped_with_pages(run: Run) -> None:
    run.document["used"]["resident_fraction"] = 0.4


@lie(cold, "only 4096 were read from storage")
def dropped_without_reading(run: Run) -> None:
    run.outside = replace(run.outside, storage_read=4096)


@lie(posix, "the file system is tmpfs")
def dropped_in_memory(run: Run) -> None:
    run.document["system"]["filesystem"]["type"] = "tmpfs"
    run.document["used"] |= {"caches": "dropped", "resident_fraction": 0.0}


@lie(cold, "said to be 'memory', but the file system is ext4")
def memory_on_a_disk(run: Run) -> None:
    run.document["used"]["caches"] = "memory"


@lie(posix, "bytes of the files can have been read")
def reads_near_the_beginning(run: Run) -> None:
    """As many bytes as ever, the first 4 KiB of each file again and again."""
    run.log = replace(run.trace, files=_with_counter(run.trace, "MAX_BYTE_READ", 4095))


@lie(posix, "was read only up to byte 61430, and written up to 61439")
def reads_short_of_the_end(run: Run) -> None:
    run.document["file_bytes"] = run.document["payload"]["bytes"]
    first = next(f for f in run.trace.files if "field" in f.path)
    others = [file for file in run.trace.files if file is not first]
    short = replace(first, values={**first.values, "MAX_BYTE_READ": 61430})
    larger = [
        replace(f, values={**f.values, "MAX_BYTE_READ": 70000}) if "field" in f.path else f
        for f in others
    ]
    run.log = replace(run.trace, files=(short, *larger))


@lie(each_access, "different bytes, the payload is")
def reads_at_one_offset(run: Run) -> None:
    run.log = replace(
        run.trace,
        segments=tuple(
            replace(one, reads=[(0, 4096, start, end) for _, _, start, end in one.reads])
            for one in run.trace.segments
        ),
    )


@lie(posix, "was read back by the process that wrote it")
def own_file_read(run: Run) -> None:
    files = []
    for file in run.trace.files:
        read = {work.rank: work.read for work in file.ranks}
        other = {rank: read[1 - rank] for rank in read} if len(read) == 2 else read
        ranks = tuple(replace(work, read=other[work.rank]) for work in file.ranks)
        files.append(replace(file, ranks=ranks))
    run.log = replace(run.trace, files=tuple(files))


@lie(posix, "processes read back their own parts")
def own_part_read(run: Run) -> None:
    """Of one file that both processes write."""
    path = "/fs/field"
    half = run.document["payload"]["bytes"] // 2
    run.document["files"] = [{"path": path, "bytes": 2 * half}]
    run.document["file_count"] = 1
    mine = next(f for f in run.trace.files if "field" in f.path)
    values = {**mine.values, "BYTES_READ": 4 * half, "BYTES_WRITTEN": 4 * half}
    values |= {"MAX_BYTE_READ": 2 * half - 1, "MAX_BYTE_WRITTEN": 2 * half - 1}
    ranks = tuple(replace(work, read=2 * half, written=2 * half) for work in mine.ranks)
    shared = replace(mine, path=path, values=values, ranks=ranks)
    rest = tuple(f for f in run.trace.files if "field" not in f.path)
    parts = [[(rank * half, half, 0.1, 0.2)] for rank in (0, 1)]
    accesses = tuple(Segments("POSIX", path, r, parts[r], parts[r]) for r in (0, 1))
    run.log = replace(run.trace, files=(shared, *rest), segments=accesses)


@lie(posix, "summary.write_fraction_fpp")
def ceiling_that_the_fraction_does_not_know(run: Run) -> None:
    run.sample["ceilings"]["fpp"]["write"] /= 4


@lie(posix, "ceilings (fpp): to write, a process spent")
def ceiling_too_high(run: Run) -> None:
    _set_ceilings(run, "fpp", "write", 1e9)
    file = next(f for f in run.trace.files if "ceiling-fpp" in f.path)
    slow = replace(file, ranks=tuple(replace(work, writing=0.5) for work in file.ranks))
    files = tuple(slow if f is file else f for f in run.trace.files)
    run.log = replace(run.trace, files=files)


def with_spans() -> Run:
    """A second after another repeat; the recorded ones with ceilings have no spans."""
    run = document_of("posix", ceilings=True)
    now = run.outside.begin + 1
    for sample in run.document["samples"]:
        for side in ("write", "read"):
            spans = sample[side]["spans"] = []
            for name, phase in sample[side]["phases"].items():
                spans.append({"phase": name, "begin": now, "end": now + phase["max"]})
                now = spans[-1]["end"]
        now += 1
    return run


@lie(with_spans, "the next repeat began")
def ceiling_too_low(run: Run) -> None:
    """So that the run looks as fast as the file system."""
    _set_ceilings(run, "fpp", "write", 0.01)


@lie(posix, "ceilings: of")
def ceiling_of_nothing(run: Run) -> None:
    files = tuple(file for file in run.trace.files if "ceiling" not in file.path)
    run.log = replace(run.trace, files=files)


@lie(posix, "has no ceilings")
def ceiling_left_out(run: Run) -> None:
    for sample in run.document["samples"]:
        sample["ceilings"] = None
    run.document["summary"].update(dict.fromkeys(
        [name for name in run.document["summary"] if "fraction" in name]
    ))  # fmt: skip


@lie(lambda: document_of("null"), "no verdict from the trace")
def nothing_moved_without_a_trace(run: Run) -> None:
    run.judgement = Judgement("inconclusive", ("trace.darshan: expected a Darshan log",))


@lie(posix, "no verdict from the trace: inconclusive: the log is partial")
def trace_without_a_process(run: Run) -> None:
    run.log = replace(run.trace, partial=("POSIX",))
    run.judgement = judge(make_ledger(run.document, run.log))


def servers() -> Run:
    return document_of("ioserver")


@lie(servers, "summary.direct_bw")
def direct_bandwidth_of_the_summary(run: Run) -> None:
    run.document["summary"]["direct_bw"] *= 2


@lie(servers, "repeat 0, direct: the bandwidth is")
def direct_bandwidth(run: Run) -> None:
    run.sample["direct"]["bandwidth"] *= 2


@lie(servers, "of direct writing 0 of")
def direct_writing_not_verified(run: Run) -> None:
    run.sample["direct"]["verified"] = 0


@lie(posix, "asked.method is 'posix', not 'mpiio'")
def another_method(run: Run) -> None:
    run.expected = replace(run.expected, method="mpiio")


@lie(posix, "asked.steps is 1, not 2")
def fewer_steps(run: Run) -> None:
    run.expected = replace(run.expected, steps=2)


@lie(posix, "asked.hints.cb_nodes is None, not '2'")
def hints_left_out(run: Run) -> None:
    run.expected = replace(run.expected, hints={"cb_nodes": "2"})


@lie(posix, "program.name is 'ior', not 'iokernel'")
def another_program(run: Run) -> None:
    run.document["program"]["name"] = "ior"


def _with_counter(log: Log, name: str, value: int) -> tuple[Any, ...]:
    return tuple(
        replace(file, values={**file.values, name: value}) if name in file.values else file
        for file in log.files
    )


def _set_ceilings(run: Run, kind: str, side: str, bandwidth: float) -> None:
    """And the fraction that follows from it."""
    for sample in run.document["samples"]:
        sample["ceilings"][kind][side] = bandwidth
    shares = sorted(s[side]["bandwidth"] / bandwidth for s in run.document["samples"])
    middle = (shares[(len(shares) - 1) // 2] + shares[len(shares) // 2]) / 2
    run.document["summary"][f"{side}_fraction_{kind}"] = middle


@pytest.mark.parametrize("name", LIES)
def test_a_lie_is_refused_by_name(name: str, tmp_path: Path) -> None:
    source, change, message = LIES[name]
    run = source()
    run.document = copy.deepcopy(run.document)
    judged(run, tmp_path)
    change(run)
    assert message in refusal(run, tmp_path)
