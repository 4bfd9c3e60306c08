# SPDX-License-Identifier: BSD-3-Clause
"""Are a result document's figures consistent: bandwidths, sums of phases, medians? Pure."""

import math
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

from ..session.model import DIRECTIONS, LATENCY, OPERATIONS
from .result_file import Check, failures

MIB = 2**20
# The kernel writes all digits, but sums in another order.
EXACT = 1e-6
# Another program may print four decimals.
LAST_DECIMAL = 0.5e-4
# How much two clocks may differ in rate, and in each reading.
RATE, READING = 0.01, 5e-6

Json = dict[str, Any]
Figure = Callable[[Json], "float | None"]


def complaints(doc: Json) -> Iterator[str]:
    yield from failures(_of_samples(doc))
    yield from failures(_summary(doc))


def _of_samples(doc: Json) -> Iterator[Check]:
    payload, steps = doc["payload"]["bytes"], doc["asked"]["steps"]
    for sample in doc["samples"]:
        repeat = f"repeat {sample['repeat']}"
        for name in ("write", "read", "direct"):
            if sample.get(name):
                yield from _direction(f"{repeat}, {name}", sample[name], payload, steps)
        yield from _series(repeat, doc, sample)


def known(side: Json) -> bool:
    """Did the program measure each phase of each process? (Upstream's ior gives the slowest.)"""
    return all(phase["min"] is not None for phase in side["phases"].values())


def _direction(where: str, side: Json, payload: int, steps: int) -> Iterator[Check]:
    yield _bandwidth(where, side, payload)
    if known(side):
        yield from _phases(where, side)
        for name, phase in side["phases"].items():
            yield from _phase(where, name, phase, steps)
        yield from _stretches(where, side.get("stretches", []), payload)


def _bandwidth(where: str, side: Json, payload: int) -> Check:
    seconds, bandwidth = side["seconds"], side["bandwidth"]
    rough = 0.0 if known(side) else LAST_DECIMAL / seconds if seconds else 1.0
    right = payload / seconds / MIB if seconds else math.inf
    slack = rough * right + (LAST_DECIMAL if rough else 0)
    other = f"payload / seconds ({payload} bytes in {seconds:.6g} s) is {right:.6g}"
    text = f"{where}: the bandwidth is {bandwidth:.6g} MiB/s, but {other}"
    return not _near(bandwidth, right, slack), text


def _phases(where: str, side: Json) -> Iterator[Check]:
    seconds, in_calls = side["seconds"], side.get("in_calls", math.inf)
    took = [phase["max"] for phase in side["phases"].values()]
    total, longest = sum(took), max(took)
    yield (
        not _near(seconds, total),
        f"{where}: {seconds:.6g} s, but its phases take {total:.6g} s",
    )
    yield (
        longest > in_calls * (1 + EXACT),
        f"{where}: {in_calls:.6g} s in calls, but a phase takes {longest:.6g} s",
    )


def _phase(where: str, name: str, phase: Json, steps: int) -> Iterator[Check]:
    least, mean, most = phase["min"], phase["mean"], phase["max"]
    room, elapsed = EXACT * most + 1e-9, phase.get("elapsed", 0.0)
    yield (
        not least <= mean + room <= most + 2 * room,
        f"{where}: of phase {name} the minimum, mean and maximum are not in order",
    )
    yield (
        elapsed > most * (1 + RATE) + READING * steps,
        f"{where}: another clock says {elapsed:.6g} s of {name}",
    )


def _stretches(where: str, stretches: list[Json], payload: int) -> Iterator[Check]:
    for stretch in stretches:
        found, seconds = stretch["bandwidth"], stretch["max"]
        right = stretch["bytes"] / seconds / MIB if seconds else 0
        yield (
            found is not None and not _near(found, right),
            f"{where}: the bandwidth of {stretch['name']} is not its bytes / seconds",
        )
    moved = sum(stretch["bytes"] for stretch in stretches)
    yield (
        stretches and moved != payload,
        f"{where}: its stretches have {moved} bytes, the payload is {payload}",
    )


def _series(repeat: str, doc: Json, sample: Json) -> Iterator[Check]:
    series = sample.get("series") or {}
    for name in (name for name in OPERATIONS if series.get(name)):
        files = series["files_per_process"] * clients(doc)
        rate, seconds = series[name]["rate"], series[name]["seconds"]["max"]
        yield (
            not _near(rate * seconds, files),
            f"{repeat}: the rate of {name} is not {files} files / {seconds:g} s",
        )


def clients(doc: Json) -> int:
    """The processes that have data."""
    system = doc["system"]
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


def _served(payload: int, seconds: Figure) -> Figure:
    return lambda sample: payload / s / MIB if (s := seconds(sample)) else None


def _closed(sample: Json) -> float | None:
    """Seconds until the files are closed; what drains and moves later is not waited for."""
    drain = _at("write", "phases", "drain", "max")(sample)
    move = _at("write", "phases", "move", "max")(sample) or 0
    return None if drain is None else sample["write"]["seconds"] - drain - move


def _figures(payload: int) -> dict[str, Figure]:
    apparent = _served(payload, _closed)
    return {
        **FIGURES,
        "apparent_bw": apparent,
        "apparent_speedup": _over(apparent, _at("direct", "bandwidth")),
        "durable_bw": _served(payload, _at("queue", "busy")),
    }


def _summary(doc: Json) -> Iterator[Check]:
    """Every figure in the summary must follow from the samples."""
    figures = _figures(doc["payload"]["bytes"])
    summary = {name: value for name, value in doc["summary"].items() if value is not None}
    for name, found in summary.items():
        values = [v for sample in doc["samples"] if (v := figures[name](sample)) is not None]
        right = median(values) if values else math.nan
        other = f"the median of the samples {right:.6g}" if values else "and no sample says so"
        yield (
            not _near(found, right, 1e-9 if name == "overlap" else 0),
            f"summary.{name} is {found:.6g}, {other}",
        )
