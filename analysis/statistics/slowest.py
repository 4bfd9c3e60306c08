# SPDX-License-Identifier: BSD-3-Clause
"""Is the same one of several equal members the slowest too often?

Equal members are the slowest of a round with the same chance each, whatever the noise. If rounds
are independent, how often a given one is the slowest is binomial. Bonferroni's bound over members
and questions keeps the false alarms of all questions together at RATE at most.
"""

import math

RATE = 0.05


def chance(times: int, rounds: int, members: int, questions: int = 1) -> float:
    """An upper bound of the probability that in any of the questions one of equal `members` is the
    slowest at least so many times."""
    ways = sum(math.comb(rounds, k) * (members - 1) ** (rounds - k)
               for k in range(times, rounds + 1))  # fmt: skip
    return min(1.0, float(members * questions * ways / members**rounds))
