# SPDX-License-Identifier: BSD-3-Clause
"""The logs that Darshan's own package has as examples, of older formats: a schedule of one has the
accesses that Darshan's library finds in it, and of counters alone none without --synthesise."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from iogauge.analysis.replay import trace
from iogauge.analysis.replay.trace import CannotReplayError
from iogauge.cli.main import main

SPEC = find_spec("darshan")
assert SPEC and SPEC.origin  # a requirement of the analysis
LOGS = Path(SPEC.origin).parent / "examples" / "example_logs"
SINGLE = (  # with DXT: in format 3.10 and 3.21
    "dxt.darshan",
    "ior_hdf5_example.darshan",
)
COUNTED = """\
import darshan, json, sys
report = darshan.DarshanReport(sys.argv[1], read_all=False)
found = []
for module in set(report.modules) & {"DXT_POSIX", "DXT_MPIIO"}:
    report.mod_read_all_dxt_records(module)
    for record in report.records[module]:
        for way in ("read", "write"):
            for one in record[f"{way}_segments"]:
                found.append([module, record["rank"], way, one["offset"], one["length"]])
print(json.dumps(found))
"""


def by_darshan(log: Path) -> Any:
    done = subprocess.run(
        [sys.executable, "-c", COUNTED, str(log)], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", SINGLE)
def test_single_accesses(name: str, tmp_path: Path) -> None:
    """Of all files, data or not: so nothing is left out."""
    loaded = trace.load(LOGS / name, trace.Choice(only=["/"]))
    module = {trace.POSIX: "DXT_POSIX", trace.TOGETHER: "DXT_MPIIO", trace.ALONE: "DXT_MPIIO"}
    ours: Counter[tuple[Any, ...]] = Counter()
    for rank, rows in enumerate(loaded.accesses):
        for row in rows:
            level = loaded.files[int(row["file"])].level
            way = "write" if row["write"] else "read"
            ours[module[level], rank, way, int(row["offset"]), int(row["length"])] += 1
    levels = {module[one.level] for one in loaded.files}
    assert len(levels) == 1  # so each file is there once
    theirs = Counter(tuple(one) for one in by_darshan(LOGS / name) if one[0] in levels)
    assert ours == theirs and sum(ours.values()) > 50
    out = tmp_path / "schedule"
    assert main(["replay", "plan", str(LOGS / name), "-o", str(out)]) == 0 and out.stat().st_size


def test_counters_alone(tmp_path: Path) -> None:
    log, out = LOGS / "example.darshan", tmp_path / "schedule"
    with pytest.raises(CannotReplayError, match="only counters"):
        trace.load(log)
    assert main(["replay", "plan", str(log), "-o", str(out), "--synthesise"]) == 0
    loaded = trace.load(log, trace.Choice(synthesise=True))
    assert loaded.processes == 2048 and loaded.synthesised
