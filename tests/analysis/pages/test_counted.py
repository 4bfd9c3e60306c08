# SPDX-License-Identifier: BSD-3-Clause
"""Counts in sentences: of one, of several, of none."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import duckdb
import pytest

from iogauge.analysis.judge import disturbance
from iogauge.analysis.judge.disturbance import Disturbance
from iogauge.analysis.judge.selection import CASE
from iogauge.analysis.pages import answers, footer, history_table
from iogauge.analysis.store.database import Where
from iogauge.common.text import counted

ONE_AND_TWO: dict[str, tuple[Callable[[int], str], str, str]] = {
    "cases": (lambda n: counted(n, "case"), "1 case", "2 cases"),
    "samples": (lambda n: counted(n, "pair"), "1 pair", "2 pairs"),
    "processes": (lambda n: counted(n, "process"), "1 process", "2 processes"),
}


@pytest.mark.parametrize("what", ONE_AND_TWO)
def test_of_one_and_of_two(what: str) -> None:
    said, one, two = ONE_AND_TWO[what]
    assert (said(1), said(2)) == (one, two)


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ([], "nothing was measured"),
        ([0, 0], "nothing was measured"),
        ([1, 1], "one sample per row: no spread is known"),
        ([3, 0, 3], "medians of 3 repeats, min-max over them"),
        ([3, 1], "medians of 1 to 3 repeats, min-max over them"),
    ],
)
def test_repeats_of_a_table(counts: list[int], said: str) -> None:
    rows: Any = [SimpleNamespace(samples=[None] * count) for count in counts]
    assert footer.repeats_text(rows) == said


def test_histories_by_their_state() -> None:
    states: Any = [SimpleNamespace(status=name) for name in ("slower", "as before", "as before")]
    assert history_table.in_words(states) == "3 histories: 2 as before, 1 slower"


def records(rows: list[tuple[int, str, float, int, int]]) -> Any:
    """Run, quantity, value, processes, cores."""
    connection = duckdb.connect()
    names = ", ".join(f'"{name}" VARCHAR' for name in CASE if name != "processes")
    connection.execute(
        f"CREATE TABLE records ({names}, run BIGINT, quantity VARCHAR, value DOUBLE, "
        "processes BIGINT, cores BIGINT)"
    )
    columns = "fs, run, quantity, value, processes, cores"
    for row in rows:
        connection.execute(
            f"INSERT INTO records ({columns}) VALUES ('d', ?, ?, ?, ?, ?)", list(row)
        )
    return connection


WRITE, READ = "ceiling_fpp_write", "ceiling_fpp_read"


def test_ceilings_of_a_case_that_differ() -> None:
    """By case and direction, the largest over the smallest; one value alone says nothing."""
    found = disturbance.ceilings(
        records([
            (1, WRITE, 100.0, 2, 4), (2, WRITE, 300.0, 2, 4), (2, WRITE, 0.0, 2, 4),
            (1, READ, 100.0, 2, 4), (2, READ, 500.0, 2, 4),
            (3, WRITE, 7.0, 4, 4), (3, "write_bw", 1.0, 4, 4), (4, "write_bw", 9.0, 4, 4),
        ]),
        Where("true"),
    )  # fmt: skip
    assert found == [Disturbance("d", 2, 4.0, 5.0)]
    assert found[0].disturbed
    assert [Disturbance("d", 1, typical, 9.0).disturbed for typical in (2.0, 2.1)] == [False, True]


@pytest.mark.parametrize("count", [0, 1, 2])
def test_what_disturbed_a_session(count: int) -> None:
    """Runs on more processes than cores; of as many as there are it says nothing."""
    crowded = [(number, WRITE, 100.0, 5, 4) for number in range(count)]
    calm = [(10, WRITE, 100.0, 4, 4), (11, WRITE, 190.0, 4, 4)]
    said = {0: [], 1: ["1 run had"], 2: ["2 runs had"]}[count]
    more = " more processes than cores and also measured the scheduler"
    found = answers.troubles(records([*crowded, *crowded, *calm]), Where("true"))
    assert found == [f"{one}{more}" for one in said]


def test_an_uneven_machine_is_named() -> None:
    (said,) = answers.troubles(
        records([(1, WRITE, 100.0, 4, 4), (2, WRITE, 250.0, 4, 4)]), Where("true")
    )
    assert said == (
        "machine disturbed: on d the peak measured with the same case varied 2.5-fold "
        "(median of 1 case; worst: 2.5)"
    )
