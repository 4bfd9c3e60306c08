# SPDX-License-Identifier: BSD-3-Clause
"""Which stacks write right bytes: small runs of every pattern, method, mode and setting of MPI-IO,
verified by the kernels.

    python -m iogauge.cli.certify [--stacks "openmpi mpich"] [--patterns s3d ...] [--minutes M]
                            [--runs N] [--seed N] [--fs ram disk] [--jobs N] [--out DIR] [--anew]
    iogauge certify --check FILE     is a stack still what this certificate says of it

Stacks are called as in `make run STACKS=`, or prefix:FOLDER for an MPI with FOLDER/bin/mpicc and
mpiexec. The runs stand in DIR (output/certificate), a line each; called again it goes on. What they
mean says `iogauge certificate`.

Exit status: 0 runs were made, right or not; with --check: nothing new is wrong; 1 something new is
wrong; 2 the command line is wrong, no stack is here, or DIR is in use.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import platform
import signal
import sys
import time
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from reframe.core.exceptions import ConfigError

from iogauge.analysis.errors import AnalysisError
from iogauge.analysis.judge import certificate
from iogauge.analysis.pages import certificate_text
from iogauge.common import json_file
from iogauge.common.files import write_whole
from iogauge.common.paths import output
from iogauge.common.progress import Bar
from iogauge.measure.certify import session
from iogauge.measure.certify.settings import hints_of, name_of, variables_of
from iogauge.measure.certify.stacks import Candidate, NotHere, prepare
from site_configs import local

MINUTES = 60.0
RUN_SECONDS = 1.5  # what a run takes, about, on two cores


def parse(words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="iogauge certify",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    parser.add_argument("--stacks", default="openmpi mpich", help='such as "openmpi mpich"')
    parser.add_argument("--patterns", nargs="+", default=[], metavar="PATTERN")
    parser.add_argument("--minutes", type=float, default=MINUTES)
    parser.add_argument("--runs", type=int, metavar="N", help="of each stack, if that ends sooner")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--fs", nargs="+", choices=("ram", "disk"), default=["ram", "disk"])
    parser.add_argument("--jobs", type=int, default=1, help="runs at once")
    parser.add_argument("--out", type=Path, metavar="DIR")
    parser.add_argument("--anew", action="store_true", help="forget the runs that DIR has")
    parser.add_argument("--kernels", default="", metavar="DIR",
                        help="kernels that are built; {stack} is its name")  # fmt: skip
    parser.add_argument("--check", type=Path, metavar="FILE", help="a certificate")
    return parser.parse_args(words)


def stacks_of(names: str, patterns: list[str], built: str) -> list[Candidate]:
    """Those that are here; what is not is said by name."""
    found = []
    for name in names.split():
        try:
            stack = prepare(name, built)
        except (NotHere, ConfigError) as error:
            say(f"left out: {error}")
            continue
        calls = [call for call in stack.calls if not patterns or call.pattern in patterns]
        if calls:
            found.append(replace(stack, calls=calls))
    return found


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def about(stacks: list[Candidate], seed: int, places: dict[str, Path]) -> dict[str, Any]:
    """What all runs have in common, for the certificate."""
    return {
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d"),
        "seeds": [seed],
        "machine": f"{platform.system()} {platform.release()}, {local.CORES} cores, "
        f"load {os.getloadavg()[0]:.0f} at the start",
        "fs": {name: local.mount_of(path)["type"] for name, path in places.items()},
        "stacks": {
            stack.name: {
                "versions": dict(stack.versions),
                "most_processes": max(stack.counts),
                "limit": stack.why,
                "calls": len(stack.calls),
                "settings": {
                    name_of(one): {
                        "hints": hints_of(one, stack.is_ompio), "variables": variables_of(one),
                    }
                    for one in stack.settings
                },
            }
            for stack in stacks
        },
    }  # fmt: skip


def keep_about(file: Path, new: dict[str, Any]) -> None:
    """With what earlier calls said, of stacks that are not run now, and of seeds."""
    if file.is_file():
        old = json.loads(file.read_text())
        for name, facts in new["stacks"].items():  # --patterns leaves some out
            facts["calls"] = max(facts["calls"], old["stacks"].get(name, facts)["calls"])
        new["stacks"] = old["stacks"] | new["stacks"]
        new["seeds"] = sorted({*old["seeds"], *new["seeds"]})
    write_whole(file, json.dumps(new, indent=1) + "\n")


def check(runs: session.Runs, folder: Path, known: certificate.Certificate, file: Path) -> int:
    """Is anything not right that the certificate does not name?"""
    said = certificate.news(certificate.judge(folder), known)
    for line in said.notes:
        print(line)
    for line in said.new:
        print(f"NEW: {line}")
    print(f"{len(runs.records)} runs; not right and not in {file}: {len(said.new)}")
    return 1 if said.new or not runs.records else 0


def main(words: list[str] | None = None) -> int:
    options = parse(words)
    folder = options.out or output() / "certificate"
    known = None
    try:
        if options.check:
            known = certificate.parse(json_file.read(options.check, "certificate"))
    except (AnalysisError, json_file.Unreadable) as error:
        say(f"iogauge.measure.certify: {options.check}: {error}")
        return 2
    stacks = stacks_of(options.stacks, options.patterns, options.kernels)
    if not stacks:
        say("iogauge.measure.certify: none of these stacks is here, or has this pattern")
        return 2
    listed = {name: Path(entry["path"]) for name, entry in _places().items()}
    places = {name: listed[name] for name in options.fs}
    for place in (folder, *places.values()):
        place.mkdir(parents=True, exist_ok=True)
    file = folder / certificate.RUNS
    lock = (folder / "lock").open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        say(
            f"iogauge.measure.certify: somebody else makes runs in {folder}; right is another --out"
        )
        return 2
    if options.anew:
        file.unlink(missing_ok=True)
    runs = session.Runs.of(file)
    keep_about(folder / certificate.ABOUT, about(stacks, options.seed, places))
    had = len(runs.records)
    say(
        f"{', '.join(stack.name for stack in stacks)}: at most {options.minutes:g} minutes, about "
        f"{options.minutes * 60 / RUN_SECONDS:.0f} runs, a few MB each on {', '.join(places)}; "
        f"{had} runs are there already"
    )
    end = time.monotonic() + 60 * options.minutes
    try:
        with Bar("certify") as bar:
            limits = session.Limits(end, options.runs, options.jobs)
            session.run(stacks, places, options.seed, runs, limits, bar)
    except KeyboardInterrupt:
        say("ended by a signal: what was run is kept")
    say(f"{len(runs.records) - had} runs were made; {file}")
    if known:
        return check(runs, folder, known, options.check)
    print(certificate_text.short(certificate.judge(folder)))
    return 0


def _places() -> dict[str, dict[str, str]]:
    (system,) = local.site_configuration["systems"]
    places: dict[str, dict[str, str]] = system["partitions"][0]["extras"]["filesystems"]
    return places


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    raise SystemExit(main())
