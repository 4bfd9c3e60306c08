# SPDX-License-Identifier: BSD-3-Clause
"""The kinds of tests of a claim; references/claims.yaml says what each asks."""

import functools
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..columns import columns
from ..statistics import interval
from ..store import database as store
from ..store.database import Where
from ..store.queries import query
from . import references
from .compare_runs import pairs
from .overall import speeds
from .samples import speedup
from .selection import Group, case_columns, groups, keys_condition, with_stack

Test = Mapping[str, Any]

FEWEST_POINTS, LEAST_SPAN = 3, 4.0  # of a growth: sizes, and largest over smallest


class Place(NamedTuple):
    """Where a case ran; `cores` is None if unknown."""

    text: str
    processes: int
    cores: int | None

    @property
    def crowded(self) -> bool:
        """Whether processes shared cores: then the run measures the scheduler."""
        return self.cores is not None and self.processes > self.cores


class Stated(NamedTuple):
    number: str
    origin: str


@dataclass(frozen=True)
class Finding:
    """One case: the interval, and whether the claim `holds`: None if the interval does not decide,
    if processes shared cores, or if the claim is about more processes (`scale`)."""

    holds: bool | None
    what: str
    value: float
    low: float
    high: float
    place: Place
    published: Stated | None = None
    scale: int = 0


@dataclass(frozen=True)
class Runs:
    """All runs that match `where`, and a small table of their cases that is queried often. Made
    once for all claims. `quantities`: all that any claim needs."""

    db: Any
    where: Where
    quantities: tuple[str, ...]

    @functools.cached_property
    def cases(self) -> str:
        name = f"cases_{uuid.uuid4().hex}"
        marks = ", ".join("?" for _ in self.quantities)
        right = self.where.also(RIGHT).also(f"quantity IN ({marks})", *self.quantities)
        self.db.execute(
            f"CREATE TEMP TABLE {name} AS SELECT DISTINCT * EXCLUDE ({', '.join(NOT_OF_CASES)}) "
            f"FROM records WHERE {right.sql}",
            right.values,
        )
        return name

    def most_processes(self, where: Where) -> int:
        sql = f"SELECT max(processes) FROM {self.cases} WHERE {where.sql}"
        return self.db.execute(sql, where.values).fetchone()[0] or 0


ASKED = ("quantity", "part", "of")  # keys of a test that name a quantity
RIGHT = "verdict = 'verified' AND NOT is_peak"  # runs that count for claims

# Columns of a single run, or unused by claims.
NOT_OF_CASES = columns("of_single_runs")


class Lack(NamedTuple):
    """What a test lacks. `has_runs`: both sides have runs, but not the kind it needs."""

    text: str
    has_runs: bool = True


Found = tuple[list[Finding], list[Lack]]  # what is missing, if there is no finding


def _judged(test: Test, ends: tuple[float, float, float], place: Place, what: str) -> Finding:
    """Compare an interval, (value, low, high), with what the test expects."""
    value, low, high = ends
    above = test["expect"].get("above", -float("inf"))
    below = test["expect"].get("below", float("inf"))
    holds = True if low > above and high < below else None
    if high < above or low > below:
        holds = False
    if place.crowded:
        holds = None
    return Finding(holds, what, value, low, high, place, published(test))


def _chosen(where: Where, test: Test, needs: Mapping[str, Any]) -> Where:
    sql, values = keys_condition(test["where"])
    where = where.also(sql, *values).also(RIGHT)
    where = where.also("processes >= ?", needs["processes"] if test["kind"] != "growth" else 1)
    for key in UNFIT:
        where = _without(where, key, needs)
    return where


# For each key of `needs` that excludes runs: its SQL condition, and a description. Values of
# libraries_not are regular expressions, matched against "cgns 3.4.0, hdf5 1.10.8, ...".
UNFIT = {
    "fs_type_not": ("fs_type <> ?", "on a file system that is not"),
    "libraries_not": ("NOT regexp_matches(libraries, ?)", "with libraries that are not"),
}


def _without(where: Where, key: str, needs: Mapping[str, Any]) -> Where:
    for unfit in needs.get(key, []):
        where = where.also(UNFIT[key][0], unfit)
    return where


def _absent(runs: Runs, test: Test, needs: Mapping[str, Any]) -> Lack | None:
    """The first need that no case meets."""
    quantity = test["part"] if "part" in test else test["quantity"]
    where = Where("quantity = ?", [quantity])
    sides = [test[name] for name in ("a", "b") if name in test] or [{}]
    for side in sides:
        keys = {**test["where"], **side}
        sql, values = keys_condition(keys)
        mine = where.also(sql, *values)
        wanted = " ".join(f"{key}={value}" for key, value in keys.items())
        most = runs.most_processes(mine)
        if not most:
            return Lack(f"runs of {wanted}", has_runs=False)
        if most < needs["processes"]:
            return Lack(f"{needs['processes']} processes of {wanted}, there are {most}")
        for key, (_, words) in UNFIT.items():
            mine = _without(mine, key, needs)
            if not runs.most_processes(mine):
                return Lack(f"{wanted} {words} {' or '.join(needs[key])}")
    return None


def _few(needs: Mapping[str, Any]) -> Lack:
    return Lack(f"{needs['samples']} alternating jobs of each in the same case")


def _place(some: Sequence[Group]) -> Place:
    """Where these groups ran; only their numbers of processes differ."""
    most = max(some, key=lambda group: int(group.about["processes"]))
    least = min(int(group.about["processes"]) for group in some)
    system, _, fs, stack = most.case[:4]
    processes, cores = most.about["processes"], most.about["cores"]
    count = f"{least} to {processes}" if least < processes else f"{processes}"
    where = f"{system} {fs} ({most.about['fs_type']}) {stack}"
    return Place(f"{where}, {count} processes", processes, cores)


def _sides(db: Any, where: Where, test: Test) -> list[tuple[Group, Group]]:
    a, b = test["a"], test["b"]
    with_mode = any(":" in side.get("method", "") for side in (a, b))
    sides = [keys_condition(a), keys_condition(b)]
    by = with_stack(db, where, sides, list(dict.fromkeys([*a, *b])))
    columns = case_columns(by, with_mode)
    return pairs(groups(db, where, [test["quantity"]], sides, columns))


def judge_ratio(runs: Runs, test: Test, needs: Mapping[str, Any]) -> Found:
    """Speed of b over speed of a, in each case that has both."""
    if absent := _absent(runs, test, needs):
        return [], [absent]
    findings = []
    for a, b in _sides(runs.db, _chosen(runs.where, test, needs), test):
        found = speedup(speeds(a), speeds(b))
        if found.low is not None and found.high is not None:
            what = f"{_name(test['b'])} over {_name(test['a'])}, {test['quantity']}:"
            ends = (found.value, found.low, found.high)
            findings.append(_judged(test, ends, _place([a, b]), what))
    return findings, [] if findings else [_few(needs)]


def _name(side: Mapping[str, Any]) -> str:
    return " ".join(str(value) for value in side.values())


def judge_share(runs: Runs, test: Test, needs: Mapping[str, Any]) -> Found:
    """One quantity as a share of another in the same repeat; a job is one sample."""
    if absent := _absent(runs, test, needs):
        return [], [absent]
    chosen = _chosen(runs.where, test, needs)
    values = [*chosen.values, test["part"], test["of"]]
    found = store.rows(runs.db, query("share", chosen=chosen.sql), values)
    findings = []
    for row in found:
        found_part = interval.of_median(row["parts"], in_turn=True)
        if found_part.low is not None and found_part.high is not None:
            there = f"{row['system']} {row['fs']} ({row['fs_type']}) {row['stack']}"
            call = ":".join(filter(None, (row["method"], row["mode"])))
            about = ", ".join(filter(None, (row["pattern"], row["scale"], call, row["variant"])))
            text = f"{there}, {about}, {row['processes']} processes"
            what = f"{test['part']} of {test['of']}:"
            three = (found_part.value, found_part.low, found_part.high)
            place = Place(text, row["processes"], row["cores"])
            findings.append(_judged(test, three, place, what))
    return findings, [] if findings else [_few(needs)]


def judge_growth(runs: Runs, test: Test, needs: Mapping[str, Any]) -> Found:
    """The exponent of a quantity (with a and b: of the speed ratio a/b) in a size."""
    if _absent(runs, test, {**needs, "processes": 1}):
        return [], _lacks_of_growth(runs, test, needs)
    chosen = _chosen(runs.where, test, needs)
    along = test["along"]
    size = (
        f'"{along}"'
        if along in store.SCHEMA
        else f"regexp_extract(variant, '(?:^|, ){along}=([^,]*)', 1)"
    )
    columns = case_columns([along, *test.get("a", {})], ":" in str(test.get("a", {}).get("method")))
    sides = [keys_condition(test[name]) for name in ("a", "b") if name in test] or [("true", [])]
    points: dict[tuple[Any, ...], dict[float, dict[int, Group]]] = {}
    sized = chosen.also(f"TRY_CAST({size} AS DOUBLE) > 0")
    for value in runs.db.execute(
        f"SELECT DISTINCT CAST({size} AS DOUBLE) FROM records WHERE {sized.sql} ORDER BY 1",
        sized.values,
    ).fetchall():
        at = sized.also(f"CAST({size} AS DOUBLE) = ?", value[0])
        for group in groups(runs.db, at, [test["quantity"]], sides, columns):
            if len(group.jobs) >= needs["samples"]:
                points.setdefault(group.case, {}).setdefault(value[0], {})[group.side] = group
    findings = []
    for by_size in points.values():
        full = {x: of for x, of in by_size.items() if len(of) == len(sides)}
        if len(full) < FEWEST_POINTS or max(full) / min(full) < LEAST_SPAN:
            continue
        if along == "processes" and max(full) < needs["processes"]:
            continue
        slopes = _slopes([(x, [of[i] for i in range(len(sides))]) for x, of in full.items()])
        exponent = interval.of_median(slopes, in_turn=True)
        if exponent.low is None or exponent.high is None:
            continue
        place = _place([group for of in full.values() for group in of.values()])
        what = f"exponent of {test['quantity']} in {along}:"
        ends = (exponent.value, exponent.low, exponent.high)
        findings.append(_judged(test, ends, place, what))
    return findings, [] if findings else _lacks_of_growth(runs, test, needs)


def _lacks_of_growth(runs: Runs, test: Test, needs: Mapping[str, Any]) -> list[Lack]:
    first = _absent(runs, test, needs) or _few(needs)
    sizes = (
        f"{FEWEST_POINTS} numbers of {test['along']}, the largest {LEAST_SPAN:g} times the smallest"
    )
    return [Lack(sizes), first] if first.has_runs else [first]


def _slopes(points: Sequence[tuple[float, list[Group]]]) -> list[float]:
    """The least-squares slope of log(y) over log(x): from the first job of each size, from the
    second, and so on. With two groups at each x, y is their ratio."""
    x = np.log([size for size, _ in points])
    logs = [[np.log(list(group.jobs.values())) for group in of] for _, of in points]
    jobs = min(len(values) for of in logs for values in of)
    y = np.array([of[0][:jobs] - of[1][:jobs] if len(of) == 2 else of[0][:jobs] for of in logs])
    centred = x - x.mean()
    return [float(slope) for slope in centred @ y / (centred @ centred)]


def published(test: Test) -> Stated | None:
    if "published" not in test:
        return None
    numbers = [n for n in references.published() if n.id == test["published"]]
    if numbers[0].quantity == "speed_ratio" and "b" in test:  # printed as a ratio
        numbers = [n for n in numbers if n.parameters.items() <= test["b"].items()] or numbers[:1]
    if not ("a" in test and "b" in test) or len(numbers) < 2:
        first = numbers[0]
        high = f" to {first.high:g}" if first.high else ""
        return Stated(f"{first.value:g}{high}", f"{first.system}; {first.conditions}")
    values = []
    for name in ("b", "a"):
        keys = test[name]
        known = [(n, {**n.parameters, **n.run}) for n in numbers]
        fits = [n for n, of in known if all(of.get(key) == keys[key] for key in keys)]
        if not fits:
            return None
        values.append(fits[0].value)
    value = values[0] / values[1] if numbers[0].unit != "s" else values[1] / values[0]
    return Stated(f"{value:.3g}", f"{numbers[0].system}; {numbers[0].conditions}")


class Kind(NamedTuple):
    needs: tuple[str, ...]
    judge: Callable[[Runs, Test, Mapping[str, Any]], Found]


KINDS = {
    "ratio": Kind(("quantity", "a", "b"), judge_ratio),
    "share": Kind(("part", "of"), judge_share),
    "growth": Kind(("quantity", "along"), judge_growth),
}
