# SPDX-License-Identifier: BSD-3-Clause
"""Which calls a file is replayed with: of which layer, by which processes, collective or not."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from iogauge.analysis.darshan.log import FileTrace
from iogauge.analysis.replay import acts, own, schedule, trace
from iogauge.analysis.replay.trace import ALONE, POSIX, READ, TOGETHER, WRITE

FILE = "/fs/a"


def counted(**values: float) -> FileTrace:
    return FileTrace("MPI-IO", FILE, dict(values), {}, ())


def level(modules: list[str], counters: dict[str, float], posix: bool = False) -> str:
    segments = np.zeros(1, [("offset", "<i8")])
    blocks: Any = [SimpleNamespace(module=one, file=7, segments=segments) for one in modules]
    log: Any = SimpleNamespace(files=[counted(**counters)], ids={7: FILE}, path="log", partial=())
    return trace._levels(log, blocks, posix, [], own.Own())[7]


@pytest.mark.parametrize(
    ("each", "together", "wanted"), [(2, 0, ALONE), (0, 2, TOGETHER), (1, 1, TOGETHER)]
)
def test_who_opened_a_file_together(each: int, together: int, wanted: str) -> None:
    both = ["POSIX", "MPI-IO"]
    opens: dict[str, float] = {"INDEP_OPENS": each, "COLL_OPENS": together}
    assert level(both, opens) == wanted
    assert level(both, opens, posix=True) == POSIX


@pytest.mark.parametrize("counter", ["VIEWS", "NB_READS", "NB_WRITES", "SPLIT_READS"])
def test_calls_whose_bytes_no_log_has_are_those_of_the_library(counter: str) -> None:
    found: dict[str, float] = {"COLL_OPENS": 2, counter: 1}
    assert level(["POSIX", "MPI-IO"], found) == POSIX
    with pytest.raises(trace.CannotReplayError, match=FILE):
        level(["MPI-IO"], found)


@pytest.mark.parametrize(("each", "together"), [(0, 0), (0, 3), (3, 0), (3, 3)])
def test_calls_are_collective_if_all_were(each: int, together: int) -> None:
    for way, word in ((READ, "READS"), (WRITE, "WRITES")):
        counters = counted(**{f"INDEP_{word}": each, f"COLL_{word}": together})
        one = trace.TracedFile(FILE, TOGETHER, counters)
        said: list[str] = []
        trace._find_collective(one, said)
        assert one.together[way] == (together > 0 and each == 0)
        assert not one.together[1 - way]
        assert bool(said) == (together > 0 and each > 0)


@pytest.mark.parametrize("of", [POSIX, TOGETHER, ALONE])
def test_known_calls_are_made_as_they_were(of: str) -> None:
    """Each form of a call is known there: none is collective because others were."""
    files = [trace.TracedFile(FILE, of, counted(COLL_READS=9, COLL_WRITES=9), own=True)]
    log: Any = SimpleNamespace(files=files)
    trace._find_collective(files[0], [])
    table = acts.kinds(trace.Trace(Path("log"), log, files, [], []))
    for form, both in schedule.MOVES.items():
        assert tuple(table[0, form]) == both
