# SPDX-License-Identifier: BSD-3-Clause
"""The axis of a comparison's page: what lies beyond it has an arrow at its end."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from iogauge.analysis.pages import compare_page
from iogauge.analysis.pages.compare_page import MOST


def row(ratio: float | None, low: float | None = None, high: float | None = None) -> dict[str, Any]:
    ends = {"ratio": ratio, "low": low, "high": high, "a": 1.0, "b": ratio}
    texts = dict.fromkeys((*compare_page.CASE, "samples", "verdict", "quantity"), "x")
    return {**texts, **ends, "unit": "MiB/s"}


def drawn(tmp_path: Path, rows: list[dict[str, Any]]) -> list[tuple[bool, list[str]]]:
    """Of each row: whether it has a point, and where it has arrows."""
    page = tmp_path / "page.html"
    compare_page.write(page, rows, "a comparison", {"command": "compare"}, tmp_path)
    pictures = re.findall(r'<svg role="img".*?</title>(.*?)</div>', page.read_text(), re.S)
    return [
        ("<circle" in one, re.findall(r'<svg class="beyond" x="(\d+)%"', one)) for one in pictures
    ]


@pytest.mark.parametrize(
    ("ends", "point", "arrows"),
    [
        ((2.0, 1.5, 3.0), True, []),
        ((1.0, 1 / MOST, MOST), True, []),
        ((MOST, None, None), True, []),
        ((3.0, 2.0, 20.0), True, ["100"]),
        ((40.0, 30.0, 50.0), False, ["100"]),
        ((40.0, 2.0, 50.0), False, ["100"]),
        ((0.01, None, None), False, ["0"]),
        ((0.5, 0.01, 0.9), True, ["0"]),
        ((1.0, 0.01, 100.0), True, ["0", "100"]),
    ],
)
def test_what_is_beyond_the_axis_has_an_arrow(
    ends: tuple[float, float, float], point: bool, arrows: list[str], tmp_path: Path
) -> None:
    assert drawn(tmp_path, [row(*ends)]) == [(point, arrows)]


def test_an_arrow_is_of_its_row_alone(tmp_path: Path) -> None:
    found = drawn(tmp_path, [row(64.0), row(1.1, 1.0, 1.2), row(None)])
    assert found == [(False, ["100"]), (True, [])]


@pytest.mark.parametrize("ratio", [1.01, 1.5, 7.0])
def test_an_axis_that_reaches_the_last_point_has_no_arrow(ratio: float, tmp_path: Path) -> None:
    assert drawn(tmp_path, [row(ratio), row(1 / ratio)]) == [(True, [])] * 2
