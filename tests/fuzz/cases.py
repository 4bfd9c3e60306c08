# SPDX-License-Identifier: BSD-3-Clause
"""How many cases each target gets, and what input is made of.

IOGAUGE_FUZZ_CASES: of all targets together (`make fuzz`), with IOGAUGE_FUZZ_SEED. Without it each
target has a few, always the same ones.
"""

from __future__ import annotations

import copy
import os
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import hypothesis
from hypothesis import HealthCheck
from hypothesis import strategies as st

CASES = int(os.environ.get("IOGAUGE_FUZZ_CASES") or 0)
SEED = int(os.environ.get("IOGAUGE_FUZZ_SEED") or 0)
RAN: Counter[str] = Counter()

F = TypeVar("F", bound=Callable[..., Any])


def fuzz(target: str, share: float, short: int, **given: Any) -> Callable[[F], F]:
    """As hypothesis's `given`; `share`: of all cases of the long form, `short`: cases of the other.
    Case by case it is counted what really ran."""

    def decorate(test: F) -> F:
        def counted(*args: Any, **values: Any) -> None:
            RAN[target] += 1
            test(*args, **values)

        counted.__name__, counted.__doc__ = test.__name__, test.__doc__
        counted.__module__ = test.__module__
        counted.__signature__ = _signature(test)  # type: ignore[attr-defined]
        made: Any = hypothesis.given(**given)(counted)
        made = hypothesis.settings(
            max_examples=max(1, round(CASES * share)) if CASES else short,
            derandomize=not CASES,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
            print_blob=False,
        )(made)
        return hypothesis.seed(SEED)(made) if CASES else made  # type: ignore[no-any-return]

    return decorate


def _signature(test: Callable[..., Any]) -> Any:
    import inspect

    return inspect.signature(test)


# ---------------------------------------------------------------- what is put in place of something

# A word of the shell that leaves a file, a name that would lie elsewhere, a formula, markup.
WORDS = (
    "", " ", "-", "--", "..", ".", "../../..", "/", "~", "$(touch ran)", "`touch ran`",
    ";touch ran",
    "a\ntouch ran\n", "'; touch ran #", '"; touch ran #', "&touch ran", "|touch ran", "=1+1", "@A1",
    "[/x]", "[bold]", "\x1b[2J", "\x1b]0;title\x07", "\x9b31m", "\0", "\ud800", "\udcff", "\u202e",
    "\u2028", "<script>document.title='ran'</script>", '"><img src=x onerror="document.title=1">',
    "{{7*7}}", "%s%n", "\\", "x" * 3000, "nan", "inf", "-5", "9" * 5000, "0x10", "1e999", "²", "٣",
)  # fmt: skip
NUMBERS = (
    0, 1, -1, -3, 2**31, 2**63 - 1, 2**63, 2**64, 2**70, -(2**63), 10**400, 0.0, -0.0, 5e-324,
    1e-320, 1.5e302, 1e308, float("inf"), -float("inf"), float("nan"),
)  # fmt: skip
texts = st.sampled_from(WORDS) | st.text(max_size=12)
plain_values = (
    st.none() | st.booleans() | st.sampled_from(NUMBERS) | st.integers() | st.floats() | texts
)
values = plain_values | st.lists(plain_values, max_size=3) | st.dictionaries(texts, plain_values,
                                                                            max_size=2)  # fmt: skip


def places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Of every part."""
    if path:
        yield path
    if isinstance(data, dict | list):
        for key, inner in data.items() if isinstance(data, dict) else enumerate(data):
            yield from places(inner, (*path, key))


@st.composite
def changed(draw: Callable[..., Any], base: Any, put: st.SearchStrategy[Any] = values) -> Any:
    """`base` with one to four of its parts replaced, removed, doubled or renamed."""
    data = copy.deepcopy(base)
    for _ in range(draw(st.integers(1, 4))):
        known = list(places(data))
        if not known:
            break
        *way, last = known[draw(st.integers(0, len(known) - 1))]
        inner = data
        for key in way:
            inner = inner[key]
        what = draw(st.sampled_from(("put", "put", "put", "remove", "double", "rename")))
        if what == "remove":
            del inner[last]
        elif what == "double" and isinstance(inner, list):
            inner.append(copy.deepcopy(inner[last]))
        elif what == "rename" and isinstance(inner, dict):
            inner[draw(texts)] = inner.pop(last)
        else:
            inner[last] = draw(put)
    return data


@st.composite
def damaged(draw: Callable[..., Any], base: bytes, words: int = 0) -> bytes:
    """`base` with bytes changed, cut off or doubled; `words`: how many numbers of 8 bytes stand at
    its beginning, to be changed as such."""
    data = bytearray(base)
    for _ in range(draw(st.integers(1, 5))):
        at = draw(st.integers(0, max(0, len(data) - 1)))
        what = draw(st.sampled_from(("byte", "byte", "word", "cut", "double")))
        if what == "byte" and data:
            data[at] = draw(st.integers(0, 255))
        elif what == "word" and words:
            at = 8 * draw(st.integers(0, words - 1))
            number = draw(
                st.sampled_from((0, 1, len(data), 2**31, 2**32 - 1, 2**63 - 1, 2**64 - 1))
            )
            data[at : at + 8] = number.to_bytes(8, "little")
        elif what == "cut":
            del data[at:]
        else:
            data[at:at] = data[at : at + draw(st.integers(0, 300))]
    return bytes(data)
