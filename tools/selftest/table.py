# SPDX-License-Identifier: BSD-3-Clause
"""What came of all faults, as tables and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tools.selftest.damage import METADATA, PAYLOAD, Tally
from tools.selftest.judge import IDLE, VERDICTS, Judgement

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


def total(all_rows: Iterable[Row]) -> Row:
    sums: Counter[str] = Counter()
    for row in all_rows:
        sums.update(row)
    return {column: sums[column] for column in COLUMNS}


def by_fault(one: Judgement) -> str:
    return one.fault


def by_method(one: Judgement) -> str:
    return f"{one.stack} {one.how}"


def text(title: str, all_rows: dict[str, Row]) -> str:
    """As Markdown has it."""
    whole = {**all_rows, "all": total(all_rows.values())}
    lines = [[title, *COLUMNS]]
    lines += [[name, *(str(row[c] or "") for c in COLUMNS)] for name, row in whole.items()]
    return markdown(lines)


def markdown(lines: Sequence[Sequence[str]]) -> str:
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    padded = [
        "| " + " | ".join(w.ljust(n) if i == 0 else w.rjust(n) for i, (w, n) in row) + " |"
        for row in (list(enumerate(zip(line, widths, strict=True))) for line in lines)
    ]
    rule = ["---", *(["---:"] * (len(lines[0]) - 1))]
    return "\n".join([padded[0], "| " + " | ".join(rule) + " |", *padded[1:]])


def damage_text(tally: Tally) -> str:
    lines = [["one wrong byte in", "tried", "seen", "not seen"]]
    for kind in (PAYLOAD, METADATA):
        tried, seen = tally.tried[kind], tally.seen[kind]
        lines.append([kind, str(tried), str(seen), str(tried - seen)])
    return markdown(lines)


def known_text(judged: Iterable[Judgement]) -> str:
    reasons = Counter(one.known for one in judged if one.known)
    lines = [["known", "times"], *([why, str(n)] for why, n in reasons.most_common())]
    return markdown(lines) if len(lines) > 1 else ""


def as_json(judged: Sequence[Judgement], tally: Tally, seed: int) -> dict[str, Any]:
    return {
        "schema": "iogauge.selftest/1",
        "seed": seed,
        "faults": rows(judged, by_fault),
        "methods": rows(judged, by_method),
        "damage": {
            "tried": dict(tally.tried),
            "seen": dict(tally.seen),
            "crashed": tally.crashed,
            "hung": tally.hung,
            "formats": dict(tally.formats),
            "missed": tally.missed,
            "impossible": tally.impossible,
            "silent": tally.silent,
        },
        "bad": [vars(one) for one in judged if one.bad],
        "known": dict(Counter(one.known for one in judged if one.known)),
    }
