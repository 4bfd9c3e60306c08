# SPDX-License-Identifier: BSD-3-Clause
"""How long calls took, by phase, call and process: exact, from DXT. Pure."""

from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..darshan.log import Log
from ..session.model import DIRECTIONS, Direction
from .phases import HEAT_ORDER, Singly

QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999, "max": 1.0}
TITLES = {name: name.replace("p999", "p99.9") for name in QUANTILES}
INTERVALS = 100  # of a throughput over time


class Flow(NamedTuple):
    """Bytes moved in each interval of `seconds`, by all processes."""

    direction: Direction
    seconds: float
    moved: list[float]

    @property
    def rates(self) -> list[float]:
        """Bytes per second, of the intervals in which something moved."""
        return [moved / self.seconds for moved in self.moved if moved > 0]


def times(found: Singly, *by: str) -> list[dict[str, Any]]:
    """Seconds of the calls of each `phase`, `call`, `process`, or of all (empty, None)."""
    rows = found.rows[np.lexsort([found.rows[name] for name in reversed(by)])]
    differs = np.any([rows[name][1:] != rows[name][:-1] for name in by], axis=0)
    parts = np.split(rows, np.flatnonzero(differs) + 1) if len(rows) else []
    return [
        {
            "phase": found.phases[part["phase"][0]].title if "phase" in by else "",
            "call": " ".join(found.calls[part["call"][0]]),
            "process": int(part["process"][0]) if "process" in by else None,
            "calls": len(part),
            "seconds": float(part["seconds"].sum()),
            **quantiles(part["seconds"]),
        }
        for part in parts
    ]


def quantiles(seconds: NDArray[np.float64]) -> dict[str, float]:
    found = np.quantile(seconds, list(QUANTILES.values()), method="inverted_cdf")
    found = np.maximum(found, 0)  # old runtimes left some below 0
    return dict(zip(QUANTILES, found.tolist(), strict=True))


def by_phase(found: Singly) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    each = sorted(times(found, "phase", "call", "process"), key=lambda one: one["seconds"])
    slowest = {(one["phase"], one["call"]): one for one in each}
    return [(one, slowest[one["phase"], one["call"]]) for one in times(found, "phase", "call")]


def lowest_layer(found: Singly) -> str:
    """POSIX if the trace has its calls."""
    return min((layer for layer, _ in found.calls), key=("POSIX", "MPI-IO").index, default="")


def flows(found: Singly, log: Log) -> list[Flow]:
    """The flows of single calls, or of the heat map if the log has none."""
    layer, heat, all_ = lowest_layer(found), log.heat.get("POSIX"), []
    first = found.rows["begin"].min(initial=np.inf)
    last = (found.rows["begin"] + found.rows["seconds"]).max(initial=-np.inf)
    for direction in DIRECTIONS:
        width, moved = max(float(last - first), 1e-9) / INTERVALS, [0.0]
        if layer:
            moved = _moved(found.of(layer, direction), first, width)
        elif heat:
            which, width = HEAT_ORDER.index(direction), heat.bin_seconds
            bins = zip_longest(*(both[which] for both in heat.ranks.values()), fillvalue=0)
            moved = [float(sum(each)) for each in bins]
        all_ += [Flow(direction, width, moved)] * (sum(moved) > 0)
    return all_


def _moved(rows: NDArray[np.void], first: float, width: float) -> list[float]:
    """A call moves its bytes evenly, from its begin to its end."""
    begin, lasts = rows["begin"] - first, np.maximum(rows["seconds"], 1e-9)
    shares = (np.clip((i * width - begin) / lasts, 0, 1) for i in range(INTERVALS + 1))
    moved = np.diff([float((share * rows["bytes"]).sum()) for share in shares])
    return [float(each) for each in moved]
