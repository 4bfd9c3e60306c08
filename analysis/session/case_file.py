# SPDX-License-Identifier: BSD-3-Clause
"""What a case recorded about itself in case.json (reframe_tests/framework/case_file.py)."""

from pathlib import Path
from typing import Any

from iogauge.common import json_file
from iogauge.common.run_folder import CASE

ABORTED = "abort"  # ReFrame's result of a case that a signal stopped
LAST = 2.0**33  # seconds since 1970
_RESULTS = ("pass", "fail")


def read(folder: Path) -> dict[str, Any] | None:
    """The objects `session` and `case` of a run's case.json; None if it is unusable."""
    try:
        data = json_file.read(folder / CASE, CASE)
        case = {**data["case"], "ended": _time(data["case"]["ended"])}
        return {"session": dict(data["session"]), "case": case}
    except (json_file.Unreadable, ValueError, KeyError, TypeError):
        return None


def _time(ended: Any) -> float:
    """The time when a case ended; `ValueError` for an impossible file time."""
    if not 0 <= float(ended) < LAST:
        raise ValueError(f"{ended} is no time")
    return float(ended)


def as_it_ended(case: dict[str, Any], folders: list[Path]) -> dict[str, Any]:
    """The result, also of cases that ReFrame aborted while it copied their files: case.json is
    copied after the result."""
    if case["result"] != ABORTED:
        return case
    for folder in folders:
        ended = (read(folder) or {}).get("case", {})
        if ended.get("checked") and ended.get("result") in _RESULTS:
            reason = ended.get("fail_reason")
            return {
                **case,
                "result": ended["result"],
                "outputdir": str(folder),
                "stagedir": str(folder),
                "fail_reason": reason if isinstance(reason, str) else None,
            }
    return case
