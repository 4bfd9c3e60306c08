# SPDX-License-Identifier: BSD-3-Clause
"""The fastest call measured for a pattern, its gain over a default, and its settings as files."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import comb
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from iogauge.common import tables
from iogauge.common.hints import passed_in, variable
from iogauge.common.text import ratio, three

from ..statistics import interval
from ..store import database as store
from ..store.queries import query
from ..store.words import CALL
from .overall import no_difference
from .samples import AS_SQL, Job, speedup

Row = dict[str, Any]

DEFAULT = "mpiio:collective"  # the baseline, unless another is given


def candidates(db: Any, where: store.Where, quantity: str) -> dict[tuple[Any, ...], list[Row]]:
    both = (quantity, quantity.replace("_rate", "_seconds"))
    where = where.also("verdict = 'verified' AND NOT is_peak").also("quantity IN (?, ?)", *both)
    sql = query("candidates", call=CALL, job=AS_SQL, where=where.sql)
    rows = store.rows(db, sql, where.values)
    groups: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        row["found"] = {Job(**entry["job"]): entry["speed"] for entry in row["found"]}
        groups[row["fs"], row["scale"], row["processes"], row["fsync"]].append(row)
    return groups


def fastest(group: Sequence[Row], default: str) -> Row:
    """The best of the calls that no other is decidedly faster than. One lucky job must not outrank
    seven: calls with enough jobs for a verdict come first, then calls with a known gain, then by
    speed; few jobs come before many only if all of them are faster (`_outruns`). Returns the
    default itself if the ratios say that it was faster."""
    enough = min(interval.PAIRS, max(len(row["found"]) for row in group))

    often = [row for row in group if len(row["found"]) >= enough]

    def preference(row: Row) -> tuple[bool, bool, float]:
        known = row in often and default_of(row, often, default) is not None
        return row in often, known, _speed(row)

    ordered = sorted(group, key=preference, reverse=True)
    best = _first(ordered)
    base = default_of(best, often, default)
    if base and speedup(base["found"], best["found"]).value < 1:
        return _first([base, *ordered])
    return best


def _first(ordered: Sequence[Row]) -> Row:
    """The first that no other decidedly beats; if there is none, the first."""

    def slower(row: Row) -> bool:
        return any(
            speedup(row["found"], other["found"]).verdict == "faster" or _outruns(other, row)
            for other in ordered
            if other is not row
        )

    return next((row for row in ordered if not slower(row)), ordered[0])


def _outruns(row: Row, other: Row) -> bool:
    """Whether all its jobs are faster than all of the other, which chance does in 1 of 20 or less:
    two jobs can outrun five, a single one not fewer than 19."""
    ours, theirs = row["found"].values(), other["found"].values()
    return min(ours) > max(theirs) and comb(len(ours) + len(theirs), len(ours)) >= 20


def _speed(row: Row) -> float:
    return float(median(row["found"].values()))


def rank(group: Sequence[Row], default: str, unit: str = "mib_s") -> list[Row]:
    """Fastest first, but none above a decidedly faster one; each with its gain over the default.
    `unit`: the name of the speeds."""
    ordered = [fastest(group, default)]
    rest = sorted((row for row in group if row is not ordered[0]), key=_speed, reverse=True)
    while rest:
        ordered.append(_first(rest))
        rest = [row for row in rest if row is not ordered[-1]]
    ranked = []
    for number, row in enumerate(ordered, 1):
        base = default_of(row, group, default)
        gain = speedup(base["found"], row["found"]) if base else None
        if number == 1:
            gain = over(row, group, lambda one: default_of(one, group, default))
        speed = interval.of_median(list(row["found"].values()))
        verdict = gain.verdict if gain else "no run of the default"
        ranked.append(
            {
                **{name: row[name] for name in row if name != "found"},
                "rank": number,
                unit: speed.value,
                "low": speed.low,
                "high": speed.high,
                f"default_{unit}": speed.value / gain.value if gain else None,
                "over_default": gain.value if gain else None,
                "gain_low": gain.low if gain else None,
                "gain_high": gain.high if gain else None,
                "verdict": "is the default" if base is row else verdict,
                "samples": speed.counted,
                "lacks": gain.lacks if gain and base is not row else "",
            }
        )
    return ranked


def default_of(row: Row, group: Sequence[Row], default: str) -> Row | None:
    """The baseline of a call, perhaps the call itself: the default on the same stack, without
    hints, with the same parameters or none; else the fastest that differs only in parameters
    this call does not have, as a layout. `default`: METHOD, or METHOD:MODE."""
    found = [
        other
        for other in group
        if other["stack"] == row["stack"]
        and not other["hints"]
        and (other["call"] == default or (":" not in default and other["method"] == default))
        and _fits(row["variant"], other["variant"])
    ]
    same = (one for one in found if one["variant"] in (row["variant"], ""))
    return next(same, None) or max(found, key=_speed, default=None)


def _fits(variant: str, other: str) -> bool:
    """Whether a parameter has no two values."""
    sets = {*variant.split(", "), *other.split(", ")}
    return len({word.partition("=")[0] for word in sets}) == len(sets)


def over(
    best: Row, group: Sequence[Row], rival_of: Callable[[Row], Row | None]
) -> interval.Interval | None:
    """The speed of the fastest of a group over a rival's; None without one. Of equal calls one is
    always the fastest. So it is decided only if the call is faster, too, that was the fastest in
    the first round and ran on: this question was asked before the later rounds answered it."""
    rival = rival_of(best)
    found = speedup(rival["found"], best["found"]) if rival else None
    if found is None or found.low is None or rival is best:
        return found
    first = min(job.round for job in best["found"])
    ran_on = [row for row in group if len(row["found"]) >= interval.PAIRS]
    known = [(row, other) for row in ran_on if (other := rival_of(row))]
    chosen, other = max(known, key=lambda one: _in_round(one[0], first))
    low = found.low if chosen is best else speedup(other["found"], chosen["found"]).low
    return replace(found, low=min(found.low, low or 1.0))


def _in_round(row: Row, number: int) -> float:
    speeds = [speed for job, speed in row["found"].items() if job.round == number]
    return float(median(speeds or [0.0]))


class Step(NamedTuple):
    """The fastest call whose files are of a kind (tables.KINDS), and its `speed` over the fastest
    of another kind, `over`, which asks less of the files."""

    kind: str
    best: Row
    over: str = ""
    speed: interval.Interval | None = None


def by_kind(group: Sequence[Row], default: str) -> list[Step]:
    steps: list[Step] = []
    first = fastest(group, default)
    for kind in tables.KINDS:
        methods = tables.methods_of_kind(kind)
        if of := [row for row in group if row["method"] in methods]:
            best = first if first["method"] in methods else _of_a_kind(of, default)
            before = steps[-1] if steps else None
            speed = speedup(before.best["found"], best["found"]) if before else None
            steps.append(Step(kind, best, before.kind if before else "", speed))
    return steps if len(steps) > 1 else []


def _of_a_kind(of: Sequence[Row], default: str) -> Row:
    """The fastest, or one far faster in fewer jobs: that is not decided yet."""
    best = fastest(of, default)
    most = (1 + interval.EQUAL) * max(best["found"].values())
    return max((row for row in of if min(row["found"].values()) > most), key=_speed, default=best)


def of_kind(step: Step) -> str:
    """`one shared file: mpiio:collective on mpich, taking 1.60 times as long as a file per process
    (1.30 to 2.10)`."""
    text = f"{tables.KINDS[step.kind]}: {step.best['call']} on {step.best['stack']}"
    return f"{text}, {_takes(step.speed, tables.KINDS[step.over])}" if step.speed else text


def _takes(speed: interval.Interval, over: str) -> str:
    if speed.verdict == "no difference":
        return f"{no_difference(speed)} from {over}"
    text = f"taking {ratio(1 / speed.value, speed.verdict)} times as long as {over}"
    if speed.low is None or speed.high is None:
        return f"{text}, not decided yet: {speed.lacks}"
    ends = f"({three(1 / speed.high)} to {three(1 / speed.low)})"
    return f"{text} {ends}{', not decided yet' if speed.lacks else ''}"


def settings(
    hints: Mapping[str, str],
    mpi_io: str,
    folder: Path,
    environment: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """The text of each file; kernels/base/hints.def says which hint goes where. HDF5's hints are
    set by program calls, so environment.sh only names them. `environment`: variables that are not
    hints."""
    by_place: dict[str, dict[str, str]] = defaultdict(dict)
    for key, value in hints.items():
        by_place[passed_in(key)][key] = value
    variables = {variable(key) or key: value for key, value in by_place["ENVIRONMENT"].items()}
    variables |= environment or {}
    mca = {"io": _OPEN_MPI[mpi_io]} if mpi_io in _OPEN_MPI else {}
    mca |= {
        name.removeprefix(_MCA): value for name, value in variables.items() if name.startswith(_MCA)
    }
    files, lines = {}, []
    if romio := by_place["MPI_INFO"]:
        files["romio-hints"] = "".join(f"{key} {value}\n" for key, value in romio.items())
        lines.append(f'export ROMIO_HINTS="{folder / "romio-hints"}"')
    if mca:
        files["mca-params.conf"] = "".join(f"{key} = {value}\n" for key, value in mca.items())
        lines.append(f'export {_MCA}mca_base_param_files="{folder / "mca-params.conf"}"')
    if pnetcdf := by_place["PNETCDF"]:
        text = ";".join(f"{key}={value}" for key, value in pnetcdf.items())
        lines.append(f'export PNETCDF_HINTS="{text}"')
    lines += [
        f'export {name}="{value}"' for name, value in variables.items() if not name.startswith(_MCA)
    ]
    lines += [f"# {key}={value}: the program asks HDF5" for key, value in by_place["HDF5"].items()]
    if not lines:
        lines.append("# the fastest run had no hints: the libraries' own choice is the best seen")
    files["environment.sh"] = "\n".join(lines) + "\n"
    return files


_MCA = "OMPI_MCA_"  # prefix of Open MPI's variables
_OPEN_MPI = {"OMPIO": "ompio"}  # the document's name, and the parameter `io`
