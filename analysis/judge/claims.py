# SPDX-License-Identifier: BSD-3-Clause
"""The claims of references/claims.yaml, judged by the runs of the store."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from ..errors import UsageError
from ..store.database import Where
from . import references
from .claim_criteria import ASKED, KINDS, Finding, Runs
from .yaml_file import YamlFile

Verdict = Literal["reproduced", "contradicted", "not testable here"]

CROWDED = "a core for each process"
UNCLEAR = "more samples: each interval holds both what the claim says and its opposite"


@dataclass(frozen=True)
class Claim:
    id: str
    says: str
    sentence: str
    place: str
    against: str
    source: str
    needs: Mapping[str, Any]
    tests: Sequence[Mapping[str, Any]]
    run: Sequence[str]

    @property
    def commands(self) -> tuple[str, ...]:
        return tuple(f"iogauge run --site SITE -- {options}" for options in self.run)

    def needs_of(self, test: Mapping[str, Any]) -> dict[str, Any]:
        """A test's needs: the claim's, overridden by its own."""
        return {**self.needs, **test.get("needs", {})}

    @property
    def processes(self) -> int:
        return min(int(self.needs_of(test)["processes"]) for test in self.tests)


@dataclass(frozen=True)
class Judged:
    claim: Claim
    verdict: Verdict
    findings: tuple[Finding, ...]
    missing: tuple[str, ...]

    @property
    def told(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.holds is not None)

    @property
    def commands(self) -> tuple[str, ...]:
        """What would produce the missing runs."""
        return self.claim.commands if self.verdict == "not testable here" else ()


def load(folder: Path = references.FOLDER, wanted: Sequence[str] = ()) -> list[Claim]:
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


def runs_for(some: Sequence[Claim], db: Any, where: Where) -> Runs:
    named = {test[key] for one in some for test in one.tests for key in ASKED if key in test}
    return Runs(db, where, tuple(sorted(named)))


def _trend(runs: Runs, claim: Claim, test: Mapping[str, Any]) -> list[Finding]:
    """Below the claim's scale, if it asks for the trend; these decide nothing."""
    needs = claim.needs_of(test)
    if "shown_from" not in needs:
        return []
    below = {**needs, "processes": needs["shown_from"]}
    found, _ = KINDS[test["kind"]].judge(runs, test, below)
    return [replace(finding, holds=None, scale=needs["processes"]) for finding in found]


def judge(runs: Runs, claim: Claim) -> Judged:
    findings: list[Finding] = []
    missing: list[str] = []
    told: list[bool] = []
    for test in claim.tests:
        found, lacks = KINDS[test["kind"]].judge(runs, test, claim.needs_of(test))
        findings += found or _trend(runs, claim, test)
        held = [finding.holds for finding in found if finding.holds is not None]
        told += [2 * sum(held) > len(held)] if held and test.get("most") else held
        if not held:
            crowded = all(finding.place.crowded for finding in found)
            unclear = CROWDED if crowded else UNCLEAR
            missing += [lack.text for lack in lacks] or [unclear]
    verdict: Verdict = "not testable here"
    if not all(told):
        verdict = "contradicted"
    elif told and not missing:
        verdict = "reproduced"
    shown = tuple(dict.fromkeys(missing)) if verdict == "not testable here" else ()
    return Judged(claim, verdict, tuple(findings), shown)
