# SPDX-License-Identifier: BSD-3-Clause
"""Faults without a library: a file system that is full or read-only, a directory that goes away."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from tests.selftest.cases import Subject
from tests.selftest.gate import Gate
from tests.selftest.run import PATIENCE, Outcome, Place

SMALL = "64k"  # bytes of a file system that is too small
OPTIONS = ("--no-space-check", "--fsync", "--patience", str(PATIENCE))
# More than SMALL; a pattern that is not here is not tried.
LARGER = {"s3d": ("--grid", "32x32x32"), "cgns-structured": ("--zone", "40x40x40")}


class CannotMount(Exception):
    """Why, in one line."""


@contextmanager
def mounted(folder: Path, options: str) -> Iterator[None]:
    """A tmpfs; only root may."""
    command = ["mount", "-t", "tmpfs", "-o", options, "iogauge", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CannotMount(done.stderr.strip() or f"mount: exit status {done.returncode}")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], capture_output=True, check=False)


def why_not() -> str | None:
    """Why no file system can be mounted here, or None."""
    if os.geteuid():
        return "a file system can be mounted by root only"
    return None if shutil.which("mount") else "mount is not installed"


def _run(
    place: Place, subject: Subject, *more: str, variables: Mapping[str, str] | None = None
) -> Outcome:
    larger = replace(subject, sizes=LARGER[subject.pattern])
    words = [*OPTIONS, "--json", str(place.document), *more]
    return place.run(larger.command(place.data, *words, variables=variables))


def one_of_each(subjects: Iterable[Subject]) -> list[Subject]:
    """Each method and mode once, with the first pattern that it can hold."""
    chosen: dict[str, Subject] = {}
    for pattern in LARGER:
        for subject in subjects:
            if subject.pattern == pattern:
                chosen.setdefault(subject.how, subject)
    return list(chosen.values())


def full(place: Place, subject: Subject) -> Outcome:
    with mounted(place.data, f"size={SMALL}"):
        return _run(place, subject)


def read_only(place: Place, subject: Subject) -> Outcome:
    with mounted(place.data, "ro"):
        return _run(place, subject)


def goes_away(place: Place, subject: Subject) -> Outcome:
    """The folder is renamed when the first file is in it: what is open goes on, names do not."""
    gate = Gate(place.library, place.data)

    def take_away() -> None:
        place.data.rename(place.base / "away")

    with gate.then(take_away):
        outcome = _run(place, subject, "--repeat", "3", variables=gate.variables)
    # What was made before the folder went cannot be found by any name.
    outcome.left = []
    return outcome


FAULTS: dict[str, Callable[[Place, Subject], Outcome]] = {
    "full": full,
    "read-only": read_only,
    "goes-away": goes_away,
}
