# SPDX-License-Identifier: BSD-3-Clause
"""Which cases of a test `make test` runs (tests/conftest.py)."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

from tests.conftest import Met, quick_ones


class Spec:
    def __init__(self, params: dict[str, str]) -> None:
        self.params = params


class Case:
    def __init__(self, **params: str) -> None:
        self.callspec = Spec(params)


def chosen(most: int, free: str, met: Met, *axes: tuple[str, str]) -> list[str]:
    cases: list[Any] = [
        Case(**dict(zip([name for name, _ in axes], point, strict=True)))
        for point in product(*(values for _, values in axes))
    ]
    found: list[Any] = quick_ones(cases, most, free, met)
    return ["".join(case.callspec.params.values()) for case in found]


def test_each_value_has_a_case_and_no_more() -> None:
    assert chosen(9, "", Counter(), ("stack", "om"), ("how", "1234")) == ["o1", "m2", "o3", "m4"]


def test_no_more_than_asked_for() -> None:
    assert chosen(2, "", Counter(), ("stack", "om"), ("how", "1234")) == ["o1", "m2"]


def test_a_free_parameter_changes_from_test_to_test() -> None:
    met: Met = Counter()
    found = [chosen(9, "stack", met, ("stack", "om")) for _ in range(4)]
    assert found == [["o"], ["m"], ["o"], ["m"]]
    assert chosen(9, "stack", met, ("stack", "om"), ("how", "12")) == ["o1", "m2"]
