# SPDX-License-Identifier: BSD-3-Clause
"""What came of all faults, as tables and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tests import markdown
from tests.selftest.judge import IDLE, VERDICTS, Judgement

COLUMNS = ("injected", "fired", *(v for v in VERDICTS if v != IDLE), "known", "files left")
Row = dict[str, int]


def rows(judged: Iterable[Judgement], name: Callable[[Judgement], str]) -> dict[str, Row]:
    """Counts by name; what is known counts as that, and not as missed, silent or left."""
    found: dict[str, Counter[str]] = {}
    for one in judged:
        row = found.setdefault(name(one), Counter())
        row["injected"] += 1
        row["fired"] += one.verdict != IDLE
        row["known" if one.known else one.verdict] += 1
        row["files left"] += 0 if one.known else one.left
    return {key: {column: found[key][column] for column in COLUMNS} for key in sorted(found)}


def by_fault(one: Judgement) -> str:
    return one.fault


def by_method(one: Judgement) -> str:
    return f"{one.stack} {one.how}"


def text(judged: Sequence[Judgement]) -> str:
    parts = []
    for title, name in (("fault", by_fault), ("method", by_method)):
        counts = rows(judged, name) | {"all": rows(judged, lambda _: "all").get("all", {})}
        lines = ([key, *(row.get(c) or "" for c in COLUMNS)] for key, row in counts.items())
        parts.append(markdown.table([title, *COLUMNS], lines))
    if reasons := known(judged):
        parts.append(markdown.table(("known", "times"), reasons.items()))
    return "\n\n".join(parts)


def known(judged: Iterable[Judgement]) -> dict[str, int]:
    return dict(Counter(one.known for one in judged if one.known).most_common())


def as_json(judged: Sequence[Judgement], seed: int) -> dict[str, Any]:
    return {
        "schema": "iogauge.selftest/2",
        "seed": seed,
        "faults": rows(judged, by_fault),
        "methods": rows(judged, by_method),
        "bad": [vars(one) for one in judged if one.bad],
        "known": known(judged),
    }
