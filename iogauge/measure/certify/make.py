# SPDX-License-Identifier: BSD-3-Clause
"""Many small runs of stacks, into a folder that one caller at a time has: `iogauge certify`."""

from __future__ import annotations

import fcntl
import json
import os
import platform
import sys
import time
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from reframe.core.exceptions import ConfigError

from iogauge.analysis.errors import UsageError
from iogauge.analysis.judge import certificate
from iogauge.common.files import write_whole
from iogauge.common.progress import Bar
from iogauge.measure.certify import session
from iogauge.measure.certify.settings import hints_of, name_of, variables_of
from iogauge.measure.certify.stacks import Candidate, NotHere, prepare
from site_configs import local

RUN_SECONDS = 1.5  # what a run takes, about, on two cores


@dataclass(frozen=True)
class Wanted:
    """`runs`: of each stack, if that ends sooner than `minutes`; `kernels`: a folder of programs
    that are built, {stack} is its name."""

    stacks: list[str]
    patterns: list[str]
    fs: list[str]
    minutes: float
    runs: int | None
    jobs: int
    seed: int
    kernels: str
    anew: bool  # forget the runs that are there


def stacks_of(names: list[str], patterns: list[str], built: str) -> list[Candidate]:
    """Those that are here; what is not is said by name."""
    found = []
    for name in names:
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


def make(wanted: Wanted, folder: Path) -> list[Any]:
    """Make runs until the time is over; all that the folder has then. Raises UsageError."""
    stacks = stacks_of(wanted.stacks, wanted.patterns, wanted.kernels)
    if not stacks:
        raise UsageError("none of these stacks is here, or has this pattern")
    listed = {name: Path(entry["path"]) for name, entry in _places().items()}
    places = {name: listed[name] for name in wanted.fs}
    for place in (folder, *places.values()):
        place.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UsageError(f"another process adds runs to {folder}: name another --out") from None
        return _make(wanted, folder, stacks, places)


def _make(
    wanted: Wanted, folder: Path, stacks: list[Candidate], places: dict[str, Path]
) -> list[Any]:
    file = folder / certificate.RUNS
    if wanted.anew:
        file.unlink(missing_ok=True)
    runs = session.Runs.of(file)
    keep_about(folder / certificate.ABOUT, about(stacks, wanted.seed, places))
    had = len(runs.records)
    say(
        f"{', '.join(stack.name for stack in stacks)}: at most {wanted.minutes:g} minutes, about "
        f"{wanted.minutes * 60 / RUN_SECONDS:.0f} runs, a few MB each on {', '.join(places)}; "
        f"{had} runs are there already"
    )
    limits = session.Limits(time.monotonic() + 60 * wanted.minutes, wanted.runs, wanted.jobs)
    try:
        with Bar("certify") as bar:
            session.run(stacks, places, wanted.seed, runs, limits, bar)
    except KeyboardInterrupt:
        say("ended by a signal: what was run is kept")
    say(f"{len(runs.records) - had} runs were made; {file}")
    return list(runs.records)


def _places() -> dict[str, dict[str, str]]:
    (system,) = local.site_configuration["systems"]
    places: dict[str, dict[str, str]] = system["partitions"][0]["extras"]["filesystems"]
    return places
