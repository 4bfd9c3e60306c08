# SPDX-License-Identifier: BSD-3-Clause
"""The short form of the self-test (tools/selftest): a sample of all faults and methods."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from iokernel_stacks import ROOT, listing, missing, stacks

from tools.selftest.injector import FAULTS

SECONDS = 900  # a hang is a failure, not a wait
# Nobody calls rename; not every library truncates.
RARE = {"rename", "truncate"}


@pytest.mark.timeout(SECONDS + 60)
def test_all_that_is_injected_is_seen(tmp_path: Path) -> None:
    able = [name for name, stack in stacks().items() if not missing(stack)]
    if not able:
        pytest.skip("no stack can be built here")
    command = [
        sys.executable,
        "-m",
        "tools.selftest",
        "--short",
        "--json",
        str(tmp_path / "r.json"),
    ]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.returncode == 0, done.stderr + done.stdout
    found = json.loads((tmp_path / "r.json").read_text())
    assert found["bad"] == []
    for call, faults in FAULTS.items():
        for fault in faults:
            row = found["faults"].get(f"{call}:{fault}")
            assert call in RARE or (row and row["fired"] > 0), (call, fault)
    methods = {m["name"] for m in listing()["methods"] if m["available"] and not m["moves_nothing"]}
    tried = {name.split()[1].split(":")[0] for name in found["methods"]}
    assert tried == methods
    payload = found["damage"]["tried"]["payload"]
    assert payload >= 100 and found["damage"]["seen"]["payload"] == payload
