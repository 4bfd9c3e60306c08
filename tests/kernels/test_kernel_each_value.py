# SPDX-License-Identifier: BSD-3-Clause
"""Files that kernels read: each value in them is looked at, wherever it stands. One that cannot be
is refused, alone. Without a run. What is just at a limit: test_kernel_limits.py."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from iokernel_stacks import Stack
from test_kernel_extents import write

Place = tuple[str | int, ...]
# Of each process; none goes beyond a row of two.
RUNS = [[[0, 2], [4, 2], [8, 2]], [[2, 2], [6, 2], [10, 2]]]
# Two of everything.
LIKE: dict[str, Any] = {
    "format": "iogauge.like/1", "source": "a.nc",
    "dimensions": [
        {"name": "x", "length": 4}, {"name": "y", "length": 6}, {"name": "z", "length": 2},
    ],
    "maps": [{"dimensions": ["y", "z"], "runs": RUNS}],
    "variables": [
        {"name": "v", "type": "int16", "dimensions": ["x", "y"], "chunk": [2, 3],
         "filters": [["shuffle", 0], ["deflate", 4]],
         "attributes": [{"name": "a", "type": "int32", "values": [1, 2]},
                        {"name": "b", "type": "char", "values": "t"}]},
        {"name": "w", "type": "float64", "dimensions": ["y", "z"]},
        {"name": "c", "type": "uint8", "dimensions": ["x"],
         "members": [{"name": "m", "type": "int8", "shape": [2, 3]},
                     {"name": "n", "type": "float32", "shape": [1]}]},
        {"name": "e", "type": "int8", "dimensions": ["x"], "role": "field", "node": "E", "zone": 0},
        {"name": "f", "type": "int8", "dimensions": ["x"], "role": "field", "node": "F", "zone": 1},
    ],
    "attributes": [{"name": "g", "type": "float32", "values": [1.5, 2.5]},
                   {"name": "h", "type": "uint64", "values": 1}],
}  # fmt: skip
LISTED = {
    **LIKE, "maps": [], "variables": LIKE["variables"][1:2],
    "dimensions": [{**LIKE["dimensions"][1], "list": [[[0, 1], [2, 2]], [[1, 1], [4, 2]]]},
                   LIKE["dimensions"][2]],
}  # fmt: skip
FREE = ("source", "recorder")  # any text
UNREAD = ("variables", 2, "type")  # of a compound: its members have types
# Two arrays, and two transfers of two parts each, of two processes.
HEADER: dict[str, Any] = {
    "datasets": [
        {"name": "a", "type": "byte", "dims": [4, 6]},
        {"name": "b", "type": "float64", "dims": [8]},
    ],
    "transfers": [{"dataset": 0, "parts": 2}, {"dataset": 1, "parts": 2}],
}  # fmt: skip
CORNERS = [[0, 0, 2, 3], [2, 0, 2, 3], [0, 3, 2, 3], [2, 3, 2, 3], [0, 2], [2, 2], [4, 2], [6, 2]]


def places(value: Any, here: Place = ()) -> Iterator[Place]:
    """Of each number and text."""
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(inner, (*here, key))
    else:
        yield here


def spoilt(document: Any, place: Place) -> Any:
    """A number below zero, or a text that is no name, stands there."""
    document = copy.deepcopy(document)
    holder = document
    for key in place[:-1]:
        holder = holder[key]
    old = holder[place[-1]]
    new: Any = {} if "values" in place else "\n" if isinstance(old, str) else -1
    holder[place[-1]] = new
    return document


def problem(done: Any, option: str) -> str:
    """What is wrong with how a file was refused."""
    lines = [line for line in done.stderr.splitlines() if line.startswith("iokernel: error: ")]
    refused = len(lines) == 1 and lines[0].startswith(f"iokernel: error: {option}")
    return "" if done.returncode == 2 and refused else f"exit {done.returncode}: {done.stderr}"


@pytest.mark.parametrize("document", [LIKE, LISTED], ids=["maps", "lists"])
def test_of_a_document(openmpi: Stack, tmp_path: Path, document: Any) -> None:
    file = tmp_path / "a.like"
    words = ["file", "--plan", "--procs", "2", "--method", "null", "--like", str(file)]
    file.write_text(json.dumps(document))
    done = openmpi.alone(*words)
    assert done.returncode == 0, done.stderr
    wrong = {}
    for place in places(document):
        if place[-1] in FREE or place == UNREAD:
            continue
        file.write_text(json.dumps(spoilt(document, place)))
        if said := problem(openmpi.alone(*words), "--like"):
            wrong[place] = said
    assert not wrong


def test_of_extents(openmpi: Stack, tmp_path: Path) -> None:
    numbers = [number for corner in CORNERS for number in corner]
    words = ["extents", "--plan", "--procs", "2", "--method", "null", "--extents"]

    def asked(numbers: list[int], header: Any) -> Any:
        return openmpi.alone(*words, str(write(tmp_path / "e", numbers, **header)))

    done = asked(numbers, HEADER)
    assert done.returncode == 0, done.stderr
    wrong = {}
    for place in places(HEADER):
        if said := problem(asked(numbers, spoilt(HEADER, place)), "--extents"):
            wrong[place] = said
    for i, number in enumerate(numbers):  # 9: behind the end of each dimension
        large = [*numbers[:i], number + 9, *numbers[i + 1 :]]
        if said := problem(asked(large, HEADER), "--extents"):
            wrong[i,] = said
    assert not wrong
