# SPDX-License-Identifier: BSD-3-Clause
"""`doctor`: what this machine has and lacks. Changes nothing."""

import argparse
import os
import platform
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from iogauge.analysis.errors import EXIT_NOT_VERIFIED, EXIT_OK, UsageError
from iogauge.common import paths
from iogauge.common.mounts import mount_of
from iogauge.common.text import one_line

from . import formats

COLUMNS = ("what", "state", "found")
add_arguments = formats.add_format
OK, MISSING, NOTE = "ok", "missing", "-"
# How to get an MPI and what is built with it.
MPI = "make setup" if paths.is_checkout() else "load its module, or install it"


@dataclass(frozen=True)
class Line:
    """`stops`: without it no run can start."""

    what: str
    state: str
    found: str
    stops: bool = False


def run(args: argparse.Namespace) -> int:
    lines = [*_machine(), *_python()]
    if not lines[-1].stops:  # ReFrame is needed to know the rest
        lines += [*_stacks(), *_tracing(), *_batch(), *_file_systems()]
    rows = [{name: getattr(line, name) for name in COLUMNS} for line in lines]
    stops = [line.what for line in lines if line.stops]
    answer = f"No run can start: {', '.join(stops)}" if stops else "A run can start: iogauge run"
    formats.show(args, rows, COLUMNS, note=answer)
    return EXIT_NOT_VERIFIED if stops else EXIT_OK


def _machine() -> Iterator[Line]:
    load = os.getloadavg()[0]
    cores = len(os.sched_getaffinity(0))
    found = f"{platform.node()}, {platform.system()} {platform.release()}, {cores} cores"
    yield Line("machine", OK, f"{found}, load {load:.1f}")
    if load > cores:
        yield Line("load", NOTE, f"{load:.0f} on {cores} cores: measurements will vary")


def _python() -> Iterator[Line]:
    text = (paths.ROOT / "requirements" / "run.in").read_text()
    charts = paths.CHARTS.split()  # an extra: runs do without
    names = [name for name in re.findall(r"^[A-Za-z][\w-]*", text, re.M) if name not in charts]
    lost = [name for name in names if not list(metadata.distributions(name=name))]
    version = f"Python {platform.python_version()}"
    has = f"without {', '.join(lost)}: {paths.SET_UP}" if lost else f"all {len(names)} packages"
    yield Line("Python", MISSING if lost else OK, f"{version}, {has}", bool(lost))


def _stacks() -> Iterator[Line]:
    # here and below: without ReFrame they cannot be loaded
    from iogauge.measure import kernels, stacks

    usable = 0
    for name in stacks.known():
        lacks = kernels.lacking(name)
        there, missing = stacks.libraries(name)
        usable += not lacks
        more = f"; without {' '.join(missing)}" if missing else ""
        found = f"{lacks.partition(': ')[2]}: {MPI}" if lacks else " ".join(there) + more
        yield Line(f"stack {name}", MISSING if lacks else OK, one_line(found, 300))
    if not usable:
        yield Line("stacks", MISSING, f"no MPI that kernels can be built with: {MPI}", True)


def _tracing() -> Iterator[Line]:
    from reframe_tests.framework import recorders

    prefix = os.environ.get("DARSHAN_PREFIX")
    why = f"no {recorders.RUNTIME} in {prefix}" if prefix else "DARSHAN_PREFIX is not set"
    library = recorders.runtime(prefix)
    own = f"{why}: runs are traced by iogauge's own recorder"
    yield Line("Darshan", OK if library else NOTE, str(library or own))


def _batch() -> Iterator[Line]:
    from iogauge.measure.new_site import schedulers
    from iogauge.measure.new_site.machine import Machine

    found = schedulers.find(Machine())
    names = ", ".join(part.name for part in found.partitions)
    yield Line("batch system", OK if names else NOTE, f"{found.why}{': ' if names else ''}{names}")
    for line in found.remarks:
        yield Line("batch system", NOTE, line)


def _file_systems() -> Iterator[Line]:
    from iogauge.measure import sites
    from reframe_tests.machine.memory import memory

    yield Line("memory", OK, f"{memory() / 1024:.1f} GiB")
    try:
        listed = sites.local_file_systems()
    except UsageError as error:
        yield Line("results", MISSING, str(error), True)
        return
    places = {f"fs {name}": (Path(entry["path"]), entry["note"]) for name, entry in listed.items()}
    places["results"] = (paths.output(), "")
    lost = []
    for what, (path, note) in places.items():
        there = next(one for one in (path, *path.parents) if one.exists())
        free = f"{shutil.disk_usage(there).free / 2**30:.1f} GiB free"
        facts = "; ".join(filter(None, [f"{path}: {mount_of(path)['type']}, {free}", note]))
        if os.access(there, os.W_OK | os.X_OK):
            yield Line(what, OK, facts)
            continue
        lost.append(what)
        who = f"user {os.geteuid()} may not write there; set IOGAUGE_OUTPUT, IOGAUGE_DISK"
        yield Line(what, MISSING, f"{path}: {who}")
    if len(lost) == len(places) or "results" in lost:
        yield Line("scratch", MISSING, f"cannot be written: {', '.join(lost)}", True)
