# SPDX-License-Identifier: BSD-3-Clause
"""Runs cases and judges them, on each stack one after the other."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path

from tools.selftest import known, payload, places
from tools.selftest.cases import Case, Counts, Subject
from tools.selftest.injector import COUNT, Fired, preload, read_counts
from tools.selftest.judge import Judgement, verdict_of, verdict_of_place
from tools.selftest.run import Outcome, Place


class NotGood(Exception):
    """A run without any fault fails: nothing can be learned of those with one."""


@dataclass
class Reference:
    """What a run without faults leaves and calls."""

    folder: Path
    regions: payload.Regions
    counts: Counts


@dataclass
class Session:
    """The runs of one stack. `references` is made as subjects are met."""

    place: Place
    references: dict[str, Reference] = field(default_factory=dict)

    def reference(self, subject: Subject) -> Reference:
        if subject.name not in self.references:
            self.references[subject.name] = self._make(subject)
        return self.references[subject.name]

    def _make(self, subject: Subject) -> Reference:
        """The calls of a run as the cases are, and then its files."""
        place = self.place
        place.clear()
        variables = preload(place.library, COUNT, place.data, place.counts)
        words = ["--fsync", "--json", str(place.document)]
        counted = place.run(subject.command(place.data, *words, variables=variables))
        counts = read_counts(place.counts) if counted.good else {}
        place.clear()
        kept = place.run(subject.command(place.data, *words, "--keep"))
        if not counted.good or not kept.good or kept.document is None:
            raise NotGood(f"without a fault: {kept.command}: {kept.said or counted.said}")
        folder = place.base.parent / "references" / subject.name
        shutil.copytree(place.data, folder)
        return Reference(folder, payload.regions(kept.document), counts)

    def judge(self, case: Case) -> Judgement:
        outcome = self.place.run_case(case)
        verdict = verdict_of(case.plan, outcome, lambda: self._is_right(case, outcome))
        named = known.reason(case.name, verdict[0], outcome.left)
        return Judgement.of(case.subject, case.plan.kind, verdict, outcome, named)

    def judge_place(self, fault: str, subject: Subject) -> Judgement:
        self.place.clear()
        outcome = places.FAULTS[fault](self.place, subject)
        verdict = verdict_of_place(outcome)
        named = known.reason(f"{subject.name} place:{fault}", verdict[0], outcome.left)
        return Judgement.of(subject, f"place:{fault}", verdict, outcome, named)

    def _is_right(self, case: Case, outcome: Outcome) -> bool:
        """Of a fault in the data that passed: the same run again, whose files are kept."""
        reference = self.reference(case.subject)
        if case.plan.call == "read":
            return not any(self._in_payload(reference, shot) for shot in outcome.fired)
        again = self.place.run_case(case, "--keep")
        if not again.good or again.document is None:
            return False
        found = payload.regions(again.document)
        return payload.same(self.place.data, found, reference.folder, reference.regions)

    def _in_payload(self, reference: Reference, shot: Fired) -> bool:
        path = reference.folder / shot.path.relative_to(self.place.data.resolve())
        return reference.regions.holds(path, shot.offset, shot.bytes)
