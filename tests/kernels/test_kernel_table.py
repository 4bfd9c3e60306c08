# SPDX-License-Identifier: BSD-3-Clause
"""The table that a run prints, against its result document."""

from __future__ import annotations

import re
from pathlib import Path
from statistics import mean, median

import pytest
from iokernel_stacks import Stack

STEPS = 2
PAYLOAD = STEPS * 12 * 10 * 8 * 16 * 8  # 16 values of 8 bytes at each point
BANDWIDTH = r"([\d.]+) MiB/s(?:   \(([\d.]+) to ([\d.]+) over (\d+) repeats\))?"
SIDES = ("write", "read")


def line(table: str, label: str) -> str:
    """What stands behind a label that occurs once."""
    (found,) = re.findall(rf"^ {re.escape(label)} *: +(.*)$", table, re.MULTILINE)
    return str(found)


@pytest.mark.parametrize("repeats", [1, 3])
def test_a_table_says_what_the_document_says(openmpi: Stack, tmp_path: Path, repeats: int) -> None:
    """The median of the repeats, and their range if there are several; phases as their mean."""
    words = ["s3d", "--grid", "12x10x8", "--method", "posix", "--dir", str(tmp_path), "--phases"]
    words += ["--steps", str(STEPS), "--repeat", str(repeats)]
    run = openmpi.run(*words, document=tmp_path / "result.json")
    samples = run.good()["samples"]
    for side in SIDES:
        all_ = [sample[side]["bandwidth"] for sample in samples]
        shown = re.fullmatch(BANDWIDTH, line(run.stdout, f"{side} bandwidth"))
        assert shown, run.stdout
        middle, low, high, count = shown.groups()
        assert float(middle) == pytest.approx(median(all_), abs=0.01)
        if repeats == 1:
            assert (low, high, count) == (None, None, None)
        else:
            assert int(count) == repeats
            assert float(low) == pytest.approx(min(all_), abs=0.01)
            assert float(high) == pytest.approx(max(all_), abs=0.01)
        for name in samples[0][side]["phases"]:
            seconds = line(run.stdout, f"{side:6}{name}").split()
            for word, of in zip(seconds, ("min", "mean", "max"), strict=True):
                right = mean(sample[side]["phases"][name][of] for sample in samples)
                assert float(word) == pytest.approx(right, abs=1e-6), (side, name, of)
    assert line(run.stdout, "processes") == "2 on 1 node"
    assert line(run.stdout, "payload") == f"{PAYLOAD / 2**20:.2f} MiB in {STEPS} dumps"
    read_back = f"{repeats * PAYLOAD / 2**20:.2f} MiB read back"
    assert line(run.stdout, "verification") == f"verified, {read_back}"
