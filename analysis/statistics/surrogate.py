# SPDX-License-Identifier: BSD-3-Clause
"""Guesses the speed of untried settings, to choose what to try next; never a result. The model: a
product of the effects of settings and of pairs (ridge regression of logarithms)."""

import itertools
import math
from collections.abc import Hashable, Iterator, Mapping, Sequence

import numpy as np

Choice = tuple[str, str]  # setting, value
Config = tuple[Choice, ...]

# Prior sizes of the effects of a setting, a pair and a round, relative to the noise of a run.
_SINGLE, _PAIR, _ROUND = 3.0, 0.7, 10.0
_CLIP = 3.0  # of a logarithm: twenty times slower is not worth a look


def _terms(config: Config) -> Iterator[Hashable]:
    yield from config
    yield from itertools.combinations(config, 2)


def guesses(
    speeds: Mapping[Config, Mapping[int, float]], default: Config, wanted: Sequence[Config]
) -> dict[Config, float]:
    """Logarithms of the speeds of `wanted` over the default's. `speeds`: by round."""
    base = speeds.get(default, {})
    seen = {
        config: [math.log(speed / base[n]) for n, speed in by_round.items() if n in base]
        for config, by_round in speeds.items()
    }
    rows = [config for config, values in seen.items() if values]
    if not rows:
        return dict.fromkeys(wanted, 0.0)
    # Settings that were new in the same round share its effect.
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
