# SPDX-License-Identifier: BSD-3-Clause
"""Advice beside the changed program: what counts as wrong."""

from __future__ import annotations

import pytest

from tests.replay_faithful import ADVISED, CASES, CHANGED, PROGRAM, REPLAY, SOURCE, Found, rows

CASE = next(case for case in CASES if case.method)
FASTER = {PROGRAM: [2.0, 2.2, 6.0] * 2, CHANGED: [1.0, 1.0, 2.0] * 2}  # 2 to 3 times, median 2.2


def found(advised: float, /, **more: list[float]) -> Found:
    """The advised way is as many times as fast as the replay."""
    both = {REPLAY: [9.0] * 6, ADVISED: [9.0 / advised] * 6}
    return Found(CASE, True, seconds=FASTER | both | more)


@pytest.mark.parametrize(
    ("advised", "wrong"), [(2.0, ""), (4.3, ""), (4.5, "factor"), (1.0, ""), (0.5, "direction")]
)
def test_wrong_advice(advised: float, wrong: str) -> None:
    assert found(advised).wrong == wrong


def test_a_factor_counts_only_where_both_decide() -> None:
    assert found(9.0, **{CHANGED: [1.0, 4.0, 5.0] * 2}).wrong == ""
    assert found(9.0, **{ADVISED: [1.0] * 5 + [10.0]}).wrong == ""
    assert found(9.0, **{ADVISED: [1.0] * 5}).wrong == "", "too few turns"


def test_ratios_are_of_one_turn() -> None:
    first, second = rows(found(2.0, **{PROGRAM: [18.0] * 5 + [4.5]}))
    assert "| exact | 0.50 (0.50 to 2.00) |" in first
    assert "| 2.00 (2.00 to 2.00) | 18.0 (2.25 to 18.0) |" in second


def test_each_case_is_one_of_the_program() -> None:
    words = SOURCE.read_text()
    for case in CASES:
        assert bool(case.changed) == bool(case.method)
        for one in filter(None, (case.words, case.changed)):
            layout, way, size, steps, mode = one.split()
            assert f'"{way}"' in words and layout in words
            assert mode in ("write", "read", "middle") and int(size) and int(steps)
