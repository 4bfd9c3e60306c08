# SPDX-License-Identifier: BSD-3-Clause
"""When each phase was (`spans` of the result document), against how long it took."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from iokernel_stacks import Stack

STEPS, REPEATS = 2, 2
CASES: dict[str, tuple[list[str], int, list[str], list[str]]] = {
    # words, processes, phases of a step when writing and when reading
    "hdf5": (
        ["s3d", "--grid", "12x10x8", "--method", "hdf5", "--fsync"], 2,
        ["create", "define", "write", "flush", "close"], ["open", "define", "read", "close"],
    ),
    "series": (
        ["metadata", "--files", "3", "--method", "posix"], 2,
        ["create", "write", "close", "series"], ["open", "read", "close", "series"],
    ),
    "servers": (
        ["s3d", "--grid", "12x10x8", "--method", "ioserver"], 3,
        ["create", "write", "close"], ["open", "read", "close"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_spans_are_the_phases_in_order(openmpi: Stack, tmp_path: Path, name: str) -> None:
    words, processes, writing, reading = CASES[name]
    run = openmpi.run(
        *words, "--steps", str(STEPS), "--repeat", str(REPEATS), "--dir", str(tmp_path),
        processes=processes, document=tmp_path / "result.json",
    )  # fmt: skip
    before = 0.0
    for sample in run.good()["samples"]:
        for direction, phases in (("write", writing), ("read", reading)):
            side = sample[direction]
            spans = side["spans"]
            drain = ["drain"] if "drain" in side["phases"] else []
            assert [span["phase"] for span in spans] == phases * STEPS + drain
            for span in spans:
                assert before <= span["begin"] <= span["end"]
                before = span["end"]
            check_lengths(side, spans)


def check_lengths(side: dict[str, Any], spans: list[dict[str, Any]]) -> None:
    """A span holds the slowest process's phase; files of a series stand in a separate one."""
    if any(span["phase"] == "series" for span in spans):
        return
    for phase, times in side["phases"].items():
        length = sum(span["end"] - span["begin"] for span in spans if span["phase"] == phase)
        assert length >= times["max"] - 1e-5 or not times["max"]
