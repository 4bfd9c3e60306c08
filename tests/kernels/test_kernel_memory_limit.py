# SPDX-License-Identifier: BSD-3-Clause
"""A limit of memory (ulimit -d) that is reached somewhere: in MPI, in a library, in the kernels. A
run is right, or it fails, says so, and leaves nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from iokernel_stacks import MOVING, How, Stack

WORDS = ["s3d", "--grid", "64x64x64", "--patience", "10"]  # 16 MiB for each of 2 processes
MIB = (16, 32, 48, 64, 96, 256)
# ROMIO then ends the job itself, and may lose this line: docs/selftest.md
ROMIO = "Out of memory in file "
STATUSES = ("error", "failed", "hung", "crashed")


@pytest.mark.slow
@pytest.mark.parametrize("how", MOVING, ids=str)
def test_a_limit_of_memory(stack: Stack, tmp_path: Path, how: How) -> None:
    good = []
    for limit in MIB:
        folder, document = tmp_path / str(limit), tmp_path / f"{limit}.json"
        folder.mkdir()
        run = stack.run(
            f"--data={limit << 20}", str(stack.iokernel), *WORDS, *how.options(),
            "--dir", str(folder), program=Path("/usr/bin/prlimit"), document=document,
        )  # fmt: skip
        said = (run.stderr + run.stdout).strip()
        by_romio = ROMIO in said or (run.status == 1 and not said and run.document is None)
        assert by_romio or not any(folder.iterdir()), str(run)
        good.append(run.status == 0)
        if good[-1]:
            assert run.good()["verification"]["verdict"] == "verified"
        else:
            assert said or by_romio, f"nothing was said: {run}"
            assert run.document is None or run.document["status"] in STATUSES, str(run)
    assert good == sorted(good) and not all(good), f"the limits show nothing: {good}"
