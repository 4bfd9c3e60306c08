# SPDX-License-Identifier: BSD-3-Clause
"""Charts and tables of a page hide nothing, show nothing twice, and have no empty column."""

from __future__ import annotations

import re
from itertools import pairwise

import altair as alt
import pytest

from iogauge.analysis.ledger.calls import Flow
from iogauge.analysis.ledger.traced import load
from iogauge.analysis.pages import calls_chart, grid, trace_text
from iogauge.analysis.pages.chart import Panels
from iogauge.analysis.pages.words import share_text
from iogauge.common.text import percent, three
from tests.analysis_recorded import DATA

TRACES = DATA / "darshan"
MIB = 2**20


def test_no_direction_hides_another() -> None:
    """Both moved data in the same two intervals, reads twice as much."""
    flows = [Flow("write", 1.0, [MIB, MIB]), Flow("read", 1.0, [2 * MIB, 2 * MIB])]
    picture, _ = calls_chart.throughput(flows) or pytest.fail("no picture")
    spans = []
    for path in picture.sides[0]:
        marks = re.findall(r"M([\d.]+) (\d+)h([\d.]+)v(\d+)", path.d)
        assert len(marks) == 2
        spans += [(float(x), float(x) + float(wide)) for x, _, wide, _ in marks]
    spans.sort()
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))
    assert spans[-1][1] == pytest.approx(calls_chart.GRID)


def test_a_legend_stands_once() -> None:
    """Above the panels of a page; in a picture beside them."""
    rows = [{"x": 1, "call": "posix", "stack": "openmpi"}]
    panel = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_point()
        .encode(
            x="x:Q",
            color=alt.Color("call:N", legend=alt.Legend(title=None)),
            shape=alt.Shape("stack:N", legend=alt.Legend(title=None, orient="bottom")),
        )
    )
    panels = Panels([alt.layer(panel)], {"posix": "#0072B2"})
    (svg,) = panels.svgs()
    assert "openmpi" not in svg and "posix" not in svg
    assert "legend" in str(panels.picture()["vconcat"])


def test_only_calls_of_mpi_io_have_its_hints() -> None:
    of_posix, of_mpiio = (
        trace_text.of_run(load(TRACES / name))[0].lines[0]
        for name in ("openmpi-posix-ceilings", "ompio-cgns-8")
    )
    assert of_posix == "2 of 2 processes wrote data"
    assert of_mpiio.startswith("1 of 8 processes wrote data; cb_nodes was not set; ")


def test_a_layer_has_one_name() -> None:
    log = load(TRACES / "ompio-cgns-8").log
    picture, _ = calls_chart.heat(log) or pytest.fail("no picture")
    assert picture.text.endswith("not drawn: MPI-IO")


@pytest.mark.parametrize(
    ("value", "short", "long"),
    [
        (0.0, "0 %", "0.0 %"),
        (0.0003, "<1 %", "<0.1 %"),
        (0.004, "<1 %", "0.4 %"),
        (0.17, "17 %", "17 %"),
    ],
)
def test_a_share_is_not_0_if_anything_was_reached(value: float, short: str, long: str) -> None:
    assert percent(value) == short
    assert share_text({"efficiency": value, "low": None}) == long


def test_two_digits_below_a_tenth() -> None:
    assert [three(value) for value in (0.0196, 0.0042, 0.0)] == ["0.020", "0.0042", "0.00"]


def test_a_table_has_no_empty_column() -> None:
    table = grid.filled(
        grid.Texts("", ("phase", "call", "ms"), [("", "a", "1"), ("", "b", "")], (0, 1))
    )
    assert (table.head, table.rows, table.left) == (["call", "ms"], [["a", "1"], ["b", ""]], [0])
