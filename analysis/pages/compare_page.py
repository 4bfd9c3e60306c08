# SPDX-License-Identifier: BSD-3-Clause
"""The page of a comparison: changed cases first, each with its interval. The rows bring the
verdicts."""

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from iogauge.common.files import write_whole
from iogauge.common.text import ratio, three

from ..columns import columns
from ..judge.compare_runs import by_outcome, outcome
from .page import link, load_template
from .words import value_text

TEMPLATE = "compare.html.j2"
BAD = ("failed", "missing", "slower")
COLOURS = {"slower": "var(--bad)", "faster": "var(--good)"}
LEAST = 1.25  # least factor that the axis spans in each direction
MOST = 16  # largest factor; what is beyond is an arrow at the end
BEYOND = 1.0001
ENDS = ("ratio", "low", "high")
CASE = columns("compared_case")
Row = dict[str, Any]


def write(path: Path, rows: Sequence[Row], title: str, words: dict[str, str], root: Path) -> None:
    """`words`: `command`, `answers` over all cases as lines, and `gate` with what a gate says.
    `root`: what the store's paths are relative to."""
    outcomes = by_outcome(rows)
    far = _far(rows)
    same = [name for name in CASE if len({str(row.get(name)) for row in rows}) == 1]
    text = load_template(TEMPLATE).render(
        title=title,
        command=words["command"],
        answers=words.get("answers", "").splitlines(),
        gate=words.get("gate", "").partition("\n")[0],  # the page has the cases
        bad=any(word in BAD for word in outcomes) or any(row.get("fails") for row in rows),
        undecided=set(outcomes) <= {"not decided yet", "undecided"},
        counts=[(word, len(of)) for word, of in outcomes.items()],
        same=", ".join(f"{name} {rows[0][name]}" for name in same if rows[0].get(name)),
        far=f"{far:.2g}",
        groups=[
            (word, [_shown(row, same, far, root, path.parent) for row in of])
            for word, of in outcomes.items()
        ],
        lacks=Counter(str(row["lacks"]) for row in rows if row.get("lacks")).most_common(),
    )
    write_whole(path, text)


def _far(rows: Sequence[Row]) -> float:
    """The factor at the ends of the axis."""
    values = [float(row[name]) for row in rows for name in ENDS if row.get(name)]
    return min(max([LEAST, *(max(value, 1 / value) for value in values)]), MOST)


def _shown(row: Row, same: Sequence[str], far: float, root: Path, folder: Path) -> Row:
    # 1: at the axis's right end, -1: at its left end.
    places = {name: math.log(row[name]) / math.log(far) for name in ENDS if row[name]}
    shown = {name: round(50 + 50 * min(max(at, -1), 1), 2) for name, at in places.items()}
    names = [name for name in CASE if name not in same]
    case = " ".join(str(row[name]) for name in names if row.get(name) not in (None, ""))
    sure = "" if row["low"] is None else f"{three(row['low'])} to {three(row['high'])}"
    text = ratio(row["ratio"], row["verdict"]) if row["ratio"] else ""
    speeds = " \N{RIGHTWARDS ARROW} ".join(value_text(row[side]) for side in "ab" if row[side])
    verdict = outcome(row)
    why = str(row.get("gate") or "").partition(": ")[2]
    more = why or str(row["verdict"])
    change = f"{case or 'the case'}: {speeds} {row['unit']}, {text} times"
    return {
        "case": case or str(row["quantity"]),
        "ratio": text,
        "sure": sure,
        "at": shown.get("ratio"),
        "low": shown.get("low"),
        "high": shown.get("high"),
        "inside": abs(places.get("ratio", 0)) < BEYOND,
        "beyond": [e for e in (-1, 1) if any(e * at >= BEYOND for at in places.values())],
        "colour": COLOURS.get(verdict, "var(--muted)"),
        "speeds": speeds,
        "unit": row["unit"],
        "samples": row["samples"],
        "more": "" if more == verdict else more,
        "says": f"{change} ({sure or 'no interval'}), {row['samples'] or 'no samples'}: {verdict}",
        "links": [
            (name, link(root / row[key], folder))
            for name, key in (("A", "a_document"), ("B", "b_document"))
            if row.get(key)
        ],
    }
