# SPDX-License-Identifier: BSD-3-Clause
"""Runs cases and judges them, on each stack one after the other."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.selftest import known, payload, places
from tests.selftest.cases import Case, Counts, Subject
from tests.selftest.injector import COUNT, Fired, preload, read_counts
from tests.selftest.judge import Judgement, verdict_of, verdict_of_place
from tests.selftest.run import Outcome, Place

AGAIN = 20  # so often a run is tried again whose fault passed, until it passes again


class NotGood(Exception):
    """A run without any fault fails: nothing can be learned of those with one."""


@dataclass
class Reference:
    """What a run without faults leaves."""

    folder: Path
    regions: payload.Regions


@dataclass
class Session:
    """The runs of one stack. `references` is made as they are needed."""

    place: Place
    references: dict[str, Reference] = field(default_factory=dict)

    def counts(self, subject: Subject) -> Counts:
        """The calls that it makes without a fault."""
        place = self.place
        place.clear()
        variables = preload(place.library, COUNT, place.data, place.counts)
        self._good(subject, variables)
        return read_counts(place.counts)

    def reference(self, subject: Subject) -> Reference:
        if subject.name not in self.references:
            self.place.clear()
            self._good(subject, {}, "--keep")
            # Reading, each library knows where its data sets are; writing, some do not yet.
            document = self._good(subject, {}, "--read-only")
            folder = self.place.base.parent / "references" / subject.name
            shutil.copytree(self.place.data, folder)
            self.references[subject.name] = Reference(folder, payload.regions(document))
        return self.references[subject.name]

    def _good(self, subject: Subject, variables: dict[str, str], *more: str) -> dict[str, Any]:
        words = ["--fsync", "--json", str(self.place.document), *more]
        outcome = self.place.run(subject.command(self.place.data, *words, variables=variables))
        if not outcome.good or outcome.document is None:
            raise NotGood(f"without a fault: {outcome.command}: {outcome.said}")
        return outcome.document

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
        """Of a fault in the data that passed: the same run again, whose files are kept. Who writes
        last, the fault or the process that owns the bytes, may change from run to run: one that is
        caught says nothing of one that passes."""
        reference = self.reference(case.subject)
        if case.plan.call == "read":
            return not any(self._in_payload(reference, shot) for shot in outcome.fired)
        for _ in range(AGAIN):
            if self.place.run_case(case, "--keep").good:
                return payload.same(self.place.data, reference.folder, reference.regions)
        return False

    def _in_payload(self, reference: Reference, shot: Fired) -> bool:
        """A read is for what it begins with: at a header HDF5 reads 512 bytes and PnetCDF 256 KiB,
        whatever follows."""
        path = reference.folder / shot.path.relative_to(self.place.data.resolve())
        begin = reference.regions.holds(path, shot.begin, 1)
        return begin and reference.regions.holds(path, shot.offset, shot.bytes)
