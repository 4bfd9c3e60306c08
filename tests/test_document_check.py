# SPDX-License-Identifier: BSD-3-Clause
"""A document is checked by two libraries: what the quick one lets pass, the slow one would too."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from iogauge import document
from tests.analysis_recorded import documents

RECORDED = [json.loads(path.read_text()) for path in documents()]
# In place of a value that is right: of other types, at the edges, and almost right.
VALUES: list[Any] = [
    None, True, False, 0, -1, 1, 0.5, -0.0, 1e308, 2**53, 2**64, 10**30, 1.0, "", "0", "ok", "x\n",
    "2026-01-01T00:00:00Z\n", "٣", [], [None], [1, 1], {}, {"a": 1},
]  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    if isinstance(value, dict | list):
        for key, one in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(one, (*path, key))


def changed(chance: random.Random) -> dict[str, Any]:
    """A recorded document with one change: another value, a key less, or a key more."""
    found: dict[str, Any] = copy.deepcopy(chance.choice(RECORDED))
    *way, last = chance.choice(list(places(found)))
    inside: Any = found
    for key in way:
        inside = inside[key]
    kind = chance.choice(["value", "value", "less", "more"])
    if kind == "less":
        del inside[last]
    elif kind == "more" and isinstance(inside, dict):
        inside["of_no_contract"] = chance.choice(VALUES)
    else:
        inside[last] = chance.choice(VALUES)
    return found


@pytest.mark.parametrize("seed", range(8))
def test_the_quick_check_lets_nothing_pass_that_the_slow_one_refuses(seed: int) -> None:
    chance = random.Random(seed)
    answers = []
    for _ in range(100):
        one = changed(chance)
        quick, slow = document._is_as_the_schema_says(one), document._validator().is_valid(one)
        assert slow or not quick, one
        answers.append((quick, slow))
    assert {(True, True), (False, False)} <= set(answers)


def test_without_the_quick_library_the_slow_one_says_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent() -> Any:
        raise ImportError("no such module")

    monkeypatch.setattr(document, "_quick_validator", absent)
    document.check_whole(RECORDED[0])
    with pytest.raises(document.BadDocument, match=r"result\.schema\.json"):
        document.check_whole({**RECORDED[0], "status": "fine"})
