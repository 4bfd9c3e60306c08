# SPDX-License-Identifier: BSD-3-Clause
"""The order of runs: shuffled decks, dealt out evenly, so that a short time samples everything. Run
`index` of a stack is always the same, so an interrupted plan can continue."""

import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from iogauge.analysis.judge.certificate import NONE

from .stacks import Call, Candidate, Setting, name_of

Item = TypeVar("Item")

OF_SHARED = "--layout"
REPEATS = 2
AGAIN = 4  # repeats of a failed case with other seeds
NEIGHBOURS = 3  # runs of each neighbouring setting


def _sizes() -> dict[str, tuple[tuple[str, ...], ...]]:
    """The lines of sizes.txt, by pattern."""
    text = Path(__file__).with_name("sizes.txt").read_text(encoding="utf-8")
    found: dict[str, tuple[tuple[str, ...], ...]] = {}
    for line in text.splitlines()[1:]:
        pattern, _, options = line.partition(": ")
        found[pattern] = (*found.get(pattern, ()), tuple(options.split()))
    return found


SIZES = _sizes()


@dataclass(frozen=True)
class How:
    options: tuple[str, ...]
    setting: Setting = field(hash=False)
    processes: int
    fs: str


@dataclass(frozen=True)
class Told:
    """A defect known upstream, with a case that shows it, which draws would seldom hit."""

    of: tuple[str, str, str]  # pattern, method, mode
    how: How
    avoided: tuple[Setting, ...] = ()  # avoided by these settings, as reported
    runs: int = 10


AMR = ("ramses-amr", "mpiio", "collective")
TOLD = (
    Told(
        AMR,
        How(("--size", "32"), {"aggregators": "2"}, 4, "disk"),
        ({"aggregators": "2", "sieving": "off"},),
    ),
    # The same by default: OMPIO uses an aggregator per 8 processes.
    Told(AMR, How(("--size", "64"), {}, 16, "disk"), ({"sieving": "off"},)),
    # More than 64 MiB per aggregator; each call writes a part of each row.
    Told(
        ("extents", "mpiio", "collective"),
        How(("--columns", "52428x3744x256"), {}, 4, "disk"),
        ({"sieving": "off"},),
    ),
)


@dataclass(frozen=True)
class PlannedRun(How):
    """One run. `why`: `plan`, `told`, or how it follows up a failure: `again`, `smaller`,
    `instead`."""

    stack: str
    call: Call
    seed: int
    why: str = "plan"

    @property
    def setting_name(self) -> str:
        return name_of(self.setting) if self.call.through_mpi_io else NONE

    @property
    def key(self) -> tuple[Any, ...]:
        """The run's identity, as in its record (KEY)."""
        call = self.call
        return (
            self.stack,
            call.pattern,
            call.method,
            call.mode,
            " ".join(self.options),
            self.setting_name,
            self.processes,
            self.fs,
            self.seed,
        )

    @property
    def cell(self) -> tuple[Any, ...]:
        """What fails together and is followed up once."""
        return (self.stack, self.call, self.setting_name)


def deck(items: Sequence[Item], seed: str) -> Iterator[Item]:
    draw = random.Random(seed)
    while True:
        yield from draw.sample(list(items), len(items))


def sizes(call: Call) -> Sequence[tuple[str, ...]]:
    """The sizes that apply to the call: the order of a shared file does not concern own files."""
    every = SIZES.get(call.pattern, ((),))
    return [options for options in every if not call.own_files or OF_SHARED not in options]


def rank(call: Call, options: tuple[str, ...]) -> int:
    """The rank of its size; sizes that only TOLD has rank last."""
    every = list(sizes(call))
    return every.index(options) if options in every else len(every)


def of_calls(stack: Candidate, seed: str) -> Iterator[Call]:
    """Calls through MPI-IO are four times as frequent as others."""
    through = deck([call for call in stack.calls if call.through_mpi_io], f"{seed} through")
    others = [call for call in stack.calls if not call.through_mpi_io]
    rest = deck(others, f"{seed} others")
    while True:
        for _ in range(4):
            yield next(through)
        if others:
            yield next(rest)


def told(stack: Candidate, fs: Sequence[str], seed: int) -> Iterator[PlannedRun]:
    """Known defects on a stack that may have them; their remedies twice as often."""
    for one in TOLD:
        how = one.how
        if not stack.is_ompio or how.processes not in stack.counts or how.fs not in fs:
            continue
        calls = [c for c in stack.calls if (c.pattern, c.method, c.mode) == one.of and not c.served]
        settings = [(how.setting, "told", one.runs)]
        settings += [(setting, "instead", 2 * one.runs) for setting in one.avoided]
        for call, (setting, why, runs) in itertools.product(calls, settings):
            for number in range(runs):
                seed_of_run = 1 + (seed * 1000003 - number) % 999983
                yield PlannedRun(
                    how.options, setting, how.processes, how.fs, stack.name, call, seed_of_run, why
                )


def cases(stack: Candidate, fs: Sequence[str], seed: int) -> Iterator[PlannedRun]:
    """The runs of a stack, endlessly; every other one is a known defect until those have run."""
    early = told(stack, fs, seed)
    base = f"{seed} {stack.name}"
    # The default, which most users have: a sixth of the runs, however many settings there are.
    defaults = [one for one in stack.settings if not one] * (len(stack.settings) // 6)
    settings = deck([*stack.settings, *defaults], f"{base} settings")
    counts, places = deck(stack.counts, f"{base} counts"), deck(fs, f"{base} fs")
    of_size: dict[tuple[str, bool], Iterator[tuple[str, ...]]] = {}
    for call in stack.calls:
        kind = (call.pattern, call.own_files)
        if kind not in of_size:
            of_size[kind] = deck(sizes(call), f"{base} {call.pattern}{' own' * call.own_files}")
    for index, call in enumerate(of_calls(stack, base)):
        setting = next(settings) if call.through_mpi_io else {}
        processes = 1 if call.one_process else next(counts)
        if call.served and processes < 2:
            processes = 2
        if processes > max(stack.counts):
            continue  # too few for a server and a client
        options = next(of_size[call.pattern, call.own_files])
        yield from itertools.islice(early, 1)
        seed_of_run = 1 + (seed * 1000003 + index) % 999983
        yield PlannedRun(options, setting, processes, next(places), stack.name, call, seed_of_run)


def neighbours(setting: Setting, known: Sequence[Setting]) -> list[Setting]:
    return [
        other
        for other in known
        if sum(setting.get(key) != other.get(key) for key in setting.keys() | other.keys()) == 1
        or (setting and not other)
    ]


def follow_ups(case: PlannedRun, stack: Candidate) -> list[PlannedRun]:
    """How often it fails, from which size and process count, and which single setting avoids it."""
    found = [replace(case, seed=case.seed + n, why="again") for n in range(1, AGAIN + 1)]
    smaller = [n for n in stack.counts if n < case.processes and (n > 1 or not case.call.served)]
    if not case.call.one_process:
        found += [replace(case, processes=n, why="smaller") for n in smaller]
    for options in sizes(case.call):
        if options == case.options:
            break
        found.append(replace(case, options=options, why="smaller"))
    if case.call.through_mpi_io:
        found += [
            replace(case, setting=other, seed=case.seed + n, why="instead")
            for other in neighbours(case.setting, stack.settings)
            for n in range(NEIGHBOURS)
        ]
    return found
