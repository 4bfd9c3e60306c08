# SPDX-License-Identifier: BSD-3-Clause
"""The greys of all pages, and the red. One colour per name; no two names share one."""

import colorsys
from collections.abc import Iterable

GREYS = {
    "ink": "#1b1f24",
    "muted": "#57606a",
    "track": "#dde1e6",
    "peak": "#7d8690",
    "grid": "#eceef1",
    "paper": "#ffffff",
    "bad": "#c2231c",
}
INK, MUTED, TRACK, PEAK, GRID, PAPER, BAD = GREYS.values()

# Okabe and Ito's palette, which people with any colour blindness can tell apart.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#999999", "#F0E442")
_TURN = 0.618034  # step around the hue circle: the golden angle never repeats
_LIGHT = (0.35, 0.62, 0.48)  # neighbours on the circle also differ in this


def of_names(names: Iterable[str]) -> dict[str, str]:
    """The colours of these names; beyond the palette, from the hue circle."""
    known = list(dict.fromkeys(names))
    found = list(PALETTE[: len(known)])
    turn = 0
    while len(found) < len(known):
        light = _LIGHT[turn % len(_LIGHT)]
        parts = colorsys.hls_to_rgb(turn * _TURN % 1, light, 0.65)
        colour = "#" + "".join(f"{round(255 * part):02X}" for part in parts)
        turn += 1
        if colour not in found:
            found.append(colour)
    return dict(zip(known, found, strict=True))
