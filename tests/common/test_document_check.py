# SPDX-License-Identifier: BSD-3-Clause
"""A document is checked by two libraries: what the quick one lets pass, the slow one would too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from iogauge.common import document, schemas
from tests.analysis_recorded import documents
from tests.fuzz.cases import changed, values

RECORDED = [json.loads(path.read_text()) for path in documents()]
# What is almost right: an end of line, another script's digit, a truth value for a number.
ALMOST = st.sampled_from(["x\n", "2026-01-01T00:00:00Z\n", "٣", True, 1.0, 2**53 + 1, -1, "ok"])


def test_the_quick_check_takes_what_was_recorded() -> None:
    assert all(schemas.is_right(one, document.SCHEMA_FILE) for one in RECORDED)


@hypothesis.given(st.sampled_from(RECORDED).flatmap(lambda base: changed(base, values | ALMOST)))
@hypothesis.settings(
    max_examples=400,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(hypothesis.HealthCheck),
)
def test_the_quick_check_lets_nothing_pass_that_the_slow_one_refuses(one: dict[str, Any]) -> None:
    try:
        document._check_values(one)
    except document.BadDocument:
        return  # refused before either
    slow = schemas.validator(document.SCHEMA_FILE)
    assert not schemas.is_right(one, document.SCHEMA_FILE) or slow.is_valid(one)


def test_without_the_quick_library_the_slow_one_says_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(_: Path) -> Any:
        raise ImportError("no such module")

    monkeypatch.setattr(schemas, "quick_validator", absent)
    document.check_whole(RECORDED[0])
    with pytest.raises(document.BadDocument, match=r"result\.schema\.json"):
        document.check_whole({**RECORDED[0], "status": "fine"})
