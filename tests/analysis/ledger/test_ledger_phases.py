# SPDX-License-Identifier: BSD-3-Clause
"""Which phase moved what: accesses and heat maps made up number by number."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from iogauge.analysis.darshan.log import FileTrace, Heat, Log, Segments
from iogauge.analysis.ledger.phases import MIXED, NEEDS, OUTSIDE, Phase, divide

START = 1.7e9  # Unix time of the trace's beginning
FILE = "/fs/run/data.bin"
CEILING = "/fs/run/iogauge-ceiling-fpp.bin"
# Seconds after START: one repeat of two steps, then its reading.
WRITING = [("create", 1, 2), ("write", 2, 4), ("create", 4, 5), ("write", 5, 7)]
READING = [("open", 8, 9), ("read", 9, 11)]


def spans(entries: list[tuple[str, int, int]]) -> dict[str, Any]:
    return {
        "spans": [{"phase": name, "begin": START + b, "end": START + e} for name, b, e in entries]
    }


DOCUMENT = {"samples": [{"write": spans(WRITING), "read": spans(READING)}]}


def segments(
    writes: list[tuple[float, int]], reads: list[tuple[float, int]], path: str = FILE
) -> Segments:
    """Of (seconds, bytes)."""

    def rows(entries: list[tuple[float, int]]) -> list[tuple[int, int, float, float]]:
        return [(0, size, when, when + 0.1) for when, size in entries]

    return Segments("POSIX", path, 0, rows(writes), rows(reads))


def log(written: int = 0, read: int = 0, **more: Any) -> Log:
    file = FileTrace("POSIX", FILE, {"BYTES_WRITTEN": written, "BYTES_READ": read}, {}, ())
    return Log(Path("log"), "test", 2, START, 20.0, "", (), (), {}, (file,), **more)


def of(phases: tuple[Phase, ...]) -> dict[str, tuple[int, int]]:
    """Title -> POSIX bytes written and read, of phases that moved anything."""
    return {
        phase.title: (phase.layers["POSIX"].bytes["write"], phase.layers["POSIX"].bytes["read"])
        for phase in phases
        if phase.layers
    }


def own(path: str) -> bool:
    return path == FILE


def test_each_access_goes_to_the_phase_in_which_it_began() -> None:
    mine = segments([(1.5, 10), (3.95, 100), (4.0, 20), (6.5, 200)], [(9.0, 7), (8.9, 5), (5.5, 3)])
    phases, source = divide(DOCUMENT, log(330, 15, segments=(mine,)), own)
    assert of(phases) == {
        "write: create": (30, 0), "write: write": (300, 3), "read: open": (0, 5),
        "read: read": (0, 7),
    }  # fmt: skip
    assert source == "each access (DXT)"
    write = next(phase for phase in phases if phase.title == "write: write")
    assert write.layers["POSIX"].calls == {"write": 2, "read": 1}
    assert abs(write.seconds - 4) < 1e-6


def test_what_is_in_no_phase_is_said_and_other_files_are_left_out() -> None:
    mine = segments([(0.5, 1), (7.5, 2), (12, 4), (2.5, 8)], [])
    other = segments([(2.5, 1000)], [], CEILING)
    phases, _ = divide(DOCUMENT, log(15, segments=(mine, other)), own)
    assert of(phases) == {"write: write": (8, 0), OUTSIDE: (7, 0)}


def test_accesses_that_are_missing_are_said() -> None:
    _, source = divide(DOCUMENT, log(15, segments=(segments([(2.5, 8)], []),)), own)
    assert "8 of 15 bytes of write" in source


def test_a_heat_map_tells_bins_that_lie_within_a_phase() -> None:
    bins = [0] * 40  # of 0.5 s
    bins[5] = 10  # 2.5 to 3: its neighbours reach from 2 to 3.5, all of them `write`
    bins[4] = 100  # 2 to 2.5: another process's clock may be in `create`
    bins[30] = 1  # 15 s: nothing runs
    heat = {"POSIX": Heat(0.5, {0: ([], bins), 1: (bins[:6], [])})}
    phases, source = divide(DOCUMENT, log(heat=heat), own)
    assert of(phases) == {"write: write": (10, 10), MIXED: (100, 100), OUTSIDE: (1, 0)}
    assert all(phase.layers["POSIX"].calls is None for phase in phases if phase.layers)
    assert "bins of 0.5 s" in source and NEEDS in source


def test_a_heat_map_that_is_too_coarse_says_what_is_needed() -> None:
    heat = {"POSIX": Heat(5.0, {0: ([], [100])})}
    phases, why = divide(DOCUMENT, log(heat=heat), own)
    assert phases == ()
    assert why.startswith(f"no phases ({NEEDS}): there is only the heat map, in bins of 5 s")


def test_without_times_or_spans_the_reason_is_said() -> None:
    assert divide(DOCUMENT, log(), own) == (
        (),
        f"no phases: the trace has no times of accesses: {NEEDS}",
    )
    old = {"samples": [{"write": {"seconds": 1.0}, "read": None}]}
    assert "no spans" in divide(old, log(segments=(segments([], []),)), own)[1]
