# SPDX-License-Identifier: BSD-3-Clause
"""docs/documents.md, from references/experiments.yaml, published.yaml and claims.yaml."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from iogauge.analysis.judge import claims, references
from iogauge.analysis.judge.references import Published
from iogauge.common import experiments
from iogauge.common.experiments import Experiment
from reframe_tests.machine.calls import BY_NAME

HEAD = """\
<!-- made by python -m tools.documents --write; do not edit -->
# The documents, experiment by experiment

Each figure and table of the five documents that is an experiment, and how to run it. The table is
`references/experiments.yaml`; each of its names is a tag of ReFrame's.

```
reframe -C site_configs/SITE.py --system SITE -c reframe_tests -R -r -T smoke -t TAG
reframe -C site_configs/SITE.py --system SITE -c reframe_tests -R -r -T smoke -t idris-2011
make documents-smoke
python -m tools.documents --render
```

The first command runs one experiment as in its document, the second a whole document. `make
documents-smoke` runs each on this machine, in seconds, and shows no more than that it runs. The
last one asks if the job scripts of all are as this table says.

On a site that is no document's the same tags choose the same tests, on as many processes as it has
cores. IDRIS took each measurement of RAMSES five times; tests repeat three times: `-S repeats=5`.
[Published numbers](#published-numbers) stand below (in brackets: how many); where a
document has a chart alone, there is none. Machines are named as printed; the site is the file that
scripts are rendered for, and it says what of it is unverified.
"""

NUMBERS = """\
## Published numbers

With the conditions that are printed, from `references/published.yaml`. S: printed in the document;
V: checked in a public source. None is derived, none is read off a chart.
`iogauge compare last published` shows those that runs have beside the runs.
"""


def text() -> str:
    """The whole page."""
    parts = [HEAD]
    for name, title in experiments.documents().items():
        mine = [one for one in experiments.experiments() if one.document == name]
        parts.append("\n".join(_document(name, title, mine)))
    parts.append("\n".join([NUMBERS, *_numbers()]))
    parts.append("\n".join(_claims()))
    return "\n".join(parts)


def _row(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _document(name: str, title: str, mine: list[Experiment]) -> Iterator[str]:
    yield from (f"## {name}", "", f"{title}.", "")
    columns = ("run", "shows", "varies", "machine; site", "needs", "published", "claims")
    yield _row(*columns)
    yield _row(*("---",) * len(columns))
    numbers = Counter(number.id for number in references.published())
    for one in mine:
        shows = f"{one.place}: {one.shows}." + (f" {one.note}" if one.note else "")
        options = [f"-t {one.id}", f"-n {one.test}"]
        options += [f"-S {shlex.quote(setting)}" for setting in one.settings]
        yield _row(
            " ".join(f"`{option}`" for option in options),
            shows,
            "; ".join(_varies(one)) or "-",
            f"{one.machine}; `{one.site}`" + (f", file system `{one.fs}`" if one.fs else ""),
            _needs(one),
            ", ".join(f"`{group}` ({numbers[group]})" for group in one.published) or "-",
            ", ".join(one.claims) or "-",
        )
    yield ""


def _varies(one: Experiment) -> Iterator[str]:
    for name, values in {**one.choose, **one.at}.items():
        if len(values) > 1:
            yield f"{name}: {', '.join(values)}"


def _needs(one: Experiment) -> str:
    calls = [BY_NAME[name] for name in one.choose.get("call", ()) if name in BY_NAME]
    libraries = dict.fromkeys(need for call in calls for need in call.needs)
    most = max(one.process_counts, default=0)
    count = f"{most:,} processes" if most > 1 else "1 process" if most else ""
    return ", ".join([*([count] if count else []), *libraries]) or "MPI"


def _numbers() -> Iterator[str]:
    """A row for each group that an experiment or a claim names, in the file's order."""
    named = {group for one in experiments.experiments() for group in one.published}
    named |= {str(test.get("published")) for claim in claims.load() for test in claim.tests}
    groups: dict[str, list[Published]] = {}
    for number in references.published():
        if number.id in named:
            groups.setdefault(number.id, []).append(number)
    yield _row("group", "tag", "machine", "conditions", "numbers")
    yield _row(*("---",) * 5)
    for group, rows in groups.items():
        first = rows[0]
        yield _row(f"`{group}`", first.tag, first.system, first.conditions, _values(rows))
    yield ""


def _values(rows: Sequence[Published]) -> str:
    """What all rows share stands first."""
    said = [_said(row) for row in rows]
    same = {key: word for key, word in said[0].items() if all(one.get(key) == word for one in said)}
    numbers = []
    for row, words in zip(rows, said, strict=True):
        own = [word for key, word in words.items() if key not in same]
        high = f" to {row.high:.10g}" if row.high is not None else ""
        unit = "" if row.unit == "1" else f" {row.unit}"
        numbers.append(f"{', '.join(own)} **{row.value:.10g}{high}**{unit}".strip())
    return f"{', '.join(same.values())}: {'; '.join(numbers)}"


def _said(number: Published) -> dict[str, str]:
    """What a row says besides its value, in words."""
    words = {"quantity": f"`{number.quantity}`"}
    if "method" in number.run:
        words["method"] = f"`{number.run['method']}`"
    words |= {key: f"{key} {value}" for key, value in number.parameters.items()}
    if (processes := number.run.get("processes")) is not None:
        words["processes"] = f"{processes} process" + ("es" if processes > 1 else "")
    return words


def _claims() -> Iterator[str]:
    yield from (
        "## Claims: what a document says, and what is asked here",
        "",
        "For a reviewer: each claim of `references/claims.yaml` beside its document's sentence.",
        "",
        _row("claim", "the document's sentence", "test here", "contradicted by"),
        _row("---", "---", "---", "---"),
    )
    for claim in claims.load():
        tests = "<br>".join(_test(test) for test in claim.tests)
        sentence = f'"{claim.sentence}" ({claim.source}, {claim.place})'
        yield _row(f"{claim.id}: {claim.says}", sentence, tests, claim.against)
    yield ""


def _test(test: Mapping[str, Any]) -> str:
    def words(values: Mapping[str, Any]) -> str:
        return " ".join(f"{key}={value}" for key, value in values.items())

    expect = " and ".join(f"{key} {value:g}" for key, value in test["expect"].items())
    least = test.get("needs", {}).get("processes")
    asked = f"{words(test['where'])}: "
    if test["kind"] == "share":
        asked += f"`{test['part']}` over `{test['of']}`"
    elif "a" in test:
        asked += f"`{test['quantity']}`, {words(test['b'])} over {words(test['a'])}"
    else:
        asked += f"`{test['quantity']}`"
    if test["kind"] == "growth":
        asked += f", exponent in {test['along']}"
    return f"{asked}: {expect}" + (f"; from {least} processes" if least else "")
