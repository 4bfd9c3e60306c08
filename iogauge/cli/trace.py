# SPDX-License-Identifier: BSD-3-Clause
"""`trace`: the byte ledger of a run, its hints and charts; of another log, where its time went."""

import argparse
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from iogauge.analysis.darshan.log import Log, read_log
from iogauge.analysis.darshan.others import SUMMARY, Others, ask_others
from iogauge.analysis.darshan.raw import holds_traces
from iogauge.analysis.errors import EXIT_NOT_VERIFIED, EXIT_OK, NothingFoundError
from iogauge.analysis.ledger import calls, phases, seconds
from iogauge.analysis.ledger.ledger import Ledger
from iogauge.analysis.ledger.traced import last_traced, load
from iogauge.analysis.ledger.verdict import as_json
from iogauge.common.run_folder import DOCUMENT
from iogauge.common.text import notice

from . import formats, options

PAGE = "trace.html"
CALLS = ("phase", "call", "process", "calls", "seconds", *calls.QUANTILES)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("folder", nargs="?", type=options.in_path)
    options.add_output(parser)
    formats.add_format(parser)
    add("--html", type=options.out_file)
    add("--calls", action="store_true")
    add("--no-summary", action="store_true")


def run(args: argparse.Namespace) -> int:
    options.need(args.folder, "a run, a Darshan log or traces")
    folder = args.folder or last_traced(args.output)
    if folder.is_file() and not folder.with_name(DOCUMENT).exists():
        return run_alone(args, read_log(folder, heat=True, segments=True))
    if not (folder / DOCUMENT).exists() and holds_traces(folder):
        with TemporaryDirectory() as place:
            log = Path(place) / f"{folder.absolute().name}.darshan"
            return run_alone(args, read_log(log, convert=folder, heat=True, segments=True))
    own = folder if folder.is_dir() else folder.parent
    if not (own / DOCUMENT).exists():
        raise NothingFoundError(f"{folder}: expected a run, a Darshan log or traces, found none")
    traced = load(own)
    if args.json:
        found = as_json(traced.ledger, traced.judgement)
        formats.write_json({**found, **_calls(traced.singly, traced.log)})
    elif args.csv:
        rows = _calls(traced.singly, traced.log)["calls"] if args.calls else _layers(traced.ledger)
        formats.write_csv(rows, CALLS)
    else:
        from iogauge.analysis.pages import trace_text

        title, parts = trace_text.heading(traced), trace_text.of_run(traced)
        trace_text.show(title, traced.log, parts, traced.judgement)
        with options.page_beside(args.html):
            from iogauge.analysis.pages import trace_page  # here: the chart library is slow to load

            page = args.html or traced.folder / PAGE
            trace_page.write(traced, _others(args, traced.log, traced.folder / SUMMARY), page)
            options.say_written(page)
    return EXIT_NOT_VERIFIED if traced.judgement.verdict == "unbalanced" else EXIT_OK


def run_alone(args: argparse.Namespace, log: Log) -> int:
    """A log without a result document: the expected bytes are unknown."""
    found = [
        {**asdict(layer), "slowest": layer.slowest, "seconds": layer.seconds}
        for layer in seconds.layers(log)
    ]
    singly = phases.singly(log, {}, lambda _: True)
    if args.json:
        formats.write_json(
            {
                "recorder": log.recorder,
                "processes": log.processes,
                "layers": found,
                "notes": log.notes,
                **_calls(singly, log),
            }
        )
    elif args.csv:
        cells: tuple[str, ...] = ("name", "files", "read", "written", "reading", "writing", "other")
        rows = [{name: row[name] for name in cells} for row in found]
        if args.calls:
            rows, cells = _calls(singly, log)["calls"], CALLS
        formats.write_csv(rows, cells)
    else:
        from iogauge.analysis.pages import trace_text

        trace_text.show(trace_text.heading_of_log(log), log, trace_text.of_log(log, singly))
        with options.page_beside(args.html):
            _page_of_log(args, log, singly)
    return EXIT_OK


def _page_of_log(args: argparse.Namespace, log: Log, singly: phases.Singly) -> None:
    from iogauge.analysis.pages import trace_page

    page = args.html or options.unused(Path(f"{log.path.stem}.html"))
    summary = page.absolute().with_name(f"{page.stem}.{SUMMARY}")
    summary = summary if args.html else options.unused(summary)
    others = _others(args, log, summary)
    if not args.html and not others.summary:
        summary.unlink()
    trace_page.write_log(log, singly, others, page)
    for written in filter(None, (page, others.summary)):
        options.say_written(written)


def _calls(found: phases.Singly, log: Log) -> dict[str, Any]:
    rows = [*(each for each, _ in calls.by_phase(found)), *calls.times(found, "call", "process")]
    flows = [flow._asdict() for flow in calls.flows(found, log)]
    return {"calls": rows, "throughput": flows, "data_sets": seconds.data_sets(log)}


def _others(args: argparse.Namespace, log: Log, summary: Path) -> Others:
    others = Others() if args.no_summary else ask_others(log, summary)
    for problem in others.problems:
        notice(problem)
    return others


def _layers(ledger: Ledger) -> list[formats.Record]:
    found: list[formats.Record] = []
    for side in ledger.sides:
        known: list[tuple[str, int | None, int | None, int | None]] = [
            ("payload", side.payload, None, None),
            *((one.name, one.bytes, one.calls, one.processes) for one in side.layers),
            ("files", side.files, None, None),
        ]
        names = ("layer", "bytes", "calls", "processes")
        found += [
            {"direction": side.direction, **dict(zip(names, row, strict=True))} for row in known
        ]
    return found
