# SPDX-License-Identifier: BSD-3-Clause
"""Are a result document's figures consistent: bandwidths, sums of phases, medians? Pure."""

import math
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

from ..session.model import DIRECTIONS, LATENCY, OPERATIONS

MIB = 2**20
# The kernel writes all digits, but sums in another order.
EXACT = 1e-6
# Another program may print four decimals.
LAST_DECIMAL = 0.5e-4
# How much two clocks may differ in rate, and in each reading.
RATE, READING = 0.01, 5e-6

Json = dict[str, Any]
Figure = Callable[[Json], "float | None"]


def complaints(document: Json) -> Iterator[str]:
    payload, steps = document["payload"]["bytes"], document["asked"]["steps"]
    for sample in document["samples"]:
        repeat = f"repeat {sample['repeat']}"
        for name in ("write", "read", "direct"):
            if sample.get(name):
                yield from _direction(f"{repeat}, {name}", sample[name], payload, steps)
        yield from _series(repeat, document, sample)
    yield from _summary(document)


def known(side: Json) -> bool:
    """Did the program measure each phase of each process? (Upstream's ior gives the slowest.)"""
    return all(phase["min"] is not None for phase in side["phases"].values())


def _direction(where: str, side: Json, payload: int, steps: int) -> Iterator[str]:
    seconds, bandwidth = side["seconds"], side["bandwidth"]
    rough = 0.0 if known(side) else LAST_DECIMAL / seconds if seconds else 1.0
    right = payload / seconds / MIB if seconds else math.inf
    slack = rough * right + (LAST_DECIMAL if rough else 0)
    if not _near(bandwidth, right, slack):
        other = f"payload / seconds ({payload} bytes in {seconds:.6g} s) is {right:.6g}"
        yield f"{where}: the bandwidth is {bandwidth:.6g} MiB/s, but {other}"
    if not known(side):
        return
    phases = side["phases"]
    total = sum(phase["max"] for phase in phases.values())
    if not _near(seconds, total):
        yield f"{where}: {seconds:.6g} s, but its phases take {total:.6g} s"
    longest = max(phase["max"] for phase in phases.values())
    if longest > side.get("in_calls", math.inf) * (1 + EXACT):
        yield f"{where}: {side['in_calls']:.6g} s in calls, but a phase takes {longest:.6g} s"
    for name, phase in phases.items():
        room = EXACT * phase["max"] + 1e-9
        if not phase["min"] <= phase["mean"] + room <= phase["max"] + 2 * room:
            yield f"{where}: of phase {name} the minimum, mean and maximum are not in order"
        if phase.get("elapsed", 0.0) > phase["max"] * (1 + RATE) + READING * steps:
            yield f"{where}: another clock says {phase['elapsed']:.6g} s of {name}"
    stretches = side.get("stretches", [])
    for stretch in stretches:
        right = stretch["bytes"] / stretch["max"] / MIB if stretch["max"] else 0
        if stretch["bandwidth"] is not None and not _near(stretch["bandwidth"], right):
            yield f"{where}: the bandwidth of {stretch['name']} is not its bytes / seconds"
    moved = sum(stretch["bytes"] for stretch in stretches)
    if stretches and moved != payload:
        yield f"{where}: its stretches have {moved} bytes, the payload is {payload}"


def _series(repeat: str, document: Json, sample: Json) -> Iterator[str]:
    series = sample.get("series")
    if not series:
        return
    files = series["files_per_process"] * clients(document)
    for name in OPERATIONS:
        one = series.get(name)
        if one and not _near(one["rate"] * one["seconds"]["max"], files):
            yield f"{repeat}: the rate of {name} is not {files} files / {one['seconds']['max']:g} s"


def clients(document: Json) -> int:
    """The processes that have data."""
    system = document["system"]
    return int(system["processes"] - (system.get("io_processes") or 0))


def _near(found: float, right: float, slack: float = 0.0) -> bool:
    return math.isclose(found, right, rel_tol=EXACT, abs_tol=slack + 1e-12)


def _at(*path: str) -> Figure:
    def figure(sample: Json) -> float | None:
        value: Any = sample
        for key in path:
            value = value.get(key) if value else None
        return value  # type: ignore[no-any-return]

    return figure


def _over(one: Figure, other: Figure) -> Figure:
    def figure(sample: Json) -> float | None:
        a, b = one(sample), other(sample)
        return a / b if a is not None and b else None

    return figure


def _overlap(sample: Json) -> float | None:
    share = _over(_at("write", "seconds"), _at("direct", "seconds"))(sample)
    return None if share is None else 1 - share


def _busy(sample: Json) -> float | None:
    """The share of I/O in the time of writing, pauses included."""
    seconds, between = _at("write", "seconds")(sample), sample.get("compute_seconds")
    return None if seconds is None or between is None else seconds / (seconds + between)


FIGURES: dict[str, Figure] = {
    "write_bw": _at("write", "bandwidth"),
    "read_bw": _at("read", "bandwidth"),
    "open_time": _at("write", "phases", "create", "max"),
    "define_time": _at("write", "phases", "define", "max"),
    "close_time": _at("write", "phases", "close", "max"),
    "read_open_time": _at("read", "phases", "open", "max"),
    **{f"{side}_{name}": _at(side, "latency", name) for side in DIRECTIONS for name in LATENCY},
    **{f"{name}_rate": _at("series", name, "rate") for name in OPERATIONS},
    **{
        f"{side}_fraction_{kind}": _over(_at(side, "bandwidth"), _at("ceilings", kind, side))
        for side in ("write", "read")
        for kind in ("fpp", "shared")
    },
    "direct_bw": _at("direct", "bandwidth"),
    "overlap": _overlap,
    "blocked_time": _at("queue", "blocked"),
    "drain_time": _at("write", "phases", "drain", "max"),
    "queue_peak": _at("queue", "peak"),
    "io_fraction": _busy,
}


def _summary(document: Json) -> Iterator[str]:
    """Every figure in the summary must follow from the samples."""
    payload = document["payload"]["bytes"]

    def served(seconds: Figure) -> Figure:
        return lambda sample: payload / s / MIB if (s := seconds(sample)) else None

    def closed(sample: Json) -> float | None:
        drain = _at("write", "phases", "drain", "max")(sample)
        move = _at("write", "phases", "move", "max")(sample) or 0
        return None if drain is None else sample["write"]["seconds"] - drain - move

    apparent = served(closed)
    figures = {
        **FIGURES,
        "apparent_bw": apparent,
        "apparent_speedup": _over(apparent, _at("direct", "bandwidth")),
        "durable_bw": served(_at("queue", "busy")),
    }
    for name, said in document["summary"].items():
        if said is None:
            continue
        values = [v for sample in document["samples"] if (v := figures[name](sample)) is not None]
        if not values:
            yield f"summary.{name} is {said:.6g}, and no sample says so"
        elif not _near(said, median(values), 1e-9 if name == "overlap" else 0):
            yield f"summary.{name} is {said:.6g}, the median of the samples {median(values):.6g}"
