# SPDX-License-Identifier: BSD-3-Clause
"""tools/bench/cgns.py: what both programs say, as the same phases."""

from __future__ import annotations

import json

import pytest

from tools.bench import cgns as bench_cgns
from tools.bench.parse import NotParsed

# As benchmark_hdf5.c prints it: average, minimum and maximum of each of 15 times.
TIMES = [(index + 0.2, index + 0.1, index + 0.3) for index in range(15)]
TABLE = (
    "#nelem = 1024 \n#nprocs, total time, write: coord., ...\n2"
    + "".join(f" {a:.3f} {low:.3f} {high:.3f} " for a, low, high in TIMES)
    + " 0 0 0 0 \n"
)


def document() -> dict[str, object]:
    stretches = [
        {"name": name, "min": 0.1, "mean": 0.2, "max": 1.0 + i}
        for i, name in enumerate(bench_cgns.STRETCHES)
    ]
    phases = {name: {"min": 0, "mean": 0, "max": 9.0} for name in ("create", "open", "close")}
    one = {"phases": phases, "stretches": stretches}
    return {"samples": [{"write": one, "read": one}]}


def test_upstream_counts_the_slowest_process() -> None:
    """Its numbers: 1 to 4 write and 5 to 8 read; 9 and 10 opening, 11 and 12 closing."""
    found = bench_cgns.upstream_times(TABLE)
    assert found["write coordinates"] == 1.3
    assert found["read arrays"] == 8.3
    assert (found["write open"], found["read open"]) == (9.3, 10.3)
    assert (found["write close"], found["read close"]) == (11.3, 12.3)


def test_both_have_the_same_phases() -> None:
    ours = bench_cgns.our_times(json.dumps(document()))
    assert set(ours) == set(bench_cgns.upstream_times(TABLE)) == set(bench_cgns.PHASES)
    assert ours["read fields"] == 3.0
    assert ours["write open"] == 9.0


@pytest.mark.parametrize("text", ["", "#nelem = 1\n", "2 0.1 0.1\n"])
def test_a_table_that_is_none(text: str) -> None:
    with pytest.raises(NotParsed):
        bench_cgns.upstream_times(text)


@pytest.mark.parametrize("text", ["", "{}", '{"samples": [{}, {}]}', '{"samples": [{}]}'])
def test_a_document_that_is_none(text: str) -> None:
    with pytest.raises(NotParsed):
        bench_cgns.our_times(text)
