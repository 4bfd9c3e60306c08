# SPDX-License-Identifier: BSD-3-Clause
"""Processes on nodes: what is open is filled in, what contradicts itself is refused."""

from __future__ import annotations

import pytest

from reframe_tests.machine.memory import memory
from reframe_tests.machine.placement import CannotPlace, Placement, Shape, memory_shortage, place

BLUE_GENE = Shape(cores=16, nodes=4096, per_node=(1, 2, 4, 8, 16, 32, 64), blocks=(128, 256, 512))


@pytest.mark.parametrize(
    ("asked", "shape", "found"),
    [
        ((4, 0, 0), Shape(cores=16), Placement(4, 4, 1, 1)),
        ((40, 0, 0), Shape(cores=16), Placement(40, 16, 3, 3)),
        ((0, 0, 4), Shape(cores=16), Placement(64, 16, 4, 4)),
        ((0, 8, 4), Shape(cores=16), Placement(32, 8, 4, 4)),
        ((7, 0, 2), Shape(cores=16), Placement(7, 4, 2, 2)),
        ((9, 0, 1), BLUE_GENE, Placement(9, 16, 1, 128)),
        ((4096, 0, 0), BLUE_GENE, Placement(4096, 16, 256, 256)),
        ((4096, 32, 0), BLUE_GENE, Placement(4096, 32, 128, 128)),
    ],
)
def test_what_is_open_is_filled_in(
    asked: tuple[int, int, int], shape: Shape, found: Placement
) -> None:
    assert place(*asked, shape) == found


@pytest.mark.parametrize(
    ("asked", "shape", "said"),
    [
        ((4096, 0, 0), Shape(cores=16, nodes=8), "need 256 nodes, the partition has 8"),
        ((8, 4, 3), Shape(cores=16), "8 processes at 4 per node need 2 nodes, not 3"),
        ((8, 3, 0), BLUE_GENE, "3 processes per node asked for; this partition takes 1, 2, 4"),
        ((0, 16, 1024), BLUE_GENE, "1024 nodes asked for; this partition gives at most 512"),
        ((200, 0, 1), BLUE_GENE, "200 processes per node asked for"),
    ],
)
def test_what_cannot_be_is_refused(asked: tuple[int, int, int], shape: Shape, said: str) -> None:
    with pytest.raises(CannotPlace, match=said):
        place(*asked, shape)


def test_memory_is_checked_for_each_process() -> None:
    shape = Shape(cores=4, memory=2048)
    where = place(4, 0, 0, shape)
    assert memory_shortage(512 * 2**20, where, shape) is None
    problem = memory_shortage(514 * 2**20, where, shape)
    assert problem is not None
    assert problem.startswith("514 MiB of memory per process needed, 512 MiB are there")
    assert problem.endswith("what fits: -S num_tasks_per_node=3")
    modes = Shape(cores=4, memory=2048, per_node=(1, 2, 4))
    assert str(memory_shortage(514 * 2**20, where, modes)).endswith("num_tasks_per_node=2")
    assert str(memory_shortage(2**40, where, shape)).endswith("a smaller scale or more processes")
    assert memory_shortage(2**60, where, Shape(cores=4)) is None
    alone = str(memory_shortage(500 * 2**20, where, Shape(4, 1, 2048), files=13 * 2**20))
    assert alone.startswith("513 MiB of memory per process needed (13 of them for files in memory)")
    assert alone.endswith("what fits: a smaller scale")


def test_memory_is_the_machines_or_the_containers() -> None:
    meminfo = "MemFree: 4 kB\nMemTotal:       24684092 kB\n"
    assert memory(meminfo, "max\n") == 24105
    assert memory(meminfo, "1073741824\n") == 1024
    assert memory("", "") == 0
