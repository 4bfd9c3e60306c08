# SPDX-License-Identifier: BSD-3-Clause
"""A certificate: what the runs of `iogauge certify` say about each stack and setting
(docs/how-to/certify-a-stack.md). A setting that names fewer factors stands for all that contain
it."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from iogauge.common import json_file, schemas

from ..errors import NothingFoundError

SCHEMA = "iogauge.certificate/1"
ABOUT, RUNS = "about.json", "runs.jsonl"
# Identifies a run in RUNS.
KEY = ("stack", "pattern", "method", "mode", "options", "setting", "processes", "fs", "seed")
RIGHT, WRONG = "right", "wrong"
LATE = "late"  # a run that was moving but had to be ended: no evidence either way
BAD = (WRONG, "crash", "hang", "error")
OUTCOMES = (RIGHT, *BAD, LATE)
NONE = "none"  # the setting of a run that bypasses MPI-IO
DEFAULT = "default"
REPEATED = ("again", "told")  # why a case was repeated with many seeds
IO = "io"  # the factor that selects another MPI-IO, with other factors
CERTIFIED = 50
SURE = 0.05  # chance of only right runs if it failed as often as its neighbour

Row = dict[str, Any]


@dataclass(frozen=True)
class Tried:
    """Runs with a setting, or with any that contains it. `own`: runs with exactly this one."""

    setting: str
    runs: int
    bad: int
    own: int

    @property
    def certified(self) -> bool:
        return self.runs >= CERTIFIED and not self.bad


@dataclass(frozen=True)
class Fault:
    """One kind of failure with a setting. `runs` and `bad` count runs of the calls that failed;
    `again`: repeats of the same cases with other seeds; `patterns`: `bad`, `again_bad` and `again`
    by pattern."""

    setting: str
    kind: str
    runs: int
    bad: int
    calls: list[str]
    smallest: Row
    again: int = 0
    again_bad: int = 0
    instead: str = ""
    instead_runs: int = 0
    chance: float | None = None  # of as many right runs if `instead` failed as often
    patterns: dict[str, list[int]] = field(default_factory=dict)


@dataclass(frozen=True)
class StackRuns:
    name: str
    versions: dict[str, str]
    most_processes: int
    limit: str
    calls: int
    calls_tried: int
    settings: int
    settings_tried: int
    outcomes: dict[str, int]
    tried: list[Tried]
    faults: list[Fault]
    safe: str = ""
    hints: dict[str, str] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def runs(self) -> int:
        return sum(self.outcomes.values())

    @property
    def right(self) -> bool:
        return not self.faults


@dataclass(frozen=True)
class Certificate:
    date: str
    seeds: list[int]
    machine: str
    fs: dict[str, str]
    stacks: list[StackRuns]


@dataclass(frozen=True)
class News:
    new: list[str]
    notes: list[str]


def judge(folder: Path) -> Certificate:
    try:
        about = json_file.read(folder / ABOUT)
        rows = json_file.lines(folder / RUNS)
    except json_file.Unreadable as error:
        raise NothingFoundError(f"{folder}: no runs of a certificate ({error})") from None
    whole = [row for row in rows if isinstance(row, dict) and set(KEY) <= row.keys()]
    return of_runs(about, whole)


def of_runs(about: Mapping[str, Any], rows: Sequence[Row]) -> Certificate:
    by_stack = defaultdict(list)
    for row in rows:
        by_stack[row["stack"]].append(row)
    found = [
        _stack(name, facts, by_stack[name])
        for name, facts in about["stacks"].items()
        if by_stack[name]
    ]
    return Certificate(
        str(about["date"]),
        [*map(int, about["seeds"])],
        str(about["machine"]),
        dict(about["fs"]),
        found,
    )


def factors(setting: str) -> dict[str, str]:
    return dict(word.split("=", 1) for word in setting.split() if "=" in word)


def holds(setting: str, part: str) -> bool:
    """Does a setting contain all factors of `part`, with the same MPI-IO? `default`: itself."""
    if NONE in (setting, part) or DEFAULT in (setting, part):
        return setting == part
    whole, some = factors(setting), factors(part)
    return whole.get(IO) == some.get(IO) and some.items() <= whole.items()


def distance(one: str, other: str) -> int:
    first, second = factors(one), factors(other)
    return sum(first.get(key) != second.get(key) for key in first.keys() | second.keys())


def call_of(row: Row) -> str:
    return " ".join(word for word in (row["pattern"], row["method"], row["mode"]) if word)


def _bad(rows: Iterable[Row]) -> int:
    return sum(row["outcome"] in BAD for row in rows)


def _stack(name: str, facts: Mapping[str, Any], rows: list[Row]) -> StackRuns:
    by_setting = defaultdict(list)
    for row in rows:
        if row["outcome"] != LATE:
            by_setting[row["setting"]].append(row)
    tried = [_tried(part, by_setting) for part in [*facts["settings"], NONE]]
    tried = [one for one in tried if one.runs]
    counts = Counter(row["outcome"] for row in rows)
    safe = _safe(tried, {row["setting"] for row in rows if row["outcome"] == WRONG})
    settings = facts["settings"].get(safe, {"hints": {}, "variables": {}})
    return StackRuns(
        name,
        dict(facts["versions"]),
        facts["most_processes"],
        facts["limit"],
        facts["calls"],
        len({call_of(row) for row in rows}),
        len(facts["settings"]),
        len(by_setting.keys() - {NONE}),
        {kind: counts[kind] for kind in OUTCOMES},
        tried,
        _faults(by_setting),
        safe,
        settings["hints"],
        settings["variables"],
    )


def _tried(part: str, by_setting: Mapping[str, list[Row]]) -> Tried:
    rows = [row for setting, of in by_setting.items() if holds(setting, part) for row in of]
    return Tried(part, len(rows), _bad(rows), len(by_setting.get(part, [])))


def _safe(tried: Sequence[Tried], wrong: Iterable[str]) -> str:
    """Empty if the default is certified; else the certified setting with the most runs. If any
    setting of the same MPI-IO wrote wrong bytes, the default may pick it."""
    found = [one for one in tried if one.certified and one.setting != NONE]
    chancy = any(IO not in factors(one) for one in wrong if one != NONE)
    found = [one for one in found if one.setting != DEFAULT or not chancy]
    if any(one.setting == DEFAULT for one in found):
        return DEFAULT
    return max(found, key=lambda one: one.runs).setting if found else ""


def _size(row: Row) -> tuple[int, int]:
    return row["processes"], row["size"]


def _faults(by_setting: Mapping[str, list[Row]]) -> list[Fault]:
    found = []
    for setting, rows in by_setting.items():
        for kind in BAD:
            bad = [row for row in rows if row["outcome"] == kind]
            if bad:
                found.append(_fault(setting, kind, bad, by_setting))
    return sorted(found, key=lambda one: (OUTCOMES.index(one.kind), -one.bad, one.setting))


def _fault(setting: str, kind: str, bad: list[Row], by_setting: Mapping[str, list[Row]]) -> Fault:
    calls = {call_of(row) for row in bad}
    cases = {_case(row) for row in bad}
    of_calls = [row for row in by_setting[setting] if call_of(row) in calls]
    again = [row for row in of_calls if row["why"] in REPEATED and _case(row) in cases]
    rate = _bad(again) / len(again) if again else None
    instead, runs = _instead(setting, calls, min(map(_size, bad)), by_setting)
    chance = (1 - rate) ** runs if rate is not None and runs else None
    return Fault(
        setting,
        kind,
        len(of_calls),
        len(bad),
        sorted(calls),
        min(bad, key=_size),
        len(again),
        _bad(again),
        instead,
        runs,
        chance,
        _patterns(bad, again),
    )


def _patterns(bad: list[Row], again: list[Row]) -> dict[str, list[int]]:
    failed = [row for row in again if row["outcome"] in BAD]
    counts = [Counter(row["pattern"] for row in rows) for rows in (bad, failed, again)]
    return {one: [of[one] for of in counts] for one in sorted(counts[0])}


def _case(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in KEY if name != "seed")


def _instead(
    setting: str, calls: set[str], least: tuple[int, int], by_setting: Mapping[str, list[Row]]
) -> tuple[str, int]:
    """The nearest setting always right in as many processes, and how often it ran."""
    found = []
    for other, rows in by_setting.items():
        alike = [row for row in rows if call_of(row) in calls and row["processes"] >= least[0]]
        if NONE not in (other, setting) and alike and not _bad(rows):
            found.append((distance(setting, other), -len(alike), other))
    if not found:
        return "", 0
    _, runs, other = min(found)
    return other, -runs


def parse(data: Any) -> Certificate:
    """Raises ValueError."""
    schemas.check(data, SCHEMA)
    try:
        stacks = []
        for one in data["stacks"]:
            tried = [Tried(**row) for row in one["tried"]]
            faults = [Fault(**row) for row in one["faults"]]
            stacks.append(StackRuns(**{**one, "tried": tried, "faults": faults}))
        return Certificate(data["date"], data["seeds"], data["machine"], data["fs"], stacks)
    except (KeyError, TypeError) as error:
        raise ValueError(f"an incomplete certificate: {error}") from None


def news(now: Certificate, known: Certificate) -> News:
    """What fails now although `known` certifies it. Notes: a new stack, version or setting; a known
    failure with one factor changed; a failure with an error message that no other seed repeats."""
    found = News([], [])
    before = {(one.name, one.versions.get("mpi")): one for one in known.stacks}
    for stack in now.stacks:
        of = before.get((stack.name, stack.versions.get("mpi")))
        if of is None:
            version = stack.versions.get("mpi", "of no known version")
            found.notes.append(
                f"{stack.name} ({version}) is not in the certificate of {known.date}: "
                "run `iogauge certify` with it"
            )
        for fault in stack.faults:
            text = f"{stack.name}, {fault.setting}: {fault.kind} in {fault.bad} of {fault.runs}: "
            text += str(fault.smallest.get("command", ""))
            came_once = fault.kind != WRONG and fault.again > 0 and not fault.again_bad
            is_new = of is not None and _promised(of, fault) and not came_once
            (found.new if is_new else found.notes).append(text)
    return found


def _promised(stack: StackRuns, fault: Fault) -> bool:
    certified = any(one.certified and holds(fault.setting, one.setting) for one in stack.tried)
    near = (one for one in stack.faults if distance(one.setting, fault.setting) <= 1)
    return certified and not any(
        one.kind == fault.kind and NONE not in {one.setting, fault.setting} for one in near
    )


def dump(certificate: Certificate) -> str:
    text = json.dumps({"schema": SCHEMA, **asdict(certificate)}, indent=1)
    return re.sub(r"\n(?: {5,}| {4}(?=[]}]))", " ", text) + "\n"
