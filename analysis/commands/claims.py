# SPDX-License-Identifier: BSD-3-Clause
"""`claims`: do the statements of publications hold in the store's runs?"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ..errors import EXIT_OK, UsageError
from ..judge import references
from ..judge.claim_tests import CROWDED, KINDS, Finding
from ..judge.yamlfile import YamlFile
from ..store import database as store
from . import formats, options, progress

EXAMPLES = """\
examples:
  python -m analysis claims                         all claims, all runs of the store
  python -m analysis claims C5 C6 --where fs=disk   two of them, on one file system
  python -m analysis claims --json | jq '.[] | select(.verdict == "contradicted")'

reproduced: each case that can tell says so; contradicted: at least one says the opposite;
not testable here: no case has what the claim needs, or no interval tells. `published` is the ratio
that the document gives, of its own system: it stands beside, and decides nothing.
"""

COLUMNS = ("claim", "verdict", "says", "cases", "measured", "published", "missing")

Verdict = Literal["reproduced", "contradicted", "not testable here"]
Row = dict[str, Any]


@dataclass(frozen=True)
class Claim:
    """One claim of references/claims.yaml."""

    id: str
    says: str
    source: str
    needs: Mapping[str, Any]
    tests: Sequence[Mapping[str, Any]]
    run: Sequence[str]

    @property
    def command(self) -> str:
        """What supplies its runs, a command a line."""
        start = "reframe -C site_configs/SITE.py -c reframe_tests -R -r"
        return "\n".join(f"{start} {options}" for options in self.run)

    def needs_of(self, test: Mapping[str, Any]) -> dict[str, Any]:
        """What one of its tests needs: the claim's needs, but for those that the test says."""
        return {**self.needs, **test.get("needs", {})}

    @property
    def processes(self) -> int:
        """The fewest with which any of its tests can be judged."""
        return min(int(self.needs_of(test)["processes"]) for test in self.tests)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("claims", nargs="*", metavar="CLAIM", help="such as C5 (default: all)")
    options.add_where(parser)
    parser.add_argument("--references", type=Path, default=references.FOLDER, metavar="DIR",
                        help="folder of the reference files")  # fmt: skip
    options.add_store(parser)
    formats.add_format(parser)


def run(args: argparse.Namespace) -> int:
    """Print the verdicts, and below what is missing where one was not possible."""
    claims = load(args.references, args.claims)
    connection = store.connect(args.store)
    rows = judge_all(connection, options.where(args), claims)
    if formats.for_programs(args):
        formats.show(args, rows, COLUMNS)
        return EXIT_OK
    for row in rows:
        _print(row)
    return EXIT_OK


def load(folder: Path = references.FOLDER, wanted: Sequence[str] = ()) -> list[Claim]:
    """The claims by their names. Raises ReferenceFileError, with the line, for a mistake."""
    file = YamlFile(folder / "claims.yaml", references.FOLDER / "claims.schema.json")
    groups = {number.id for number in references.published(references.FOLDER)}
    claims = []
    for index, entry in enumerate(file.data["claims"]):
        for number, test in enumerate(entry["tests"]):
            where: list[str | int] = ["claims", index, "tests", number]
            needed = KINDS[test["kind"]].needs
            for key in needed:
                if key not in test:
                    raise file.error(where, f"a test of kind {test['kind']!r} needs {key!r}")
            if test.get("published", next(iter(groups))) not in groups:
                raise file.error(where, f"no group {test['published']!r} in published.yaml")
        claims.append(Claim(**entry))
    known = [claim.id for claim in claims]
    for name in wanted:
        if name not in known:
            raise UsageError(f"{name}: no such claim; there are {', '.join(known)}")
    return [claim for claim in claims if not wanted or claim.id in wanted]


def judge_all(connection: Any, where: store.Where, claims: Sequence[Claim]) -> list[Row]:
    return [judge(connection, where, claim) for claim in progress.steps(claims, "claims")]


def judge(connection: Any, where: store.Where, claim: Claim) -> Row:
    """One claim's verdict, with what it rests on."""
    findings: list[Finding] = []
    missing: list[str] = []
    for test in claim.tests:
        found, lacks = KINDS[test["kind"]].judge(connection, where, test, claim.needs_of(test))
        findings += found
        if not any(finding.holds is not None for finding in found):
            crowded = all(finding.crowded for finding in found)
            missing.append(lacks or (CROWDED if crowded else UNCLEAR))
    told = [finding for finding in findings if finding.holds is not None]
    against = [finding for finding in told if not finding.holds]
    verdict: Verdict = "not testable here"
    if against:
        verdict = "contradicted"
    elif told and not missing:
        verdict = "reproduced"
    return {
        "claim": claim.id,
        "verdict": verdict,
        "says": claim.says,
        "source": claim.source,
        "cases": f"{len(told) - len(against)} of {len(told)}" if told else "",
        "measured": "; ".join(finding.text for finding in findings),
        "published": " | ".join(dict.fromkeys(f.published for f in findings if f.published)),
        "missing": "; ".join(dict.fromkeys(missing)) if verdict == "not testable here" else "",
        "command": claim.command if verdict == "not testable here" else "",
    }


UNCLEAR = "more samples: each interval holds both what the claim says and its opposite"


def _print(row: Row) -> None:
    from rich.console import Console
    from rich.text import Text

    styles = {"reproduced": "bold green", "contradicted": "bold red"}
    console = Console(highlight=False, soft_wrap=True)
    verdict = Text(row["verdict"], style=styles.get(row["verdict"], "yellow"))
    cases = f" ({row['cases']} cases)" if row["cases"] else ""
    console.print(Text.assemble((f"{row['claim']:<4}", "bold"), verdict, cases, f": {row['says']}"))
    for finding in filter(None, row["measured"].split("; ")):
        console.print(Text(f"       {finding}"))
    for place in dict.fromkeys(
        p.partition(" (")[2].rstrip(")") for p in row["published"].split(" | ")
    ):
        if place:
            console.print(Text(f"       published of: {place}"))
    if row["missing"]:
        console.print(Text(f"       missing: {row['missing']}"))
        for command in row["command"].splitlines():
            console.print(Text(f"       supply:  {command}", style="dim"))
