# SPDX-License-Identifier: BSD-3-Clause
"""The random order of a session's tests, and of a test's stacks, new in each round."""

import itertools
import os
import random
from collections.abc import Iterable
from typing import Any

from reframe.frontend.executors import Runner

from iogauge.common.files import pairs

SEED = "IOGAUGE_ORDER_SEED"  # of the environment; without it the order is ReFrame's
SOME = "IOGAUGE_SOME_ROUNDS"  # of the environment: HASH:STACK=0,5 ..., or a file with that
PEAK = "peak"  # the tag of tests that keep their place
KEPT = "_iogauge_wrapped"


def seed() -> int | None:
    text = os.environ.get(SEED, "")
    return int(text) if text else None


def drawn(cases: Iterable[Any], chance: random.Random) -> list[Any]:
    """ReFrame's test cases in another order: cases of one test stay neighbors. Builds come first;
    peak tests, and tests that need each other, keep their places."""
    known = sorted(cases, key=lambda one: not one.check.is_fixture())
    blocks = [list(of) for _, of in itertools.groupby(known, lambda one: one.check.unique_name)]
    free = [place for place, block in enumerate(blocks) if not any(map(_is_fixed, block))]
    for place, block in zip(free, chance.sample([blocks[i] for i in free], len(free)), strict=True):
        blocks[place] = chance.sample(block, len(block))
    return [case for block in blocks for case in block]


def _is_fixed(case: Any) -> bool:
    needs = any(not other.check.is_fixture() for other in case.deps)
    return bool(needs or case.num_dependents or case.check.is_fixture() or PEAK in case.check.tags)


def of_round(cases: Iterable[Any], number: int) -> list[Any]:
    """The cases that run in a round; the first round is 0."""
    rounds = pairs(os.environ.get(SOME, ""))
    kept = []
    for case in cases:
        job = f"{case.check.hashcode}:{case.environ.name}"
        if job not in rounds or str(number) in rounds[job].split(","):
            kept.append(case)
        else:
            for other in case.deps:  # a build that waits for it would never be cleaned up
                other.in_degree -= 1
    return kept


def draw() -> None:
    """Have ReFrame use the random order, if the environment has a seed."""
    run_all = Runner._runall
    if (seed() is None and not os.environ.get(SOME)) or hasattr(run_all, KEPT):
        return
    rounds = itertools.count()

    def in_order(self: Any, cases: Iterable[Any], *args: Any) -> Any:
        number = next(rounds)
        cases = of_round(cases, number)
        if seed() is not None:
            cases = drawn(cases, random.Random(f"{seed()} {number}"))
        return run_all(self, cases, *args)

    setattr(in_order, KEPT, True)
    Runner._runall = in_order
