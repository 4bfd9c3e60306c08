# SPDX-License-Identifier: BSD-3-Clause
"""What is tried: every pattern with every method and mode that `iokernel --list` says go together,
and for each the faults of the calls that it makes. Which call, on which process: by the seed."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from iogauge.measure import kernels
from iogauge.measure.iokernel import Stack
from tests.launch import launch_words
from tests.selftest.injector import FAULTS, Plan

# Small and uneven; a pattern that is not here runs with its defaults.
SMALL: Mapping[str, tuple[str, ...]] = {
    "s3d": ("--grid", "13x11x7"),
    "ior": ("-b", "3k", "-t", "1k", "-C"),
    "ramses-amr": ("--size", "8"),
    "ramses-hydro": ("--size", "8"),
    "metadata": ("--files", "3"),
    "cgns-structured": ("--zone", "5x4x3"),
    "cgns-unstructured": ("--elements", "50"),
    "weather": ("--grid", "13x11x3", "--arrays", "3"),
}
PROCESSES = 3
# The guard needs its time to see that nothing moves: once for each method is enough.
SLOW = ("stop",)


@dataclass(frozen=True)
class Subject:
    """One pattern through one method and mode, on one stack."""

    stack: str
    program: Path
    pattern: str
    method: str
    mode: str | None = None
    inner: str | None = None
    processes: int = PROCESSES
    sizes: tuple[str, ...] = ()

    @property
    def how(self) -> str:
        return ":".join(word for word in (self.method, self.mode or self.inner) if word)

    @property
    def name(self) -> str:
        return f"{self.stack}-{self.pattern}-{self.how.replace(':', '-')}"

    def words(self, folder: Path) -> list[str]:
        words = [self.pattern, *self.sizes, "--method", self.method]
        words += ["--mode", self.mode] if self.mode else []
        words += ["--inner", self.inner] if self.inner else []
        return [*words, "--dir", str(folder)]

    def command(
        self, folder: Path, *more: str, variables: Mapping[str, str] | None = None
    ) -> list[str]:
        """`variables`: of its processes, not of the launcher."""
        words = [*launch_words(self.stack), "-n", str(self.processes)]
        if variables:
            words += ["env", *(f"{name}={value}" for name, value in variables.items())]
        return [*words, str(self.program), *self.words(folder), *more]


@dataclass(frozen=True)
class Case:
    """One fault in one subject. `traced`: under the embedded recorder as well."""

    subject: Subject
    plan: Plan
    traced: bool = False

    @property
    def name(self) -> str:
        return f"{self.subject.name} {self.plan.kind}"


def subjects(stack: str, program: Path) -> list[Subject]:
    """All that move data."""
    listed = Stack.of(kernels.environ(stack), program).listing()
    methods = {entry["name"]: entry for entry in listed["methods"]}
    alone = {mode["name"] for mode in listed["modes"] if mode["one_process"]}
    behind = [m["name"] for m in methods.values() if m["writes_alone"] and not m["moves_nothing"]]
    found = []
    for pair in listed["cross"]:
        method = methods[pair["method"]]
        if not pair["ok"] or method["moves_nothing"]:
            continue
        held = {p["method"] for p in listed["cross"] if p["pattern"] == pair["pattern"] and p["ok"]}
        inners: list[str | None] = [None]
        if "inner" in method["options"]:
            inners = [name for name in behind if name in held]
        for mode in method["modes"] or [None]:
            processes = 1 if mode in alone else PROCESSES
            found += [
                Subject(
                    stack,
                    program,
                    pair["pattern"],
                    pair["method"],
                    mode,
                    inner,
                    processes,
                    SMALL.get(pair["pattern"], ()),
                )
                for inner in inners
            ]
    return found


Counts = Mapping[str, Mapping[int, int]]


def plan_for(
    call: str, fault: str, counts: Counts, processes: int, chance: random.Random
) -> Plan | None:
    """A fault in a call that is made; None where none is made."""
    made = counts.get(call, {})
    if not made or (fault in SLOW and processes == 1):
        return None
    # A job that is stopped as a whole is not hung: somebody has suspended it. And where nobody can
    # remove a file, nobody cleans up.
    one = fault in SLOW or call == "unlink"
    rank = chance.choice([*made, *([] if one else [None])])
    most = max(made.values()) if rank is None else made[rank]
    return Plan(call, fault, chance.randint(1, most), 1, rank, chance.randint(1, 10**6))


def cases(counted: Iterable[tuple[Subject, Counts]], seed: int) -> list[Case]:
    """In an order in which any beginning has all methods and faults: first each of them once, with
    one pattern, then once more with another one."""
    groups: dict[tuple[str, str, str], list[Case]] = defaultdict(list)
    for subject, counts in counted:
        for call, faults in FAULTS.items():
            for fault in faults:
                chance = random.Random(f"{seed} {subject.name} {call} {fault}")
                plan = plan_for(call, fault, counts, subject.processes, chance)
                if plan:
                    one = Case(subject, plan, chance.random() < 0.25)
                    groups[subject.stack, subject.how, plan.kind].append(one)
    return list(_in_rounds(groups.values(), random.Random(seed)))


def one_of_each(subjects: Sequence[Subject], seed: int) -> list[Subject]:
    """Each method and mode with one pattern, and with one inner method."""
    mixed = random.Random(seed).sample(subjects, len(subjects))
    return list({(s.method, s.mode): s for s in mixed}.values())


def sample(planned: Sequence[Case], most: int) -> list[Case]:
    """So many, with all faults and all methods as evenly as can be."""
    left = list(planned)
    chosen: list[Case] = []
    faults: Counter[str] = Counter()
    hows: Counter[str] = Counter()
    while left and len(chosen) < most:
        best = min(left, key=lambda c: (faults[c.plan.kind], hows[c.subject.how]))
        left.remove(best)
        chosen.append(best)
        faults[best.plan.kind] += 1
        hows[best.subject.how] += 1
    return chosen


def _in_rounds(groups: Iterable[list[Case]], chance: random.Random) -> Iterator[Case]:
    mixed = [chance.sample(group, len(group)) for group in groups]
    for number in range(max((len(group) for group in mixed), default=0)):
        round_ = [
            group[number]
            for group in mixed
            if number < len(group) and (number == 0 or group[0].plan.fault not in SLOW)
        ]
        yield from chance.sample(round_, len(round_))
