# SPDX-License-Identifier: BSD-3-Clause
"""Numbers and verdicts as text, the same on the terminal, the page and the charts."""

import itertools
import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from iogauge.common import text

from ..session.model import Ceiling, Direction
from ..session.rows import Row
from ..statistics.spread import Spread

NOTHING = "-"
GOOD = ("faster", "reproduced", "recovered", "verified", "yes")
BAD = ("slower", "contradicted", "regressed", "last run low", "mismatch", "FAILED", "MISMATCH")
DISTURBED = "disturbed"  # the machine was disturbed, and a share would mislead


def bandwidth_text(value: float) -> str:
    """MiB/s with three significant digits, or all digits before the point."""
    if value >= 1e6:  # `null`, which moves nothing: digits would only widen the column
        first, exponent = f"{value:.2e}".split("e+")
        return f"{first}e{int(exponent)}"
    return text.three(value)


def range_text(spread: Spread | None) -> str:
    """The slowest and the fastest repeat; a dash if there was only one."""
    if spread is None or spread.count < 2:
        return NOTHING
    return f"{bandwidth_text(spread.low)}-{bandwidth_text(spread.high)}"


def percent_text(row: Row, ceiling: Ceiling, direction: Direction) -> str:
    share = row.share(ceiling, direction)
    if share is None:
        return DISTURBED if row.disturbed(direction) else NOTHING
    return _percent(share.value)


def _percent(share: float) -> str:
    percent = 100 * share
    return "<0.1" if 0 < percent < 0.05 else f"{percent:.{0 if percent >= 1 else 1}f}"


ABOVE = "▲"  # marks a share above 100 %, which is always explained


def with_mark(text: str, why: str) -> str:
    """`145 % ▲` if there is a reason for a share above 100 %."""
    return f"{text} {ABOVE}" if why else text


def share_text(row: Mapping[str, Any]) -> str:
    if row["efficiency"] is None:
        return DISTURBED
    text = f"{_percent(row['efficiency'])} %"
    if row["low"] is None:
        return text
    return f"{text} ({_percent(row['low'])} to {_percent(row['high'])})"


def outcome_text(row: Row) -> str:
    mismatch = row.run.verdict == "mismatch"
    return {"verified": "yes", "failed": "MISMATCH" if mismatch else "FAILED"}.get(
        row.outcome, row.outcome
    )


BLOCKS = "▁▂▃▄▅▆▇█"
STRETCHES = 20  # of a line over time, at most


def over_time(values: Sequence[float]) -> str:
    """A line of block characters: the medians of STRETCHES parts."""
    if len(values) < 2:
        return ""
    parts = [statistics.median(values[a:b]) for a, b in stretches(len(values), STRETCHES)]
    top = max(parts)
    return "".join(BLOCKS[min(7, int(8 * part / top))] if top > 0 else BLOCKS[0] for part in parts)


def stretches(length: int, most: int) -> list[tuple[int, int]]:
    """Where at most `most` parts of equal length begin and end."""
    count = min(most, length)
    return list(itertools.pairwise(round(i * length / count) for i in range(count + 1)))


def value_text(value: object) -> str:
    """A value as text: three significant digits, a dash for None, a tuple as lines."""
    if value is None or value in ("", ()):
        return "-"
    if isinstance(value, tuple):
        return "\n".join(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        if value == 0 or not math.isfinite(value):
            return f"{value:g}"
        size = math.floor(math.log10(abs(value)))
        return f"{value:.{max(0, 2 - size)}f}" if -3 <= size <= 5 else f"{value:.2e}"
    return str(value)
