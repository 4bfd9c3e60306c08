# SPDX-License-Identifier: BSD-3-Clause
"""For tests named after hints or stripes: were they in use, or is the run mislabelled? A label is a
set of hints; None: nobody may set it. Needs no ReFrame."""

from collections.abc import Mapping
from typing import Any

from reframe_tests.machine.striping import in_bytes

Label = Mapping[str, str | None]

# Hints that a library reports under other names.
REPORTED_AS = {"hdf5_coll_metadata": ("hdf5_coll_metadata_read", "hdf5_coll_metadata_write")}

AS_LABELLED = "as labelled"


def merged(site: Mapping[str, str], test: Label, user: Mapping[str, str]) -> dict[str, str]:
    found = {**site, **test, **user}
    return {key: value for key, value in found.items() if value is not None}


def contradiction(label: Label, user: Mapping[str, str]) -> str | None:
    for key, value in user.items():
        if key in label and value != label[key]:
            right = f"{key}={label[key]}" if label[key] is not None else f"no {key}"
            return f"-S hints={key}={value} contradicts the test's name, which stands for {right}"
    return None


def hints_in_use(used: Mapping[str, Any], label: Label) -> tuple[list[str], list[str]]:
    """(what differs, what the library does not report), from `used.hints`."""
    wrong, silent = [], []
    for key, value in label.items():
        if value is None:
            continue
        found = [used.get(name) for name in REPORTED_AS.get(key, (key,))]
        wrong += [
            f"hint {key} is {other!r} in use, the test's name stands for {value!r}"
            for other in found
            if other not in (None, value)
        ]
        if None in found:
            silent.append(key)
    return wrong, silent


def stripes_in_use(
    striping: Mapping[str, Any] | None, count: int, size: str
) -> tuple[list[str], list[str]]:
    """The same for `used.striping`. A `count` of -1 stands for all targets, however many."""
    found = striping or {}
    wrong, silent = [], []
    for what, value, right in (
        ("count", found.get("count"), count),
        ("size", found.get("size"), in_bytes(size)),
    ):
        if value is None:
            silent.append(f"stripe {what}")
        elif value != right and not (what == "count" and right == -1 and value > 0):
            wrong.append(f"stripe {what} is {value} in use, the test's name stands for {right}")
    return wrong, silent


def verdict(silent: list[str]) -> str:
    """For the log, of a run in which nothing differs."""
    return f"not reported by the library: {', '.join(silent)}" if silent else AS_LABELLED
