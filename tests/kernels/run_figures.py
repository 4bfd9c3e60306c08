# SPDX-License-Identifier: BSD-3-Clause
"""What follows from the samples of a result document: its summary, and the table that the run
printed. Every good run of these tests is compared with both (`Run.good`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from statistics import fmean, median
from typing import Any

import pytest

Json = dict[str, Any]
Figure = Callable[[Json], float | None]
MIB = 2**20
SIDES = ("write", "read")
OPERATIONS = ("create", "readdir", "stat", "open", "remove")
CEILINGS = {"fpp": "file/process", "shared": "shared file"}
# By name in the summary: label and unit in the table, of what is printed where it was measured.
SERVED = {
    "apparent_bw": ("apparent bandwidth", "MiB/s"),
    "direct_bw": ("written directly", "MiB/s"),
    "apparent_speedup": ("apparent / direct", ""),
    "overlap": ("overlap", "of direct writing"),
    "durable_bw": ("durable bandwidth", "MiB/s"),
    "blocked_time": ("clients blocked", "s"),
    "drain_time": ("drain", "s"),
    "queue_peak": ("highest queue fill", "bytes"),
    "io_fraction": ("time in I/O", "of the writing part"),
}


def _at(*path: str) -> Figure:
    def figure(sample: Any) -> float | None:
        for key in path:
            sample = sample.get(key) if sample else None
        return None if sample is None else float(sample)

    return figure


def _share(side: str, kind: str) -> Figure:
    own, ceiling = _at(side, "bandwidth"), _at("ceilings", kind, side)

    def figure(sample: Json) -> float | None:
        one, most = own(sample), ceiling(sample)
        return one / most if one is not None and most else None

    return figure


# What every summary has, null where not measured; then what I/O processes add.
FIGURES: dict[str, Figure] = {
    "write_bw": _at("write", "bandwidth"),
    "read_bw": _at("read", "bandwidth"),
    "open_time": _at("write", "phases", "create", "max"),
    "define_time": _at("write", "phases", "define", "max"),
    "close_time": _at("write", "phases", "close", "max"),
    "read_open_time": _at("read", "phases", "open", "max"),
    **{f"{side}_{of}": _at(side, "latency", of) for side in SIDES for of in ("p50", "p99", "max")},
    **{f"{name}_rate": _at("series", name, "rate") for name in OPERATIONS},
    **{f"{side}_fraction_{kind}": _share(side, kind) for kind in CEILINGS for side in SIDES},
}


def check_summary(document: Json) -> None:
    samples, summary = document["samples"], document["summary"]
    moves = document["verification"]["verdict"] != "nothing moved"
    for name, figure in FIGURES.items():
        values = [figure(sample) for sample in samples]
        known = [value for value in values if value is not None]
        right = median(known) if known and (moves or "fraction" not in name) else None
        if name == "define_time" and right == 0:  # a method without this step
            right = None
        assert summary[name] == (right if right is None else pytest.approx(right)), name
    served = samples[0].get("queue") is not None
    direct = samples[0].get("direct") is not None
    flushed = served and document["asked"]["fsync"] and moves
    computed = samples[0]["write"] is not None and document["asked"]["compute_seconds"] > 0
    wanted = {"apparent_bw": served, "direct_bw": direct, "apparent_speedup": served and direct,
              "overlap": direct, "durable_bw": flushed, "blocked_time": served,
              "drain_time": served, "queue_peak": served, "io_fraction": computed}  # fmt: skip
    assert {name for name, there in wanted.items() if there} == summary.keys() - FIGURES.keys()


Lines = Iterator[tuple[str, str]]


def _bandwidth(values: Sequence[float]) -> str:
    shown = f"{median(values):.2f} MiB/s"
    if len(values) > 1:
        shown += f" ({min(values):.2f} to {max(values):.2f} over {len(values)} repeats)"
    return shown


def _times(some: Sequence[Json], decimals: int = 6) -> str:
    """The means over the repeats of a time's minimum, mean and maximum over processes."""
    return " ".join(
        f"{fmean(one[of] for one in some):.{decimals}f}" for of in ("min", "mean", "max")
    )


def _of_ceilings(samples: Sequence[Json]) -> Lines:
    found = [sample["ceilings"] for sample in samples if sample["ceilings"]]
    for kind, name in CEILINGS.items() if found else ():
        for side in SIDES:
            yield f"{name} {side}", _bandwidth([one[kind][side] for one in found])
    if found and (small := found[0].get("small")):
        each = found[0]["files"]
        said = f"{small['write']:.0f} written, {small['read']:.0f} read in a second"
        yield "4 KiB at random", said
        said = f"{each['create']:.0f} created, {each['stat']:.0f} looked up"
        yield "small files", f"{said}, {each['remove']:.0f} removed in a second"


def _of_series(samples: Sequence[Json]) -> Lines:
    for name in OPERATIONS:
        some = [one["series"][name] for one in samples if one["series"] and one["series"][name]]
        if some:
            rates = f"{fmean(one['rate'] for one in some):.0f} "
            rates += _times([one["rate_per_process"] for one in some], 0)
            yield f"file {name}", f"{rates} {fmean(one['seconds']['max'] for one in some):.6f}"


def _of_phases(samples: Sequence[Json]) -> Lines:
    """Phases, then named transfers with their bandwidth."""
    sides = {side: [one[side] for one in samples] for side in SIDES if samples[0][side]}
    for side, some in sides.items():
        for name in some[0]["phases"]:
            yield f"{side:6}{name}", _times([one["phases"][name] for one in some])
    for side, some in sides.items():
        for each in zip(*(one.get("stretches", ()) for one in some), strict=True):
            longest, moved = (sum(one[of] for one in each) for of in ("max", "bytes"))
            bandwidth = f" {moved / longest / MIB:.2f} MiB/s" if longest else ""
            yield f"{side:6}{each[0]['name']}", _times(each) + bandwidth


def _wanted(document: Json, phases: bool) -> Lines:
    system, asked, memory = (document[name] for name in ("system", "asked", "memory"))
    samples, summary, found = (document[name] for name in ("samples", "summary", "verification"))
    nodes, steps = system["nodes"], asked["steps"]
    yield "processes", f"{system['processes']} on {nodes} node{'s' * (nodes != 1)}"
    yield "directory", f"{asked['directory']} ({system['filesystem']['type']})"
    bytes_ = document["payload"]["bytes"]
    yield "payload", f"{bytes_ / MIB:.2f} MiB in {steps} dump{'s' * (steps != 1)}"
    for side in SIDES:
        if samples[0][side]:
            yield f"{side} bandwidth", _bandwidth([one[side]["bandwidth"] for one in samples])
    if queue := samples[0].get("queue"):
        queues = f"with queues of {queue['limit'] / MIB:.1f} MiB"
        yield "I/O processes", f"{system['io_processes']} of the processes, {queues}"
    for name, (label, unit) in SERVED.items():
        if name in summary:
            yield label, f"{summary[name]:.2f} {unit}".strip()
    yield from _of_ceilings(samples)
    yield from _of_series(samples)
    if phases:
        yield from _of_phases(samples)
    peak, least, data = (memory[name] / MIB for name in ("peak_rss", "peak_rss_min", "data"))
    over = f"({least:.2f} to {peak:.2f} over processes; data {data:.2f})"
    yield "peak memory", f"{peak:.2f} MiB {over}"
    back = f", {found['bytes'] / MIB:.2f} MiB read back" if found["bytes"] else ""
    yield "verification", f"{found['verdict']}{back}"


NUMBER = r"-?\d+(?:\.\d+)?"


def _alike(text: str, right: str) -> bool:
    """The same words; a number may differ by one in its last place, where a half is rounded."""
    if re.split(NUMBER, text) != re.split(NUMBER, right):
        return False
    pairs = zip(re.findall(NUMBER, text), re.findall(NUMBER, right), strict=True)
    return all(
        abs(float(a) - float(b)) < 1.01 * 10.0 ** -len(a.partition(".")[2]) for a, b in pairs
    )


def check_table(document: Json, printed: str, phases: bool) -> None:
    """Each line, in the order of the table, has the document's numbers."""
    asked = document["asked"]
    mode = f", {asked['mode']}" if asked["mode"] else ""
    assert f" ++++ iokernel {asked['pattern']}, method {asked['method']}{mode} ++++\n" in printed
    table = printed.partition(" ++++\n")[2]
    shown = re.findall(r"^ ([^\s:-][^:\n]{0,19}): (.*)$", table, re.MULTILINE)
    wanted = list(_wanted(document, phases))
    assert [label.rstrip() for label, _ in shown] == [label for label, _ in wanted]
    for (_, text), (label, right) in zip(shown, wanted, strict=True):
        text = " ".join(text.split())
        assert _alike(text, right), f"{label}: {text!r} in the table; the document: {right!r}"
    for series in filter(None, (sample["series"] for sample in document["samples"])):
        assert f" -- {series['files_per_process']} files of each process;" in table
