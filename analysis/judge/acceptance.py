# SPDX-License-Identifier: BSD-3-Clause
"""acceptance.yaml: the criteria that a machine must meet, and whether a session meets them."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from iogauge.common.text import counted, three

from ..columns import columns
from ..session.model import BANDWIDTHS
from ..statistics import bound_test
from ..statistics.bound_test import Decision, Limit, Samples
from ..store import database as store
from ..store.database import Where
from ..store.queries import query
from . import compare_runs, overall, references, samples, selection
from .yaml_file import YamlFile

LEVEL = 0.95
_OF_PEAK = tuple(BANDWIDTHS.values())
COLUMNS = columns("check")
_VERIFIED = "verdict = 'verified'"

Of = Literal["", "peak", "baseline", "runs"]
Row = dict[str, Any]
Found = tuple[Row, Samples | Decision]  # the table's row, and what decides it


@dataclass(frozen=True)
class Bound(Limit):
    """`value` is in the quantity's unit, or relative to `of`: the `peak` of the same job (`what`:
    fpp or shared), a learned `baseline` (its name), other `runs` (keys that differ)."""

    of: Of = ""
    what: Any = None

    def __str__(self) -> str:
        word = f"at {'least' if self.at_least else 'most'} {self.value:g}"
        if not self.of:
            return word
        named = self.what
        if isinstance(named, Mapping):
            named = " ".join(f"{key}={value}" for key, value in named.items())
        own = "the job's own " if self.of == "peak" else ""  # compare's is the session's
        return f"{word} of {own}{self.of} {named}"


@dataclass(frozen=True)
class Case:
    """`where`: --where keys with their allowed values. `jobs`, `repeats`: the fewest per case."""

    name: str
    where: Mapping[str, Sequence[str]]
    quantity: str
    bound: Bound
    jobs: int
    repeats: int


@dataclass(frozen=True)
class Acceptance:
    """`level`: the confidence of all verdicts together."""

    name: str
    level: float
    cases: tuple[Case, ...]


def read(path: Path) -> Acceptance:
    """Raises ReferenceFileError for a missing file, or with a mistake's line."""
    file = YamlFile(path, references.FOLDER / "acceptance.schema.json")
    data = file.data
    both = {name: data[name] for name in ("jobs", "repeats") if name in data}
    cases = [_case(file, i, {**both, **one}) for i, one in enumerate(data["cases"])]
    for i, one in enumerate(cases):
        if one.name in {other.name for other in cases[:i]}:
            raise file.error(["cases", i], f"a case {one.name!r} appears twice; give it a name")
    return Acceptance(data["name"], data.get("level", LEVEL), tuple(cases))


def _case(file: YamlFile, index: int, entry: Mapping[str, Any]) -> Case:
    ends = [name for name in ("at_least", "at_most") if name in entry]
    if len(ends) != 1:
        raise file.error(["cases", index], "expected at_least or at_most, one of them")
    ((of, what),) = entry.get("of", {"": None}).items()
    if of == "peak" and entry["quantity"] not in _OF_PEAK:
        wrong = f"of peak: expected {' or '.join(_OF_PEAK)}, found {entry['quantity']!r}"
        raise file.error(["cases", index, "quantity"], wrong)
    if of == "runs":
        what = {key: text(value) for key, value in what.items()}
    given = {key: v if isinstance(v, list) else [v] for key, v in entry["where"].items()}
    where = {key: list(map(text, values)) for key, values in given.items()}
    words = " ".join(f"{key}={','.join(values)}" for key, values in where.items())
    return Case(
        name=entry.get("name") or f"{words} {entry['quantity']}",
        where=where,
        quantity=entry["quantity"],
        bound=Bound(float(entry[ends[0]]), ends[0] == "at_least", of, what),
        jobs=entry.get("jobs", 1),
        repeats=entry.get("repeats", 1),
    )


def text(value: Any) -> str:
    """A value as the store's columns are compared: `true`, `16`."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def verdicts(
    db: Any, acceptance: Acceptance, session: Where, sites: Path = references.SITES
) -> list[Row]:
    """A row for each test case selected by `acceptance`. `session`: which runs; `sites`: the folder
    of learned baselines."""
    found = [one for case in acceptance.cases for one in _of(db, case, session, sites)]
    decided = iter(
        bound_test.decide([of for _, of in found if isinstance(of, Samples)], acceptance.level)
    )
    rows = []
    for row, of in found:
        decision = next(decided) if isinstance(of, Samples) else of
        why = decision.why
        if decision.needed:
            paired = isinstance(of, Samples) and of.pairs
            in_rounds = f"iogauge run --stack A,B --rounds {decision.needed}"
            why += f" ({in_rounds if paired else repeated(decision.needed)})"
        rows.append({**row, "verdict": decision.verdict, "why": why})
    return rows


def repeated(jobs: int) -> str:
    return f"iogauge run -- --repeat={jobs}"


def keys(acceptance: Acceptance) -> Iterator[tuple[str, str]]:
    for case in acceptance.cases:
        yield from ((case.name, key) for key in case.where)
        if case.bound.of == "runs":
            yield from ((case.name, key) for key in case.bound.what)


def _of(db: Any, case: Case, session: Where, sites: Path) -> list[Found]:
    failed = _failed(db, case, session)
    rest = _MEASURED[case.bound.of](db, case, session, sites)
    bad = {(row["test_case"], row["stack"]) for row, _ in failed}
    found = failed + [one for one in rest if (one[0]["test_case"], one[0]["stack"]) not in bad]
    if found:
        return found
    return [(_row(case, {}), Decision("missing", _skipped(db, case, session)))]


def _row(case: Case, about: Mapping[str, Any], **more: Any) -> Row:
    """`about`: the runs' columns in the store."""
    return {
        "case": case.name,
        **{name: about.get(name) for name in ("test_case", "system", "partition", *selection.CASE)},
        "quantity": case.quantity,
        "value": None,
        "unit": "",
        "bound": str(case.bound),
        "samples": "",
        **more,
    }


def _chosen(start: Where, keys: Mapping[str, Sequence[str]]) -> Where:
    for key, values in keys.items():
        start = start.key(key, values)
    return start if "is_peak" in keys else start.also("NOT is_peak")


def _jobs(db: Any, case: Case, session: Where, value: str, also: str = "") -> list[Row]:
    """The jobs of each test case, oldest first. `value`: SQL for one repeat's value (`p` is its
    ceiling); `also`: a condition on `p`."""
    chosen = _chosen(session.also(_VERIFIED), case.where)
    columns = ", ".join(f'v."{name}"' for name in selection.CASE)
    joined = f"JOIN c p ON v.session = p.session AND v.run = p.run AND v.repeat = p.repeat {also}"
    return store.rows(
        db,
        query(
            "accepted",
            chosen=chosen.sql,
            of_case=columns,
            value=value,
            joined=joined if also else "",
            case=", ".join(f'"{name}"' for name in selection.CASE),
        ),
        [*chosen.values, case.quantity],
    )


def _found(case: Case, job: Row, bound: Bound, unit: str, *, in_turn: bool = False) -> Found:
    values = job["found"]
    row = _row(
        case, job, value=statistics.median(values), unit=unit, samples=counted(len(values), "job")
    )
    short = _too_few_repeats(case, job["repeats"])
    return row, short or Samples(values, bound, in_turn=in_turn, jobs=case.jobs)


def _too_few_repeats(case: Case, repeats: int) -> Decision | None:
    if repeats >= case.repeats:
        return None
    why = f"a job with {repeats} repeats; {case.repeats} needed in each (-S repeats={case.repeats})"
    return Decision("not decided yet", why)


def _absolute(db: Any, case: Case, session: Where, _: Path) -> list[Found]:
    jobs = _jobs(db, case, session, "v.value")
    return [_found(case, job, case.bound, job["unit"]) for job in jobs]


def _of_peak(db: Any, case: Case, session: Where, _: Path) -> list[Found]:
    ceiling = f"ceiling_{case.bound.what}_{case.quantity.removesuffix('_bw')}"
    also = f"AND p.quantity = '{ceiling}' AND p.value > 0"
    jobs = _jobs(db, case, session, "v.value / p.value", also)
    return [_found(case, job, case.bound, "1", in_turn=True) for job in jobs]


def _of_baseline(db: Any, case: Case, session: Where, sites: Path) -> list[Found]:
    found: list[Found] = []
    for job in _jobs(db, case, session, "v.value"):
        expected = references.of_run({**job, "test": job["test_case"]}, case.quantity, sites)
        if references.baseline(job["system"], sites) != case.bound.what or not expected:
            named = references.site_file(job["system"], sites).name
            why = f"no baseline {case.bound.what!r} with this case in {named}"
            found.append((_row(case, job), Decision("missing", why)))
            continue
        bound = Bound(case.bound.value * expected.value, case.bound.at_least)
        row, of = _found(case, job, bound, job["unit"])
        found.append(({**row, "bound": f"{case.bound} ({three(bound.value)} {job['unit']})"}, of))
    return found


def _of_runs(db: Any, case: Case, session: Where, _: Path) -> list[Found]:
    """Speeds relative to other runs of the session; runs of the same round are paired."""
    others: Mapping[str, str] = case.bound.what
    both = [_chosen(Where("true"), where) for where in reversed(_both_wheres(case))]
    groups = selection.groups(
        db,
        session.also(_VERIFIED),
        [case.quantity],
        [(side.sql, side.values) for side in both],
        selection.case_columns(list(others), with_mode="mode" in others),
    )
    pairs = compare_runs.pairs(groups)
    with_base = {id(new) for _, new in pairs}
    repeats = _fewest_repeats(db, case, session, both)
    found = [_quotient(case, base, new, repeats) for base, new in pairs]
    for group in groups:
        if group.side == 1 and id(group) not in with_base:
            why = f"no run with {' '.join(f'{k}={v}' for k, v in others.items())} beside it"
            found.append((_row(case, _about(group)), Decision("missing", why)))
    return found


def _about(group: selection.Group) -> Row:
    return dict(zip(selection.CASE, group.case, strict=True))


def _fewest_repeats(db: Any, case: Case, session: Where, both: Sequence[Where]) -> int:
    chosen = session.also(_VERIFIED).also("quantity = ?", case.quantity)
    chosen = chosen.also(
        " OR ".join(f"({side.sql})" for side in both), *(v for side in both for v in side.values)
    )
    found = store.rows(
        db,
        f"SELECT count(*) AS repeats FROM records WHERE {chosen.sql} GROUP BY session, run",
        chosen.values,
    )
    return min((int(row["repeats"]) for row in found), default=0)


def _quotient(case: Case, base: selection.Group, new: selection.Group, repeats: int) -> Found:
    of_base, of_new = overall.speeds(base), overall.speeds(new)
    row = _row(case, _about(new), value=samples.speedup(of_base, of_new).value, unit="1")
    short = _too_few_repeats(case, repeats)
    if together := samples.chosen(of_base, of_new):
        quotients = [y / x for x, y in together.values()]
        row["samples"] = counted(len(quotients), "pair")
        return row, short or Samples(
            quotients, case.bound, in_turn=True, jobs=case.jobs, pairs=True
        )
    sides = [list(of.values()) for of in (of_new, of_base)]
    row["samples"] = f"{len(sides[1])}, {counted(len(sides[0]), 'job')}"
    return row, short or Samples(sides[0], case.bound, base=sides[1], jobs=case.jobs)


_MEASURED = {"": _absolute, "peak": _of_peak, "baseline": _of_baseline, "runs": _of_runs}


def _failed(db: Any, case: Case, session: Where) -> list[Found]:
    states = f"({store.BAD} OR (status = 'ok' AND NOT {_VERIFIED}))"
    found: list[Found] = []
    for job in _lost(db, case, session, states):
        why = job["reason"] or f"the bytes were not verified: {job['verdict'] or 'no verdict'}"
        count = "a job" if job["jobs"] == 1 else f"{job['jobs']} jobs"
        found.append((_row(case, job), Decision("failed", f"{count}: {why}")))
    return found


def _skipped(db: Any, case: Case, session: Where) -> str:
    found = _lost(db, case, session, "status = 'skipped'")
    return f"skipped: {found[0]['reason']}" if found else "no run like this in the session"


def _lost(db: Any, case: Case, session: Where, states: str) -> list[Row]:
    """Cases with runs in these states."""
    asked: list[Row] = []
    for where in _both_wheres(case):
        chosen = Where(session.sql.replace(store.GOOD, "true"), session.values).also(states)
        for key, values in where.items():
            chosen = chosen.key(key, values)
        asked += store.rows(db, query("lost", chosen=chosen.sql), chosen.values)
    return list({tuple(row.values()): row for row in asked}.values())


def _both_wheres(case: Case) -> list[Mapping[str, Sequence[str]]]:
    """Selects the runs, and the runs that they are relative to, if any."""
    if case.bound.of != "runs":
        return [case.where]
    return [case.where, {**case.where, **{key: [one] for key, one in case.bound.what.items()}}]
