# SPDX-License-Identifier: BSD-3-Clause
"""The order of a session's tests is drawn by chance, and what needs an order keeps it."""

from __future__ import annotations

import random
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

from reframe_tests.jobs import order


def cases(test: str, *stacks: str, fixture: bool = False, tags: str = "") -> list[Any]:
    check = SimpleNamespace(unique_name=test, is_fixture=lambda: fixture, tags={tags})
    return [SimpleNamespace(check=check, stack=stack, deps=[], num_dependents=int(fixture))
            for stack in stacks]  # fmt: skip


ALL = [
    *cases("build", "a", "b", fixture=True), *cases("peak", "a", tags="peak"),
    *cases("x", "a", "b"), *cases("y", "a", "b"), *cases("late build", "a", fixture=True),
    *cases("z", "a", "b"),
]  # fmt: skip


def names(seed: int) -> list[tuple[str, str]]:
    return [(one.check.unique_name, one.stack) for one in order.drawn(ALL, random.Random(seed))]


def test_stacks_of_a_test_stay_neighbors_and_builds_come_first() -> None:
    for seed in range(20):
        found = names(seed)
        assert sorted(found) == sorted((one.check.unique_name, one.stack) for one in ALL)
        assert [test for test, _ in found[:4]] == ["build", "build", "late build", "peak"]
        assert all(found[i][0] == found[i + 1][0] for i in range(4, len(found), 2))


def test_each_order_is_as_likely() -> None:
    """Of 3 tests and of the two stacks of one: within four standard errors."""
    first = Counter(names(seed)[4] for seed in range(1200))
    assert len(first) == 6
    assert all(abs(count - 200) < 52 for count in first.values())


def test_the_same_seed_draws_the_same_order() -> None:
    assert names(3) == names(3)
    assert len({tuple(names(seed)) for seed in range(10)}) > 5


def test_some_jobs_run_in_some_rounds_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """What they need has one dependent less in the other rounds; all else runs in each."""
    monkeypatch.setenv(order.SOME, "x:b=0,5 peak:a=0,3,5")

    def of(number: int) -> tuple[list[str], int]:
        build = SimpleNamespace(in_degree=4)
        made = [SimpleNamespace(check=SimpleNamespace(hashcode=test),
                                environ=SimpleNamespace(name=stack), deps=[build])
                for test, stack in (("peak", "a"), ("x", "a"), ("x", "b"), ("y", "b"))]  # fmt: skip
        kept = order.of_round(made, number)
        return [f"{one.check.hashcode} {one.environ.name}" for one in kept], build.in_degree

    assert of(0) == of(5) == (["peak a", "x a", "x b", "y b"], 4)
    assert of(1) == of(4) == (["x a", "y b"], 2)
    assert of(3) == (["peak a", "x a", "y b"], 3)
    monkeypatch.delenv(order.SOME)
    assert of(1) == of(0)


def test_some_rounds_hold_without_a_drawn_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """`iogauge run -- --exec-order=name` has no seed."""
    ran: list[list[str]] = []
    runner = SimpleNamespace(_runall=lambda self, cases: ran.append(
        [one.environ.name for one in cases]))  # fmt: skip
    monkeypatch.setattr(order, "Runner", runner)
    monkeypatch.delenv(order.SEED, raising=False)
    monkeypatch.setenv(order.SOME, "x:b=0,5")
    order.draw()
    made = [SimpleNamespace(check=SimpleNamespace(hashcode="x"), deps=[],
                            environ=SimpleNamespace(name=stack)) for stack in "ab"]  # fmt: skip
    for _ in range(6):
        runner._runall(None, made)
    assert ran == [["a", "b"], *[["a"]] * 4, ["a", "b"]]
