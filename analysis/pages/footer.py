# SPDX-License-Identifier: BSD-3-Clause
"""What stands below a session's table: counts, reasons, peaks, machine and versions."""

from collections import Counter, defaultdict
from collections.abc import Iterable

from iogauge.common.run_folder import STDERR
from iogauge.common.text import counted, percent

from ..session.model import DIRECTIONS, LATENCY, Run
from ..session.rows import Outcome, Row, Table
from . import grid, screen
from .screen import shown
from .words import bandwidth_text, outcome_text, percent_text, range_text

CACHES = {
    "dropped": "cold, as the page cache was emptied before reading",
    "cached": "some of the files' pages were in memory, so it is not the disk's speed",
    "memory": "the file system is memory itself",
}

SOURCES = {"peak test": "by a peak test", "same job": "beside a case", "case": "by a case"}
SMALL = {"small": "accesses of 4 KiB", "files": "plain files"}
# Outcomes that are named only where there are some.
OTHERS: dict[Outcome, str] = {
    "not asked": "not asked to verify",
    "nothing moved": "moved nothing (null)",
    "skipped": "skipped",
}
NAMED = 3  # cases named individually per reason


def counts_text(table: Table) -> str:
    counts = table.counts()
    parts = [f"{counts['verified']} verified", f"{counts['failed']} failed"]
    parts += [f"{counts[name]} {shown}" for name, shown in OTHERS.items() if counts[name]]
    return ", ".join(parts)


def interruption(table: Table) -> str:
    if not table.session.interrupted:
        return ""
    return "Interrupted: only what had finished is shown"


def failures(table: Table) -> list[tuple[str, str, str]]:
    """(reason, its cases, the log of the first or ""), the most frequent first."""
    cases: dict[str, list[Run]] = defaultdict(list)
    for row in table.ran:
        if row.outcome == "failed":
            cases[row.run.reason].append(row.run)
    found = []
    for reason, runs in sorted(cases.items(), key=lambda item: -len(item[1])):
        names = "; ".join(f"{run.case} on {run.stack}" for run in runs[:NAMED])
        more = f" and {len(runs) - NAMED} more" if len(runs) > NAMED else ""
        log = runs[0].folder / STDERR if runs[0].folder else None
        found.append((reason, names + more, str(log) if log and log.is_file() else ""))
    return found


def failure_lines(table: Table) -> list[str]:
    return [
        f"{names}: {reason}" + (f"; log: {log}" if log else "")
        for reason, names, log in failures(table)
    ]


def skip_reasons(table: Table) -> list[tuple[str, int]]:
    return Counter(row.run.reason for row in table.skipped).most_common()


def repeats_text(rows: Iterable[Row]) -> str:
    counts = sorted({len(row.samples) for row in rows if row.samples})
    if not counts:
        return "nothing was measured"
    if counts == [1]:
        return "one sample per row: no spread is known"
    shown = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return f"medians of {shown} repeats, min-max over them"


def scale_text(table: Table) -> str:
    """The scale of the session; empty if the table has a column for it."""
    scales = {row.run.scale for row in table.ran}
    return f"scale {scales.pop()}" if len(scales) == 1 and "" not in scales else ""


def caches_lines(table: Table) -> list[str]:
    words: dict[str, set[str]] = defaultdict(set)
    for row in table.ran:
        if row.run.result and row.run.result.caches:
            words[f"{row.run.fs} ({row.run.result.fs_type})"].add(row.run.result.caches)
    return [
        f"{fs}: {'; '.join(CACHES.get(word, word) for word in sorted(found))}"
        for fs, found in sorted(words.items())
    ]


def peak_lines(table: Table) -> list[str]:
    files = {"fpp": "file per process", "shared": "shared file"}
    lines = []
    for of, peak in table.highest.all().items():
        about = [of.fs, counted(of.processes, "process"), files[of.ceiling], of.direction]
        about += ["fsync"] if of.fsync else []
        value = f"{bandwidth_text(peak.value)} ({SOURCES[peak.source]}"
        lines.append(f"{', '.join(about)}: {value}; {counted(peak.jobs, 'job')})")
    small: dict[str, list[str]] = defaultdict(list)
    for (_, _, fs, processes, name), peak in table.highest.small.items():
        kind, what = name.split("_")
        small[f"{fs}, {counted(processes, 'process')}, {SMALL[kind]} a second"].append(
            f"{what} {peak.value:.0f}"
        )
    return lines + [f"{about}: {', '.join(of)}" for about, of in small.items()]


def published_lines(table: Table) -> list[str]:
    """Published bandwidths of a file system, from the site file: MB/s and source."""
    found = {(row.run.fs, row.run.published_peak) for row in table.ran if row.run.published_peak}
    return [f"published peak of {fs}: {text}" for fs, text in sorted(found)]


def rate_lines(table: Table) -> list[str]:
    lines = []
    for row in table.ran:
        run = row.run
        if row.rates:
            rates = ", ".join(
                f"{name} {rate:.0f}" + (f" ({percent(rate / peak)} of plain files)" if peak else "")
                for name, rate in row.rates.items()
                for peak in [table.highest.rate(run, name)]
            )
            what = " ".join(word for word in (run.pattern, run.method, row.label) if word)
            lines.append(f"{run.fs}, {run.stack}, {what}, {run.processes} processes: {rates}")
    return lines


def version_lines(table: Table) -> list[str]:
    stacks: dict[str, set[str]] = defaultdict(set)
    programs: set[str] = set()
    for row in table.ran:
        result = row.run.result
        if result:
            libraries = ", ".join(_library(k, v) for k, v in sorted(result.libraries.items()))
            if libraries:  # upstream's `ior` does not report its own
                stacks[row.run.stack].add(libraries)
            programs.add(result.program)
        if row.run.packages:
            stacks[row.run.stack].add(f"{len(row.run.packages)} packages of Spack's (spack.lock)")
    lines = [f"{stack}: {' | '.join(sorted(found))}" for stack, found in sorted(stacks.items())]
    return [*lines, f"measured by {', '.join(sorted(programs))}"] if programs else lines


def _library(name: str, version: str) -> str:
    known = {"hdf5": "HDF5", "pnetcdf": "PnetCDF", "netcdf4": "NetCDF"}
    known |= {"adios2": "ADIOS2", "cgns": "CGNS"}
    # MPICH calls itself "MPICH Version: 4.0".
    return (
        version.replace(" Version:", "") if name == "mpi" else f"{known.get(name, name)} {version}"
    )


def machine_text(table: Table) -> str:
    session = table.session
    results = [row.run.result for row in table.ran if row.run.result]
    nodes = max((result.nodes for result in results), default=0)
    kernels = sorted({result.kernel for result in results})
    places = sorted({f"{row.run.system}:{row.run.partition}" for row in table.all_rows})
    parts = [f"{', '.join(places)} on {session.host}"]
    parts += [counted(nodes, "node")] if nodes else []
    return ", ".join([*parts, *kernels])


def session_text(table: Table) -> str:
    session = table.session
    started = session.started.strftime("%Y-%m-%d %H:%M UTC")
    return f"{started}, {session.seconds:.0f} s, {session.harness}"


def footer_lines(table: Table) -> list[str]:
    scale = f"; {scale_text(table)}" if scale_text(table) else ""
    lines = ["", *filter(None, [interruption(table)])]
    lines += [f"{counts_text(table)}; {repeats_text(table.ran)}{scale}"]
    lines += [f"  failed: {line}" for line in failure_lines(table)]
    lines += [f"  skipped {count}: {reason}" for reason, count in skip_reasons(table)]
    if peaks := peak_lines(table):
        lines += ["peaks of the session, MiB/s:", *(f"  {line}" for line in peaks)]
    lines += published_lines(table)
    if rates := rate_lines(table):
        lines += ["files/s:", *(f"  {line}" for line in rates)]
    lines += [f"reads from {line}" for line in caches_lines(table)]
    lines += version_lines(table)
    return [*lines, f"{machine_text(table)}; {session_text(table)}"]


PEAKS = "\nPeak tests (large aligned POSIX transfers, nothing else)"


def print_table(table: Table, *, wide: bool = False) -> None:
    console = screen.console()
    for title, rows in (("", table.rows), (PEAKS, table.peak_rows)):
        if title and rows:
            console.print(shown(title, "bold"))
        if rows:
            records = [_record(row, wide) for row in rows]
            scales = {record["scale"] for record in records}
            columns = [name for name in records[0] if name != "scale" or len(scales) > 1]
            grid.show(records, columns, wide=wide)
    for line in footer_lines(table):
        console.print(shown(line), soft_wrap=True)


def _record(row: Row, wide: bool) -> dict[str, str]:
    run = row.run
    texts = {
        "pattern": run.pattern,
        "scale": run.scale,
        "method": run.method or run.test,
        "mode": run.mode,
        "variant": row.label,
        "stack": run.stack,
        "file_system": run.fs,
        "procs": str(run.processes or ""),
    }
    for direction in DIRECTIONS:
        spread = row.bandwidth(direction)
        texts |= {
            f"{direction}_mib_s": bandwidth_text(spread.median) if spread else "-",
            f"{direction}_min-max": range_text(spread),
            f"{direction}_%_peak": percent_text(row, "fpp", direction),
            f"{direction}_%_shared": percent_text(row, "shared", direction),
        }
        for name in LATENCY if wide else ():
            seconds = row.latency(direction, name)
            texts[f"{direction}_{name}_ms"] = "-" if seconds is None else f"{seconds * 1e3:.3g}"
    return texts | {"verified": outcome_text(row)}
