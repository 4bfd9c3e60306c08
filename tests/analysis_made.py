# SPDX-License-Identifier: BSD-3-Clause
"""Made sessions: recorded ones with round numbers, in a separate store."""

from __future__ import annotations

import copy
import json
import shutil
import uuid
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from iogauge.analysis.store.ingest import ingest
from tests.analysis_recorded import Recorded

START = 1795196599  # 2026-11-20, the recorded session
DAY = 86400
Values = Mapping[tuple[str, str], Sequence[float]]  # (test, stack): MiB/s of each repeat


def session(folder: Path, values: Values, *, day: int = 0, processes: int = 2) -> Recorded:
    """A session below `folder`: each case of `values` with these bandwidths (write and read alike)
    and a practical peak of 800; all others are left out. The order of its jobs was drawn."""
    made = Recorded(folder)

    def change(report: dict[str, Any]) -> None:
        when = START + DAY * day
        report["session_info"].update(
            uuid=str(uuid.uuid5(uuid.NAMESPACE_OID, f"{folder.name} {day}")),
            time_start_unix=when,
            order_seed=1,
        )
        for run in report["runs"]:
            cases = run["testcases"]
            run["testcases"] = [c for c in cases if (c["display_name"], c["environ"]) in values]
            for case in run["testcases"]:
                case["perfvalues"] = {}

    for (name, stack), bandwidths in values.items():
        made.edit_document(name, stack, partial(_fill, bandwidths=bandwidths, processes=processes))
    made.edit(change)
    return made


def _fill(document: dict[str, Any], bandwidths: Sequence[float], processes: int) -> None:
    document["system"]["processes"] = processes
    first = document["samples"][0]
    document["samples"] = []
    for repeat, bandwidth in enumerate(bandwidths):
        sample = copy.deepcopy(first)
        sample["repeat"] = repeat
        for direction in ("write", "read"):
            sample[direction]["bandwidth"] = bandwidth
            sample["ceilings"]["fpp"][direction] = 800.0
        document["samples"].append(sample)


def split(made: Recorded) -> Recorded:
    """Make each repeat a separate job, as ReFrame's --repeat does."""

    def change(report: dict[str, Any]) -> None:
        for run in report["runs"]:
            run["testcases"] = [job for case in run["testcases"] for job in _jobs(made, case)]

    made.edit(change)
    return made


def _jobs(made: Recorded, case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if case["fixture"]:
        yield case
        return
    folder = made.document(case["display_name"], case["environ"]).parent
    document = json.loads((folder / "result.json").read_text())
    for number, sample in enumerate(document["samples"]):
        of = shutil.copytree(folder, folder.with_name(f"{folder.name}_{number}"))
        only = {**document, "samples": [{**sample, "repeat": 0}]}
        (of / "result.json").write_text(json.dumps(only))
        yield {
            **case,
            "display_name": f"{case['display_name']} %.repeat_no={number}",
            "unique_name": f"{case['unique_name']}_{number}",
            "outputdir": f"{case['outputdir']}_{number}",
        }


def crash(made: Recorded, name: str, stack: str, jobs: Sequence[int], document: bool) -> None:
    """Make these jobs of a split session fail; they leave a result `document` or none."""

    def change(report: dict[str, Any]) -> None:
        every = [case for run in report["runs"] for case in run["testcases"]]
        of = [c for c in every if c["display_name"].startswith(name) and c["environ"] == stack]
        for number in jobs:
            of[number].update(result="fail", fail_reason="sanity error: it ran out of memory")
            if not document:
                place = made.folder / Path(of[number]["outputdir"]).relative_to("/checkout")
                (place / "result.json").unlink()

    made.edit(change)


def store(folder: Path, sessions: Sequence[Values], *, jobs: bool = False) -> Path:
    """A store of these sessions, one a day. `jobs`: each value is a job, not a repeat of one."""
    for day, values in enumerate(sessions):
        one = session(folder / f"s{day}", values, day=day)
        ingest((split(one) if jobs else one).report, folder / "store")
    return folder / "store"
