# SPDX-License-Identifier: BSD-3-Clause
"""The short form of the self-test (tests/selftest): a sample of all faults and methods."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from iokernel_stacks import ROOT, Stack, listing, missing, stacks
from recorder_runs import counters, kernel

from reframe_tests.framework.recorders import RECORDER
from tests.selftest.injector import FAULTS, Plan, preload, read_fired

pytestmark = [pytest.mark.selftest, pytest.mark.first]
SECONDS = 3500  # a hang is a failure, not a wait
# Nobody calls rename; not every library truncates.
RARE = {"rename", "truncate"}


@pytest.mark.slow
def test_all_that_is_injected_is_seen(tmp_path: Path) -> None:
    able = [name for name, stack in stacks().items() if not missing(stack)]
    if not able:
        pytest.skip("no stack can be built here")
    command = [
        sys.executable,
        "-m",
        "tests.selftest",
        "--short",
        "--json",
        str(tmp_path / "r.json"),
    ]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.returncode in (0, 1), done.stderr + done.stdout
    found = json.loads((tmp_path / "r.json").read_text())
    assert found["bad"] == []  # before the tables: a long message is cut in its middle
    assert done.returncode == 0, done.stderr + done.stdout
    for call, faults in FAULTS.items():
        for fault in faults:
            row = found["faults"].get(f"{call}:{fault}")
            assert call in RARE or (row and row["fired"] > 0), (call, fault)
    methods = {m["name"] for m in listing()["methods"] if m["available"] and not m["moves_nothing"]}
    tried = {name.split()[1].split(":")[0] for name in found["methods"]}
    assert tried == methods
    payload = found["faults"]["byte:payload"]
    assert payload["caught"] == payload["injected"] >= 10


@pytest.mark.parametrize("order", ["storage", "library"])
def test_the_trace_shows_which_side_lost_a_write(
    stack: Stack, injector: Path, order: str, tmp_path: Path
) -> None:
    """Behind the recorder the injector is the storage: the trace has the lost write, and only
    verification tells. Before the recorder it is a library: the trace lacks those bytes."""
    recorder = stack.build / RECORDER
    first = (recorder, injector) if order == "storage" else (injector, recorder)
    plan = Plan("write", "drop", nth=2, rank=0)
    words = ["ior", "-b", "4k", "-t", "1k", "--method", "posix-shared"]
    data = tmp_path / "data"
    variables = {
        **preload(injector, plan, data, tmp_path / "fired"),
        "LD_PRELOAD": ":".join(map(str, first)),
    }
    run, traces = kernel(stack, tmp_path, *words, more=variables)
    assert len(read_fired(tmp_path / "fired")) == 1
    assert "elements are wrong" in run.error(1)
    written = sum(
        counters(record).get("BYTES_WRITTEN", 0)
        for process in traces
        for record in process.records
        if record.module == "POSIX"
    )
    assert written == 2 * 4096 - (0 if order == "storage" else 1024)
