# SPDX-License-Identifier: BSD-3-Clause
"""The page: self-contained, complete, and right in a real browser."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from iogauge.analysis.pages import bars, report_page
from iogauge.analysis.pages.words import bandwidth_text
from iogauge.analysis.session.loader import load_session
from iogauge.analysis.session.rows import Table, make_table
from tests.analysis_recorded import Recorded, s3d

MPIIO = s3d("mpiio:collective")
CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")
BARS = 14 * 2  # recorded rows that moved data and are no peak tests, write and read


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    return Recorded(tmp_path)


def load(recorded: Recorded) -> Table:
    return make_table(load_session(recorded.report))


def written(recorded: Recorded) -> Path:
    path = recorded.output / "report.html"
    report_page.write(load(recorded), [path])
    return path


class Tags(HTMLParser):
    """All attributes of a page, and the texts of its table rows."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.attributes: list[tuple[str, str, str]] = []
        self.tags: list[str] = []
        self.rows: list[list[str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th") and self.rows:
            self.rows[-1].append("")

    def handle_data(self, data: str) -> None:
        if self.rows and self.rows[-1]:
            self.rows[-1][-1] += data.strip()


def marks(text: str) -> dict[str, int]:
    """How many of each kind of mark the bars of a page have."""
    of_bars = text.split('<figure class="card bars">')[1].split("</figure>")[0]
    return {kind: of_bars.count(f'class="{kind}"') for kind in ("median", "range")}


def test_nothing_is_loaded_from_elsewhere(recorded: Recorded) -> None:
    text = written(recorded).read_text()
    tags = Tags(text)
    assert "@import" not in text
    assert re.findall(r"url\((?!data:)", text) == []
    for tag, name, value in tags.attributes:
        if name in ("src", "href", "srcset", "xlink:href", "data", "action"):
            assert not re.match(r"(?!data:)[a-z][a-z0-9+.-]*:|//", value), (tag, name, value)


def test_links_lead_to_the_files(recorded: Recorded) -> None:
    path = written(recorded)
    attributes = Tags(path.read_text()).attributes
    links = {v for tag, name, v in attributes if (tag, name) == ("a", "href") and v[0] != "#"}
    moved = [row.run for row in load(recorded).ran if row.outcome != "nothing moved"]
    files = [file for run in moved for file in (run.document, run.job_script) if file]
    assert len(links) == len(files) > 18
    for link in links:
        assert (path.parent / unquote(link)).is_file(), link


def test_every_row_is_in_the_table(recorded: Recorded) -> None:
    table = load(recorded)
    rows = Tags(written(recorded).read_text()).rows
    for row in table.ran:
        if row.outcome == "nothing moved":
            continue
        spread = row.bandwidth("write")
        assert spread is not None
        assert any(
            cells[0] == row.run.pattern
            and {row.run.method, row.run.mode or "-", row.run.stack, row.run.fs} <= set(cells)
            and bandwidth_text(spread.median) in cells
            for cells in rows
        ), row.run.case


def test_each_measured_direction_has_one_bar_and_one_range(recorded: Recorded) -> None:
    assert marks(written(recorded).read_text()) == {"median": BARS, "range": BARS}


def test_a_row_with_wrong_bytes_has_no_bar(recorded: Recorded) -> None:
    recorded.edit_document(MPIIO, "mpich", lambda d: d["verification"].update(verdict="mismatch"))
    text = report_page.render(load(recorded), recorded.output)
    assert marks(text)["median"] == BARS - 2
    assert "Not every row is verified" in text


def test_a_published_peak_stands_below_the_measured_ones(recorded: Recorded) -> None:
    assert "published peak" not in written(recorded).read_text()
    published = "36000 MB/s (NERSC, 2013)"
    recorded.edit_case(MPIIO, "mpich", lambda c: c.update(published_peak=published))
    text = written(recorded).read_text()
    assert text.count(f"published peak of ram: {published}") == 1


def test_a_track_ends_where_the_fraction_says(recorded: Recorded) -> None:
    """A bar without a share, as the machine was disturbed, has no track."""
    found = bars.bars(load(recorded))
    assert all(bar["label"] == "" for bar in found if not bar["peak"])
    tracks = [bar for bar in found if bar["peak"]]
    assert tracks
    for bar in tracks:
        filled = 100 * bar["median"] / bar["peak"]
        assert bar["label"].removesuffix(" %") == f"{filled:.{0 if filled >= 1 else 1}f}"


def test_each_series_has_its_colour_and_name_in_the_picture(recorded: Recorded) -> None:
    table = load(recorded)
    found, drawn = bars.figure(table), bars.picture(table)
    assert found and drawn and found["legend"]
    for name, colour in found["legend"]:
        text = rf"<text [^>]*>{re.escape(html.escape(name))}</text>"
        assert re.search(rf'height="12" fill="{colour}"/>\s*{text}', drawn), name


def test_a_session_without_numbers_has_a_page_without_plot(recorded: Recorded) -> None:
    for path in recorded.output.rglob("result.json"):
        path.unlink()
    table = load(recorded)
    assert bars.to_png(table) is None
    assert 'class="bar"' not in written(recorded).read_text()


def test_texts_are_escaped(recorded: Recorded) -> None:
    evil = "<script>alert(1)</script>&\"'"
    recorded.edit_case(MPIIO, "mpich", lambda c: c.update(result="fail", fail_reason=evil))
    recorded.edit_case(s3d("posix"), "mpich", lambda c: c.update(environ=evil))
    text = written(recorded).read_text()
    assert "<script>alert" not in text
    assert html.escape("<script>alert(1)</script>") in text


# ---------------------------------------------------------------- in a browser

PROBE = """<script>
const errors = [];
addEventListener('error', event => errors.push(event.message));
addEventListener('load', () => {
  const box = element => element.getBoundingClientRect();
  const texts = [...document.querySelectorAll('.how, .bar span')];
  const svg = box(document.querySelector('.bars'));
  const overlaps = [], clipped = [];
  texts.forEach((a, i) => {
    const p = box(a);
    if (p.left < svg.left || p.right > svg.right + 1 || p.bottom > svg.bottom)
      clipped.push(a.textContent);
    texts.slice(i + 1).forEach(b => {
      const q = box(b);
      const across = Math.min(p.right, q.right) - Math.max(p.left, q.left);
      const down = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top);
      if (across > 1 && down > Math.min(p.height, q.height) / 3)
        overlaps.push(a.textContent + ' and ' + b.textContent);
    });
  });
  const bars = [...document.querySelectorAll('.bar rect.median')];
  const seen = bars.filter(bar => box(bar).width > 0 && box(bar).height > 2);
  const found = {
    errors, overlaps, clipped, bars: seen.length, texts: texts.length,
    resources: performance.getEntriesByType('resource').map(entry => entry.name),
    too_wide: document.documentElement.scrollWidth - innerWidth,
    paper: getComputedStyle(document.body).backgroundColor,
    ink: getComputedStyle(texts[0]).color,
  };
  const pre = document.createElement('pre');
  pre.id = 'found';
  pre.textContent = JSON.stringify(found);
  document.body.append(pre);
});
</script>"""


def chromium(
    path: Path, folder: Path, probe: str = PROBE, *, dark: bool = False, width: int = 1280
) -> dict[str, Any]:
    """What a probe in the page finds after it was loaded."""
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    probed = path.with_name("probed.html")
    probed.write_text(path.read_text().replace("<head>", f"<head>{probe}", 1))
    done = subprocess.run(
        [
            CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
            "--disable-background-networking", f"--user-data-dir={folder / 'profile'}",
            f"--window-size={width},1000",
            f"--blink-settings=preferredColorScheme={0 if dark else 1}",
            "--dump-dom", probed.as_uri(),
        ],
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    match = re.search(r'<pre id="found">(.*?)</pre>', done.stdout, re.DOTALL)
    assert match, f"the page did not load: {done.stderr[-500:]}"
    found: dict[str, Any] = json.loads(html.unescape(match[1]))
    return found


def test_the_page_in_a_browser(recorded: Recorded, tmp_path: Path) -> None:
    found = chromium(written(recorded), tmp_path)
    assert found["errors"] == []
    assert found["resources"] == []
    assert found["bars"] == BARS
    assert found["texts"] > BARS
    assert found["overlaps"] == []
    assert found["clipped"] == []
    assert found["too_wide"] <= 0


def test_light_and_dark(recorded: Recorded, tmp_path: Path) -> None:
    path = written(recorded)
    light = chromium(path, tmp_path)
    dark = chromium(path, tmp_path, dark=True)

    def brightness(colour: str) -> int:
        return sum(int(part) for part in re.findall(r"\d+", colour)[:3])

    assert brightness(light["paper"]) > brightness(light["ink"]) + 300
    assert brightness(dark["paper"]) + 300 < brightness(dark["ink"])
