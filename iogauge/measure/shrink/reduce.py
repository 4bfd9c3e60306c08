# SPDX-License-Identifier: BSD-3-Clause
"""Delta debugging: the smallest that still fails. A failure by chance needs several tries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from .case import RIGHT, CannotShrinkError, Case, smaller

Some = TypeVar("Some")


class Tries:
    """How often a case fails as the first one did."""

    def __init__(self, end: Callable[[Case], str], tries: int, say: Callable[[str], None]) -> None:
        self.end, self.tries, self.say = end, tries, say
        self.how = ""

    def begin(self, case: Case) -> None:
        """Learns how it fails. `CannotShrinkError` where it does not, in three times the tries."""
        for number in range(1, 3 * self.tries + 1):
            self.how = self.end(case)
            if self.how != RIGHT:
                self.say(f"try {number} of {case}: {self.how}")
                return
        raise CannotShrinkError(f"{3 * self.tries} runs of {case} were all right")

    def fails(self, case: Case) -> bool:
        """In one of the tries, in the same way; the tries end with it. Something else that goes
        wrong (a size that the pattern does not take) ends them too."""
        for number in range(1, self.tries + 1):
            how = self.end(case)
            if how == self.how:
                self.say(f"still fails, in try {number}: {case}")
                return True
            if how != RIGHT:
                break
        return False

    def rate(self, case: Case, runs: int) -> int:
        return sum(self.end(case) == self.how for _ in range(runs))


def shrink(case: Case, tries: Tries, most: int = 200) -> Case:
    """Until no smaller one fails; at most so many candidates are tried. One that did not fail is
    not tried again until something else has become smaller."""
    tries.begin(case)
    left, tried = most, set[Case]()
    while left > 0:
        for candidate in smaller(case):
            if candidate in tried:
                continue
            tried.add(candidate)
            left -= 1
            if tries.fails(candidate):
                case = candidate
                break
            if left <= 0:
                break
        else:
            return case
    return case


def fewest(some: Sequence[Some], fails: Callable[[Sequence[Some]], bool]) -> list[Some]:
    """Zeller and Hildebrandt's ddmin (2002): of those, in their order, as few as still fail."""
    now, parts = list(some), 2
    while len(now) >= 2:
        size = -(-len(now) // parts)
        chunks = [now[i : i + size] for i in range(0, len(now), size)]
        rest = [[x for j, c in enumerate(chunks) if j != i for x in c] for i in range(len(chunks))]
        found = next((c for c in [*chunks, *rest] if len(c) < len(now) and fails(c)), None)
        if found is not None:
            parts = 2 if found in chunks else max(parts - 1, 2)
            now = found
        elif parts >= len(now):
            break
        else:
            parts = min(2 * parts, len(now))
    return now
