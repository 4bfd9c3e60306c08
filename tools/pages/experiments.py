# SPDX-License-Identifier: BSD-3-Clause
"""The generated tables of docs/documents.md, from references/experiments.yaml and claims.yaml."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator

from iogauge.analysis.judge import claims, references
from iogauge.common import experiments
from iogauge.common.experiments import Experiment

from .markers import put


def page(old: str) -> str:
    """`old` with its tables made anew."""
    for name, lines in (("experiments", _experiments()), ("claims", _claims())):
        old = put(old, name, "\n".join(["", *lines]))
    return old


def _row(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _experiments() -> Iterator[str]:
    for name, title in experiments.documents().items():
        columns = ("`-t`", "shows", "varies", "machine (site)", "processes", "printed", "claims")
        yield from (f"### {name}", "", f"{title}.", "", _row(*columns))
        yield _row(*("---",) * len(columns))
        yield from (_experiment(one) for one in experiments.experiments() if one.document == name)
        yield ""


def _experiment(one: Experiment) -> str:
    numbers = Counter(number.id for number in references.published())
    settings = "".join(f" `-S {shlex.quote(setting)}`" for setting in one.settings)
    return _row(
        f"`{one.id}`{settings}",
        f"{one.place}: {one.shows}",
        "; ".join(_varies(one)) or "-",
        f"{one.machine} (`{one.site}`" + (f", {one.fs})" if one.fs else ")"),
        str(max(one.process_counts)),
        str(sum(numbers[group] for group in one.published)) if one.published else "-",
        ", ".join(one.claims) or "-",
    )


def _varies(one: Experiment) -> Iterator[str]:
    for name, values in {**one.choose, **one.at}.items():
        if len(values) > 1:
            numbers = all(str(value).isdigit() for value in values)
            yield f"{name}: " + (f"{values[0]} to {values[-1]}" if numbers else ", ".join(values))


def _claims() -> Iterator[str]:
    yield from (_row("claim", "source", "contradicted by"), _row("---", "---", "---"))
    for claim in claims.load():
        yield _row(f"{claim.id}: {claim.says}", f"{claim.source}, {claim.place}", claim.against)
