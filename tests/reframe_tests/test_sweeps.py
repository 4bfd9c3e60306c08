# SPDX-License-Identifier: BSD-3-Clause
"""The sweeps with real jobs: scaling on this machine, stripes against a stand-in of `lfs`.

Scaling over two nodes: tests/reframe_tests/test_slurm.py."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.reframe_session import changed_site, reframe

# `lfs` keeps a folder's layout beside it, and gives it to the folder's files, as Lustre does: but
# never over more than 8 targets. It prints what Lustre's manual shows.
LFS = """\
#!/bin/bash
set -e
command=$1; shift
case $command in
setstripe)
    [ "$1 $3" = "-c -S" ]
    count=$2
    if [ "$count" = -1 ] || [ "$count" -gt 8 ]; then count=8; fi
    echo "$count $(numfmt --from=iec "$4")" > "$5.layout" ;;
getstripe)
    read -r count size < "$(dirname "$1").layout"
    printf '%s\\n' "$1" "lmm_stripe_count:  $count" "lmm_stripe_size:   $size" \\
        "lmm_pattern:       raid0" "lmm_layout_gen:    0" "lmm_stripe_offset: 0"
    rm "$(dirname "$1").layout" ;;
*) exit 1 ;;
esac
"""

pytestmark = pytest.mark.skipif(
    not shutil.which("mpicc.mpich"), reason="mpicc.mpich is missing: make setup"
)
QUICK = ("-p", "mpich", "-S", "repeats=1", "-S", "ceilings=no")


def document(case: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((Path(case["outputdir"]) / "result.json").read_text())
    return found


@pytest.mark.slow
def test_weak_and_strong_scaling_run(tmp_path: Path) -> None:
    """On as many processes as each variant says; weak scaling has the same data for each."""
    only = ("-t", "scaling", "-t", "ram", "-n", "(Weak|Strong)Scaling.*call=mpiio:collective")
    fits = "(?=.*on_each=(1|2))"
    session = reframe(
        tmp_path, "-r", "--system", "local", *only[:-1], only[-1] + fits, *QUICK,
        tests="sweeps.py",
    )  # fmt: skip
    assert session.status == 0, session.text
    ran = [case for case in session.cases if case["result"] == "pass"]
    assert all(case["skip_reason"] for case in session.cases if case not in ran)
    bytes_of = {
        (case["name"].split(" ")[0], case["num_tasks"]): document(case)["payload"]["bytes"]
        for case in ran
    }
    for (test, processes), payload in bytes_of.items():
        right = 128 * (50**3 * processes if test == "WeakScaling" else 80**3)
        assert payload == right, (test, processes)
    assert {("WeakScaling", 1), ("StrongScaling", 1)} <= set(bytes_of)


@pytest.mark.slow
def test_stripes_are_set_by_the_job_and_read_back(tmp_path: Path) -> None:
    command = tmp_path / "bin" / "lfs"
    command.parent.mkdir()
    command.write_text(LFS)
    command.chmod(0o755)
    config = changed_site(
        tmp_path,
        "partition['features'] = ['striping']\n"
        "partition['extras']['filesystems']['ram'] |= "
        "{'striping': {'kind': 'lustre', 'count': 1, 'size': '1M'}}",
    )
    session = reframe(
        tmp_path,
        *("-r", "--system", "local", "-t", "stripes", *QUICK),
        *("-n", "StripeSweep.*fs=ram.*call=mpiio:collective.*count=(4|64|-1).*size=4M"),
        config=config,
        tests="sweeps.py",
        environment={**os.environ, "PATH": f"{command.parent}:{os.environ['PATH']}"},
    )
    results = {case["stripe_count"]: case for case in session.cases}
    assert {count: case["result"] for count, case in results.items()} == {
        4: "pass", 64: "fail", -1: "pass",
    }  # fmt: skip
    said = "stripe count is 8 in use, the test's name stands for 64"
    assert said in session.text
    size = {"size": 4 * 2**20, "kind": "lustre", "count": 4}
    for count, striping in ((4, 4), (-1, 8)):
        asked = {"count": count, "size": "4M", "own": count}
        right = {**size, "asked": asked, "count": striping, "own": striping}
        assert document(results[count])["used"]["striping"] == right
        assert results[count]["label_check"] == "as labelled"
