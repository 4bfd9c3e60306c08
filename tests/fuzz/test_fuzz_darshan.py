# SPDX-License-Identifier: BSD-3-Clause
"""Damaged Darshan logs and traces of processes: read in bounded time and memory, or one line; what
was read can be counted, shown and drawn."""

from __future__ import annotations

import io
import json
import signal
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path

import pytest
from hypothesis import strategies as st

from iogauge.analysis.darshan import log, raw
from iogauge.analysis.darshan.others import Others
from iogauge.analysis.errors import EXIT_DATA
from iogauge.analysis.ledger import calls
from iogauge.analysis.ledger.ledger import make_ledger
from iogauge.analysis.ledger.traced import Traced
from iogauge.analysis.ledger.verdict import judge
from iogauge.analysis.pages import access_chart, calls_chart, trace_page, trace_text
from iogauge.common import document, text
from iogauge.common.run_folder import DOCUMENT, TRACE
from tests.fuzz.cases import damaged, fuzz

ROOT = Path(__file__).resolve().parents[2]
RUNS = sorted((ROOT / "tests" / "data" / "darshan").iterdir())
ASKED = {run: document.load(run / DOCUMENT) for run in RUNS}
HEAD = 170  # numbers of 8 bytes at the beginning of a log
# Darshan's library ends the process where it meets what it did not expect: for this it is one.
CRASHES = (-signal.SIGABRT, -signal.SIGSEGV, -signal.SIGBUS, -signal.SIGFPE)


class Reader:
    def __init__(self, folder: Path) -> None:
        self.log = folder / TRACE
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz.darshan_reader"], cwd=ROOT, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def read(self, data: bytes) -> int:
        assert self.process.stdin and self.process.stdout
        self.log.write_bytes(data)
        print(self.log, file=self.process.stdin, flush=True)
        return int(self.process.stdout.readline())

    def said(self) -> str:
        return self.log.with_suffix(".err").read_text(errors="replace")


@pytest.fixture(scope="module")
def reader() -> Iterator[Reader]:
    with tempfile.TemporaryDirectory(prefix="iogauge-fuzz-") as folder:
        made = Reader(Path(folder))
        yield made
        assert made.process.stdin
        made.process.stdin.close()
        made.process.wait(300)


def shown(run: Path, found: log.Log, drawn: bool) -> None:
    """What `trace` makes of a log; its pictures, whose making is slow, where they are `drawn`."""
    asked = ASKED[run]
    ledger = make_ledger(asked, found)
    json.dumps(ledger.as_json(), allow_nan=False)
    traced = Traced(found.path.parent, asked, found, ledger, judge(ledger))
    printed = io.StringIO()
    with redirect_stdout(printed):
        trace_text.show("a run", found, trace_text.of_run(traced), traced.judgement)
    assert not text.CONTROL.search(printed.getvalue().replace("\n", ""))
    if drawn:
        accesses = access_chart.of_log(found)
        assert not accesses or access_chart.timeline([accesses]).x
        charts = (trace_page.histogram(ledger), calls_chart.percentiles(traced.singly))
        for panel in (panel for chart in charts if chart for panel in chart.panels):
            json.dumps(panel.to_dict(), allow_nan=False)
        flows = calls.flows(traced.singly, found)
        for chart_and_legend in (
            calls_chart.heat(found),
            calls_chart.strip(traced.singly),
            calls_chart.throughput(flows),
        ):
            assert not chart_and_legend or chart_and_legend[0].x


@pytest.mark.parametrize("run", RUNS, ids=lambda path: path.name)
def test_a_whole_log_is_read_and_shown(run: Path, reader: Reader) -> None:
    assert reader.read((run / TRACE).read_bytes()) == 0, reader.said()
    answer = json.loads(reader.log.with_suffix(".json").read_text())
    shown(run, log._log(reader.log, answer), True)


@pytest.mark.slow
@fuzz("Darshan logs", 0.10, 300, run=st.sampled_from(RUNS), data=st.data())
def test_damaged_logs(reader: Reader, run: Path, data: st.DataObject) -> None:
    status = reader.read(data.draw(damaged((run / TRACE).read_bytes(), HEAD)))
    said = reader.said()
    assert status in (0, EXIT_DATA, *CRASHES), said
    if status == EXIT_DATA:
        assert said.strip()
        assert "Traceback" not in said
    if status == 0:
        answer = json.loads(reader.log.with_suffix(".json").read_text())
        shown(run, log._log(reader.log, answer), data.draw(st.integers(0, 19)) == 0)


@fuzz("pages of damaged logs", 0.0005, 2, run=st.sampled_from(RUNS), data=st.data())
def test_pages_of_damaged_logs(reader: Reader, run: Path, data: st.DataObject) -> None:
    whole = (run / TRACE).read_bytes()
    if reader.read(data.draw(damaged(whole, HEAD))):
        return
    found = log._log(reader.log, json.loads(reader.log.with_suffix(".json").read_text()))
    asked = ASKED[run]
    ledger = make_ledger(asked, found)
    traced = Traced(reader.log.parent, asked, found, ledger, judge(ledger))
    page = trace_page.render(traced, Others(), reader.log.parent)
    assert not text.CONTROL.search(page.replace("\n", "").replace("\t", ""))


def trace_of_a_process() -> bytes:
    """One record of each module."""
    counters, times, bins = 70, 20, 4
    head = raw._HEADER.pack(
        raw.MAGIC, raw.VERSION, raw.COMPLETE, 0, 2, 1, 1, 1_800_000_000, 5, 9, 9, 1.5,
        2, counters, counters, times, bins, len(raw.MODULES), b"host", b"recorder", b"command",
    )  # fmt: skip
    heat = b"".join(
        i.to_bytes(8, "little") + bytes(8) + bytes(16 * bins) for i in range(len(raw.MODULES))
    )
    records = b""
    for module in range(len(raw.MODULES)):
        records += raw._RECORD.pack(7, 1, 1, module, 4, 1, 1) + b"/a/b"
        records += bytes(8 * counters) + bytes(8 * times) + bytes(16) + bytes(16)
        records += bytes(2 * raw.SEGMENT.size) + bytes(2 * raw.MARK.size)
    events = (1).to_bytes(8, "little") + raw.NAME.pack(b"pwrite")
    events += (2).to_bytes(8, "little") + raw.EVENT.pack(7, 0, 0, 0.1, 0.2, 3, raw.VIEW, 1)
    events += raw.EVENT.pack(0, 1, 1, 0.1, 0.2, 4, raw.DATA_SET, 1)
    events += (1).to_bytes(8, "little") + struct.pack("=4qQ2q", 0, 16, 8, 1, 1, 0, 8)
    shapes = [
        raw.SET.pack(7, 1, 8, 1, 1, 1) + struct.pack("=3q", 24, 6, 1) + b"/rows",
        raw.PART.pack(4, 1, 1) + struct.pack("=4q", 8, 2, 4, 1),
    ]
    events += (2).to_bytes(8, "little")
    events += b"".join(len(one).to_bytes(8, "little") + one for one in shapes)
    return head + heat + records + events + raw.END


@fuzz("traces of processes", 0.04, 100, data=damaged(trace_of_a_process(), 170))
def test_damaged_traces(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "process-000000-1.trace"
    path.write_bytes(data)
    try:
        raw.read_trace(path)
    except raw.BrokenTraceError as error:
        assert str(path) in str(error)


def test_the_trace_that_is_damaged_is_one(tmp_path: Path) -> None:
    (tmp_path / "process-000000-1.trace").write_bytes(trace_of_a_process())
    (process,) = raw.read_folder(tmp_path)
    assert [record.module for record in process.records] == list(raw.MODULES)
    assert [move.data_set.name for move in process.moves] == ["/rows"]
