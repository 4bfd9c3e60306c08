# SPDX-License-Identifier: BSD-3-Clause
"""What a lying kernel would do as it ends, after an honest run: `python tell_a_lie.py LIE`, in the
folder of the job. All but the one statement stays as it was, or follows from it."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

Json = dict[str, Any]


def one_repeat(document: Json) -> None:
    document["verification"]["bytes"] = document["payload"]["bytes"]


def faster(document: Json) -> None:
    """A thousand times, in each figure."""
    for sample in document["samples"]:
        for side in (sample["write"], sample["read"]):
            side["seconds"] /= 1000
            side["bandwidth"] *= 1000
            for phase in side["phases"].values():
                phase.update({key: value / 1000 for key, value in phase.items()})
            for calls in (side["latency"], side["latency"]["slowest"]):
                for key in {"p50", "p90", "p99", "p999", "max", "seconds"} & calls.keys():
                    calls[key] /= 1000
    for name, value in document["summary"].items():
        grows = name.endswith("_bw") or "fraction" in name
        if value is not None:
            document["summary"][name] = value * 1000 if grows else value / 1000


def bandwidth(document: Json) -> None:
    document["samples"][0]["write"]["bandwidth"] *= 2


def cold(document: Json) -> None:
    document["used"] |= {"caches": "dropped", "resident_fraction": 0.0}


def ceilings(document: Json) -> None:
    """So slow that the run is as fast as the file system."""
    for sample in document["samples"]:
        sample["ceilings"]["shared"]["write"] = 1e-6
    shares = sorted(sample["write"]["bandwidth"] / 1e-6 for sample in document["samples"])
    middle = (shares[(len(shares) - 1) // 2] + shares[len(shares) // 2]) / 2
    document["summary"]["write_fraction_shared"] = middle


def earlier(document: Json) -> None:
    document["system"]["time"] = "2026-01-01T00:00:00Z"


def readdir(document: Json) -> None:
    """Twice the rate of reading folders, in each figure."""
    for sample in document["samples"]:
        found = sample["series"]["readdir"]
        for key, value in found["seconds"].items():
            found["seconds"][key] = value / 2
        for key, value in found["rate_per_process"].items():
            found["rate_per_process"][key] = value * 2
        found["rate"] *= 2
    document["summary"]["readdir_rate"] *= 2


def no_trace(document: Json) -> None:
    shutil.rmtree("trace")


LIES: dict[str, Callable[[Json], None]] = {
    lie.__name__: lie
    for lie in (one_repeat, faster, bandwidth, cold, ceilings, earlier, readdir, no_trace)
}

if __name__ == "__main__":
    path = Path("result.json")
    told = json.loads(path.read_text())
    LIES[sys.argv[1]](told)
    path.write_text(json.dumps(told))
