# SPDX-License-Identifier: BSD-3-Clause
"""The table of programs beside their replays: a ratio is that of one turn."""

from __future__ import annotations

import pytest

from tools.replay_faithful import Found, row


def found(program: dict[int, float], replay: dict[int, float], wrong: list[str]) -> list[str]:
    """The row's cells."""
    one = Found(10, 20, 3, [], program, {"": replay}, wrong)
    return [cell.strip() for cell in row("name", one, "").split("|")[1:-1]]


def test_a_turn_without_one_of_both_is_no_pair() -> None:
    """The machine slows down turn by turn; the replay takes as long as the program, always."""
    slower = {turn: 2.0**turn for turn in range(1, 9)}
    program = {turn: seconds for turn, seconds in slower.items() if turn != 2}
    cells = found(program, slower, [])
    assert cells[4] == "exact" and cells[-1] == "1.00 (1.00 to 1.00)"
    cells = found(program, {2: 4.0}, ["process 0: x"])
    assert cells[4] == "differs" and cells[-1] == "-"


@pytest.mark.parametrize("turns", [1, 5])
def test_few_turns_have_their_range(turns: int) -> None:
    program = dict.fromkeys(range(1, turns + 1), 1.0)
    replay = {turn: float(turn) for turn in program}
    assert f"(of {turns}: 1.00 to {turns}.00)" in found(program, replay, [])[-1]
