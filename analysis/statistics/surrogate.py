# SPDX-License-Identifier: BSD-3-Clause
"""What a few settings say of all others: a guess where to look next, and never a result.

A speed is taken for a product of the effects of its settings and of pairs of them (a ridge
regression of logarithms; the effect of a round is what all of its runs have in common).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterator, Mapping, Sequence

import numpy as np

Choice = tuple[str, str]  # setting, value
Config = tuple[Choice, ...]

# How large the effects of a setting, of a pair and of a round may be, beside a run's noise.
_SINGLE, _PAIR, _ROUND = 3.0, 0.7, 10.0
_CLIP = 3.0  # of a logarithm: what is twenty times slower is not worth a look


def _terms(config: Config) -> Iterator[Hashable]:
    yield from config
    yield from itertools.combinations(config, 2)


def guesses(
    speeds: Mapping[Config, Mapping[int, float]], default: Config, wanted: Sequence[Config]
) -> dict[Config, float]:
    """Logarithms of the speeds of `wanted` over the default's. `speeds`: what was measured, by
    round."""
    base = speeds.get(default, {})
    seen = {
        config: [math.log(speed / base[n]) for n, speed in by_round.items() if n in base]
        for config, by_round in speeds.items()
    }
    rows = [config for config, values in seen.items() if values]
    if not rows:
        return dict.fromkeys(wanted, 0.0)
    # Those that were new in the same round share what the default met in it.
    terms = [[*_terms(config), min(speeds[config])] for config in rows]
    places = {term: place for place, term in enumerate(dict.fromkeys(itertools.chain(*terms)))}
    table = np.zeros((len(rows), len(places)))
    for row, of in enumerate(terms):
        table[row, [places[term] for term in of]] = [math.sqrt(_size(term)) for term in of]
    values = [float(np.clip(np.mean(seen[config]), -_CLIP, _CLIP)) for config in rows]
    noise = np.diag([1 / len(seen[config]) for config in rows])
    found = table.T @ np.linalg.solve(table @ table.T + noise, np.array(values))
    effects = {term: float(found[at]) * math.sqrt(_size(term)) for term, at in places.items()}
    return {config: sum(effects.get(term, 0.0) for term in _terms(config)) for config in wanted}


def _size(term: Hashable) -> float:
    if isinstance(term, int):
        return _ROUND
    return _SINGLE if isinstance(term, tuple) and isinstance(term[0], str) else _PAIR
