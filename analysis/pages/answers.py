# SPDX-License-Identifier: BSD-3-Clause
"""The first screen of a page: the fastest call of each pattern, its share of peak, and what to try
next. The verdicts come from analysis/judge."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from iogauge.common import tables
from iogauge.common.text import counted, percent, ratio, three

from ..judge import disturbance, findings, remedies
from ..judge.advice import DEFAULT, of_kind
from ..judge.bottleneck import Cause
from ..judge.findings import Place
from ..session.peaks import Highest
from ..session.rows import rank
from ..store.database import Where
from .page import link
from .words import bandwidth_text, share_text, with_mark

Row = dict[str, Any]


def rows(store: Any, chosen: Where, cases: Sequence[Row], root: Path, top: Highest) -> list[Row]:
    """One for each pattern and place. `cases`: of shares.of_cases. `root`: what the store's paths
    are relative to. `top`: the session's peaks."""
    found = sorted(
        findings.places(store, chosen, DEFAULT),
        key=lambda place: rank(place.pattern, tables.names("patterns")),
    )
    of_ceiling = {id(place): row for place, row in findings.ceilings(cases, found)}
    named = several(found)
    return [_row(place, of_ceiling.get(id(place)), named, root, top) for place in found]


def several(found: Sequence[Place]) -> list[str]:
    """The columns needed to tell the places apart."""
    return [name for name in ("scale", "processes") if len({p.best[name] for p in found}) > 1]


def where(place: Place, several: Sequence[str]) -> str:
    best = place.best
    facts = {"scale": best["scale"], "processes": counted(best["processes"], "process")}
    return ", ".join([place.fs, *(facts[name] for name in several if facts[name])])


def _row(place: Place, share: Row | None, named: Sequence[str], root: Path, top: Highest) -> Row:
    best = place.best
    folder = (root / best["document"]).parent
    peaks, decided = top.beside(folder.resolve()), bool(share and share["low"])
    return {
        "pattern": place.pattern,
        "where": where(place, named),
        **{name: best[name] for name in ("call", "variant", "stack")},
        "speed": bandwidth_text(place.speeds[-1]),
        "unit": place.unit,
        "document": root / best["document"],
        "gain": _gain(place),
        "stacks": _stacks(place),
        "kinds": list(map(of_kind, place.steps)),
        "share": share,
        **_to_try(remedies.first(folder, "write", peaks, decided), share),
    }


def _to_try(told: tuple[Cause, remedies.Remedy] | None, share: Row | None) -> Row:
    """Empty if the machine was disturbed."""
    if told is None or (share and share["efficiency"] is None):
        return {"held": "", "because": "", "try": "", "commands": ()}
    cause, remedy = told
    return {
        "held": f"{cause.kind}, up to {percent(cause.share)} of the time",
        "because": cause.says,
        "try": remedy.text,
        "commands": remedy.commands,
    }


def _gain(place: Place) -> tuple[str, str]:
    """Gain over the default (in the column's head), or why it is undecided."""
    gain = place.gain
    if gain is None:
        is_default = place.best["call"] == DEFAULT
        return ("is the default" if is_default else "not measured"), ""
    if gain.low is None or gain.high is None:
        return f"{ratio(gain.value, gain.verdict)} times, not decided yet", gain.lacks
    text = f"{ratio(gain.value, gain.verdict)} times ({three(gain.low)} to {three(gain.high)})"
    return text, "" if gain.verdict == "faster" else gain.verdict


def _stacks(place: Place) -> str:
    """The stacks that this one is significantly faster than."""
    return ", ".join(
        f"{three(ratio.value)} times {other}"
        for other, ratio in place.stacks.items()
        if ratio.verdict == "faster"
    )


def shown(found: Sequence[Row], reasons: Callable[[Row], str], folder: Path) -> list[Row]:
    made = []
    for row in found:
        share = row["share"]
        else_ = "no peak was measured" if row["unit"] == "MiB/s" else "see Many small files"
        none = share_text(share) if share else else_
        share = share if share and share["efficiency"] is not None else None
        why = reasons(share) if share else ""
        made.append(
            {
                **row,
                "link": link(row["document"], folder),
                "share": with_mark(share_text(share), why) if share else "",
                "fill": round(100 * min(share["efficiency"], 1)) if share else 0,
                "why": why,
                "none": none,
            }
        )
    return made


def troubles(db: Any, where: Where) -> list[str]:
    notes = []
    for one in disturbance.ceilings(db, where):
        if one.disturbed:
            notes.append(
                f"machine disturbed: on {one.fs} the peak measured with the same case varied "
                f"{one.typical:.1f}-fold (median of {counted(one.cases, 'case')}; worst: "
                f"{one.worst:.1f})"
            )
    if crowded := disturbance.crowded(db, where):
        runs = counted(crowded, "run")
        notes.append(f"{runs} had more processes than cores and also measured the scheduler")
    return notes
