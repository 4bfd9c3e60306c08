# SPDX-License-Identifier: BSD-3-Clause
"""No method holds more than one more copy of a process's data: peak memory beside null's."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from iokernel_stacks import MOVING, How, Stack

MIB = 2**20
GRID = (64, 128, 128)  # of two processes: 64 MiB each
DATA = 64 * MIB
# What a method may have besides: its slabs, collective buffers (16 to 32 MiB in ROMIO and OMPIO),
# a library's own caches. Far less than another copy of the data.
SMALL = 32 * MIB


def memory(stack: Stack, how: How, folder: Path) -> dict[str, Any]:
    words = ["s3d", "--grid", "x".join(map(str, GRID)), *how.options(), "--dir", str(folder)]
    run = stack.run(*words, document=folder / "result.json")
    found: dict[str, Any] = run.good()["memory"]
    assert found["data"] == DATA
    assert DATA < found["peak_rss_min"] <= found["peak_rss_mean"] <= found["peak_rss"]
    shown = re.search(r"^ peak memory +: +([\d.]+) MiB", run.stdout, re.MULTILINE)
    assert shown and float(shown[1]) == pytest.approx(found["peak_rss"] / MIB, abs=0.01)
    return found


@pytest.fixture(scope="module")
def baselines() -> dict[str, int]:
    return {}


@pytest.mark.sampled(5, free="stack")
@pytest.mark.parametrize("how", MOVING, ids=str)
def test_at_most_one_more_copy(
    stack: Stack, how: How, baselines: dict[str, int], tmp_path: Path
) -> None:
    """`null` has the data once, and all that the driver and MPI need."""
    if stack.name not in baselines:
        baselines[stack.name] = memory(stack, How("null", None), tmp_path)["peak_rss"]
    more = memory(stack, how, tmp_path)["peak_rss"] - baselines[stack.name]
    assert more <= DATA + SMALL, f"{more / MIB:.1f} MiB more than null, of {DATA / MIB} MiB data"
