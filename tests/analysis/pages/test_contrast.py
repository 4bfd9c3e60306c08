# SPDX-License-Identifier: BSD-3-Clause
"""Each text of a page can be read on each of its backgrounds, by day and by night: WCAG's AA asks
for a contrast of 4.5."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import pytest

from iogauge.analysis.pages import page
from iogauge.analysis.pages.colours import GREYS

LEAST = 4.5
BLACK, WHITE = (0.0,) * 3, (255.0,) * 3
Colour = tuple[float, ...]
LIGHT, DARK = re.findall(
    r":root \{(.*?)\}", Path(page.__file__).with_name("base.html.j2").read_text(), re.DOTALL
)[:2]


def variables(text: str) -> dict[str, str]:
    return dict(re.findall(r"--(\w+): ([^;]+);", text))


def rgb(text: str) -> Colour:
    return tuple(float(int(text[i : i + 2], 16)) for i in (1, 3, 5))


def luminance(colour: Colour) -> float:
    parts = [part / 255 for part in colour]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(weight * p for weight, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: Colour, other: Colour) -> float:
    dark, bright = sorted(map(luminance, (one, other)))
    return (bright + 0.05) / (dark + 0.05)


def mixed(one: Colour, other: Colour, part: float) -> Colour:
    return tuple(part * a + (1 - part) * b for a, b in zip(one, other, strict=True))


def test_the_known_contrasts() -> None:
    assert contrast(BLACK, WHITE) == pytest.approx(21)
    assert contrast(rgb("#767676"), WHITE) == pytest.approx(4.54, abs=0.01)


@pytest.mark.parametrize("scheme", [LIGHT, DARK], ids=["light", "dark"])
def test_words_can_be_read(scheme: str) -> None:
    known = variables(scheme)
    texts = ("ink", "muted", "good", "bad", "link", "warn")
    pairs = [*product(texts, ("paper", "page", "grid")), ("ink", "fill")]
    low = {pair: c for pair in pairs if (c := contrast(*(rgb(known[n]) for n in pair))) < LEAST}
    assert not low


@pytest.mark.parametrize("scheme", [LIGHT, DARK], ids=["light", "dark"])
def test_each_cell_of_the_heat_map_can_be_read(scheme: str) -> None:
    """From 0 to 100 % of the peak, and on to 200 %."""
    known = variables(scheme)
    track, heat, over = (rgb(known[name]) for name in ("track", "heat", "over"))
    cells = [(full, mixed(heat, track, full / 100)) for full in range(101)]
    cells += [(100, mixed(over, heat, beyond / 100)) for beyond in range(101)]
    low = {}
    for full, colour in cells:
        light = (full - float(known["turn"])) * float(known["side"]) > 0
        if (found := contrast(WHITE if light else BLACK, colour)) < LEAST:
            low[full] = found
    assert not low


def test_a_chart_has_the_colours_of_its_page() -> None:
    known = variables(LIGHT)
    assert {name: known[name] for name in GREYS} == GREYS
